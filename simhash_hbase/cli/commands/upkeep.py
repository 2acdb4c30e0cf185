"""An index as a whole: ``simhash-hbase stats``, ``verify``, ``vacuum`` and ``backup``."""

from __future__ import annotations

from dataclasses import asdict

import click

from simhash_hbase.cli import options
from simhash_hbase.cli.exits import DONE, FAILED
from simhash_hbase.cli.help import REPEAT, command, option
from simhash_hbase.cli.screen.terminal import secretless

LOOK_S = 0.2
MEGABYTE = 1 << 20


@command(
    "stats",
    examples=[
        "simhash-hbase stats file:news.index --exact --format table",
        "simhash-hbase stats file:news.index --format html > stats.html",
    ],
)
@options.url
@option("--exact", is_flag=True, help="Read everything, not a sample of a large index.")
@options.output_in("json", also=["html"])
def stats(url: str, exact: bool, output: options.Output) -> None:
    """Count documents, rows and bytes; show how crowded the prefixes are; html is a page for a browser."""
    from simhash_hbase.report import stats_page

    with output, options.open_index(url, readonly=True) as index, output.walk("stats", soon=False) as watch:
        figures = index.stats(exact=exact, watch=watch)
        if output.format == "html":
            output.page(stats_page(secretless(url), index.profile, figures))
        else:
            output.record(asdict(figures), about=figures.sampled)


@command("verify", examples=["simhash-hbase verify file:news.index --repair"])
@options.url
@option("--repair", is_flag=True, help="Complete or remove rows that do not agree.")
@options.output
def verify(url: str, repair: bool, output: options.Output) -> int:
    """Check that block rows, members and document cells agree; exit code 1 when something is wrong."""
    with output, options.open_index(url, readonly=not repair) as index, output.walk("verify") as watch:
        result = index.verify(repair=repair, watch=watch)
        output.record(asdict(result))
    output.note(f"verify: {'clean' if not result.wrong else f'{result.wrong:,} things are wrong'}")
    if result.not_repaired:
        output.note(
            f"verify: {result.not_repaired:,} could not be repaired: deletes or writes with a later time than the "
            "server's hide them; repeat the repair after that time, or after a major compaction"
        )
    return FAILED if result.wrong else DONE


@command("vacuum", interrupted=REPEAT, examples=["simhash-hbase vacuum file:news.index"])
@options.url
@options.output
def vacuum(url: str, output: options.Output) -> None:
    """Delete data that no answer needs: expired documents, old removals, rows without a document."""
    with output, options.open_index(url) as index, output.walk("vacuum") as watch:
        swept = index.vacuum(watch=watch)
        output.record(asdict(swept))


@command(
    "backup",
    examples=[
        "simhash-hbase backup file:news.index monday.index",
        "simhash-hbase backup hbase://127.0.0.1:9091/news --taken 2026-11-21T09:30:00Z",
    ],
)
@options.url
@click.argument("destination", metavar="[DEST]", required=False)
@option("--taken", metavar="TIME", help="Copy nothing: only note a backup made by other means, such as a snapshot.")
@options.output
def backup(url: str, destination: str | None, taken: str | None, output: options.Output) -> None:
    """Copy a file: index while it is in use; DEST, a folder that does not exist yet, is an index afterwards."""
    if destination is None and taken is not None:
        with output, options.open_index(url) as index:
            output.record({"last_backup": index.note_backup(taken)})
        return
    if destination is None or taken is not None:
        raise click.UsageError("name DEST, or the time of a backup by --taken", click.get_current_context())
    from concurrent.futures import ThreadPoolExecutor, wait

    from simhash_hbase.stores.addresses import folder_of
    from simhash_hbase.stores.base import OnDisk
    from simhash_hbase.stores.embedded.folder import copied_bytes

    if destination.startswith("file:"):
        destination = folder_of(destination) or ""
    with output, options.open_index(url) as index, ThreadPoolExecutor(1) as pool:
        total = index.store.size().bytes if isinstance(index.store, OnDisk) else None
        with output.meter("backup", total, noun="MB") as meter:
            copy = pool.submit(index.backup, destination)
            while not wait([copy], LOOK_S).done:
                done = copied_bytes(destination)
                meter.show(done // MEGABYTE, done)
            if not copy.result():
                output.note("warning: the backup is complete; it is not noted in the index, which cannot be written")
        output.record({"backup": f"file:{destination}"})
