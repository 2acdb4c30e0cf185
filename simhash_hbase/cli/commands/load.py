"""``simhash-hbase load``."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import click

from simhash_hbase.bulk import HFileWriter, Loaded, Spool, StoreWriter, Writer, begin, load
from simhash_hbase.bulk.places import CONTAINER_STAGING, container_program, local_configuration, staging_folder
from simhash_hbase.bulk.tools import Tools, find_tools
from simhash_hbase.cli.corpus.destinations import check_destinations
from simhash_hbase.cli.corpus.documents import input_settings, take_input, tell_passed_over
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import files_argument, input_options, output_options, url_argument
from simhash_hbase.cli.screen.output import Output
from simhash_hbase.cli.screen.refusals import Refusals
from simhash_hbase.errors import InvalidArgument, SimhashError
from simhash_hbase.index.index import Index
from simhash_hbase.inputs import InputOptions, Progress, Reject, Scanned, scan, total_bytes, write_rejects
from simhash_hbase.launcher import home_folder
from simhash_hbase.opening import open_index
from simhash_hbase.pipeline.chunks import CHUNK_DOCUMENTS
from simhash_hbase.pipeline.workers import processors
from simhash_hbase.stores.hbase.options import HBaseOptions, parse_url

KEY_BYTES = 8
SOME_REFUSED = 3


@click.command(
    "load",
    cls=Command,
    examples=[
        "simhash-hbase load file:laws.index laws.jsonl.gz",
        "simhash-hbase load hbase://127.0.0.1:9091/news corpus.jsonl.gz",
    ],
)
@url_argument
@files_argument
@option("--into-existing", is_flag=True, help="The index may hold documents; known ids are added one batch after"
              " another, as add does it.")  # fmt: skip
@option("--work", type=click.Path(file_okay=False), metavar="DIR",
              show_default="one an index in the user's cache", help="Folder for analysed documents,"
              " with which a load that was interrupted goes on.")  # fmt: skip
@option("--take-over", is_flag=True, help="Go ahead although another load was left open.")
@option("--hbase-conf", type=click.Path(file_okay=False, exists=True), metavar="DIR",
              help="Folder of hbase-site.xml; found alone for a server of scripts/hbase.")  # fmt: skip
@option("--staging", metavar="PATH", help="Folder on HBase's file system for files to be loaded.")
@option("--jars", type=click.Path(file_okay=False, exists=True), metavar="DIR",
              show_default="what scripts/hbase fetches", help="HBase's lib.")  # fmt: skip
@option("--container", metavar="NAME", help="HBase runs in this container of docker/hbase.")
@input_options
@output_options
def command(url: str, files: tuple[str, ...], **options: Any) -> int:  # noqa: ANN401
    """Write a corpus at once: the fastest way into an empty index.

    Repeat the same command after an interruption: what was analysed is not analysed again. Rows go into HBase as files
    where HBase itself can be reached, not only its Thrift gateway: --hbase-conf or --container; else by sorted puts.
    The documents are in the index when the command ends, not before.
    """
    given = take_input(options)
    check_destinations(files, {"--rejects": given["rejects"]})
    output = Output.of(options)
    into_existing = options["into_existing"]
    with open_index(url) as index, _refusals(given["rejects"], output) as refused:
        spool = Spool(_work_folder(index, options["work"]), index.store.url, index.profile)
        _begin(index, spool, into_existing=into_existing, take_over=options["take_over"])
        writer = _writer(url, index, spool, options, output)
        workers = given["workers"] or processors()
        keep_raw = given["rejects"] is not None
        records = _records(files, input_settings(given, keep_raw=keep_raw), output)
        for part in spool.fill(records, index.analysis, workers=workers):
            for reject in part.rejects:
                refused.add(reject)
        with output.walk("load: write") as watch:
            done = load(index, spool, writer, into_existing=into_existing, watch=watch)
        spool.remove()
    _tell(output, done, spool.resumed, refused.count, writer)
    return SOME_REFUSED if refused.count else 0


class _Refusals:
    """Counts, reports and keeps refused records."""

    def __init__(self, keep: Callable[[Reject], None] | None, output: Output) -> None:
        self.count = 0
        self._keep = keep
        self.told = Refusals(output)

    def add(self, reject: Reject) -> None:
        self.count += 1
        if self._keep is not None:
            self._keep(reject)
        self.told.tell(reject)


@contextmanager
def _refusals(path: str | None, output: Output) -> Iterator[_Refusals]:
    with ExitStack() as stack:
        keep = stack.enter_context(write_rejects(path)) if path else None
        refused = _Refusals(keep, output)
        yield refused
        refused.told.finish()


def _begin(index: Index, spool: Spool, **options: bool) -> None:
    """Begin, or leave nothing behind."""
    try:
        begin(index, spool, **options)
    except SimhashError:
        if not spool.manifest.parts:
            spool.remove()
        raise


def _tell(output: Output, done: Loaded, resumed: int, refused: int, writer: Writer) -> None:
    record = {"documents": done.documents, "known": done.known, "with_another_text": done.moved}
    output.record({**record, "refused": refused, "resumed": resumed, "way": writer.way})
    output.close()
    counts = {"known": done.known, "with_another_text": done.moved, "refused": refused}
    output.summary("load", done.documents, analysed_before=resumed, **counts)


def _records(files: tuple[str, ...], settings: InputOptions, output: Output) -> Iterator[Scanned]:
    """Read the input and show how far it is."""
    consumed = Progress()
    with output.meter("load: read", total_bytes(files), noun="records") as meter:
        for count, record in enumerate(scan(files, settings, consumed), 1):
            yield record
            # Records are read ahead of what is done with them, so many at a time.
            if count % CHUNK_DOCUMENTS == 0:
                meter.show(count, consumed.bytes_read)
    tell_passed_over(output, consumed)


def _work_folder(index: Index, given: str | None) -> Path:
    if given is not None:
        return Path(given)
    key = blake2b(index.store.url.encode(), digest_size=KEY_BYTES).hexdigest()
    return _cache() / f"load-{key}"


def _cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(given or Path.home() / ".cache") / "simhash-hbase"
    except RuntimeError as error:
        raise InvalidArgument(
            "no home folder to keep analysed documents in: name a folder by --work DIR, or set XDG_CACHE_HOME"
        ) from error


def _writer(url: str, index: Index, spool: Spool, options: dict[str, Any], output: Output) -> Writer:
    """Choose the way into the store, before anything is read."""
    if not url.startswith("hbase:"):
        given = [name for name in ("hbase_conf", "staging", "jars", "container") if options[name]]
        if given:
            raise InvalidArgument(f"{url} is no HBase: leave out --{given[0].replace('_', '-')}")
        return StoreWriter(index.store)
    where = parse_url(url)
    token, staging = spool.manifest.token, options["staging"]
    if options["container"]:
        tools = _tools(options)
        program = container_program(options["container"], tools.classes)
        return HFileWriter(program, where.table, f"{staging or CONTAINER_STAGING}/simhash-hbase-load-{token}")
    conf = Path(options["hbase_conf"]) if options["hbase_conf"] else _local(where)
    if conf is None:
        output.note(
            f"{url}: a gateway alone cannot load files, so rows go there by sorted puts; --hbase-conf DIR or "
            "--container NAME is several times as fast"
        )
        return StoreWriter(index.store)
    folder = staging_folder(conf, staging, token)
    return HFileWriter(_tools(options).program(conf), where.table, folder)


def _tools(options: dict[str, Any]) -> Tools:
    jars = Path(options["jars"]) if options["jars"] else None
    return find_tools(jars=jars, cache=_cache())


def _local(where: HBaseOptions) -> Path | None:
    """Find the server that ``scripts/hbase up`` started, if the address is its."""
    return local_configuration(home_folder(), where.gateways)
