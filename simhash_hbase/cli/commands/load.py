"""The command ``simhash-hbase load``: a corpus written at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simhash_hbase import corpus, inputs
from simhash_hbase.cli import exits, options
from simhash_hbase.cli.help import REPEAT, command, option
from simhash_hbase.errors import InvalidArgument, SimhashError
from simhash_hbase.rows.digests import blake2b

if TYPE_CHECKING:
    from simhash_hbase.bulk import Spool, Writer
    from simhash_hbase.cli.options import Choice, Output
    from simhash_hbase.index.local import LocalIndex

KEY_BYTES = 8


@command(
    "load",
    interrupted=REPEAT,
    examples=[
        "simhash-hbase load file:laws.index laws.jsonl.gz",
        "simhash-hbase load hbase://127.0.0.1:9091/news corpus.jsonl.gz",
    ],
)
@options.url
@options.files
@options.collected(
    "choice",
    options.batch,
    option("--into-existing", is_flag=True, help="Allow an index that has documents; known ids are added batch by"
           " batch, as add does it."),
    option("--work", type=click.Path(file_okay=False), metavar="DIR", show_default="one an index in the user's cache",
           help="Folder for analysed documents, from which an interrupted load continues."),
    *options.load,
    option("--jars", type=click.Path(file_okay=False, exists=True), metavar="DIR",
           show_default="what scripts/hbase fetches", help="HBase's folder lib, with its jars."),
    option("--container", metavar="NAME", help="HBase runs in this container of docker/hbase."),
)  # fmt: skip
@options.collection
@options.reading
@options.output
def load(
    url: str, files: tuple[str, ...], choice: Choice, reading: corpus.Reading, collection: str | None, output: Output
) -> int:
    """Write a corpus at once: the fastest way into an empty index.

    Repeat the same command after an interruption: finished analysis is not repeated. Rows go into HBase as files
    if HBase itself can be reached, not only its Thrift gateway: --hbase-conf or --container; else by sorted puts.
    The documents are in the index when the command ends, not before.
    """
    from simhash_hbase import bulk

    sources = inputs.Sources(files)
    corpus.documents.check_destinations(sources, {"`rejects`": reading.rejects})
    into_existing = choice.into_existing
    with (
        output,
        options.open_local_index(url, collection=collection) as index,
        corpus.refusals.Refusals.open(reading.rejects, output.listener) as refused,
    ):
        work = Path(choice.work) if choice.work else _work_folder(index)
        spool = bulk.Spool(work, index.address, index.profile, index.collection, batch=choice.batch)
        try:
            # A refusal leaves no open load behind, which `vacuum` would wait for.
            writer = _writer(url, index, spool, choice, output)
            bulk.begin(index, spool, into_existing=into_existing, take_over=choice.take_over)
        except SimhashError:
            if spool.manifest.stamp is None:
                spool.remove()
            raise
        settings = replace(
            reading.into_lasting().settings, keep_raw=reading.rejects is not None, agree_field=index.profile.agree
        )
        records = _records(sources, settings, output)
        for part in spool.fill(records, index.analysis, workers=reading.processes):
            for reject in part.rejects:
                refused.add(reject)
        with output.walk("load: write", soon=False) as watch:
            done = bulk.load(index, spool, writer, into_existing=into_existing, watch=watch)
        spool.remove()
        refused.finish()
        counts = {"known": done.known, "with_another_text": done.moved, "refused": refused.count}
        output.record({"documents": done.documents, **counts, "resumed": spool.resumed, "way": writer.way})
    output.summary("load", done.documents, analysed_before=spool.resumed, **counts)
    return exits.after(refused.count)


def _records(sources: inputs.Sources, settings: inputs.InputOptions, output: Output) -> Iterator[inputs.Scanned]:
    """Yield the records of the input, show the progress meanwhile, and print notes on skipped records at the end."""
    from simhash_hbase.features.chunks import CHUNK_DOCUMENTS

    consumed = inputs.Progress()
    with output.meter("load: read", inputs.total_bytes(sources), noun="records") as meter:
        for count, record in enumerate(inputs.scan(sources, settings, consumed), 1):
            yield record
            # Records are read ahead of their analysis, so many at a time.
            if count % CHUNK_DOCUMENTS == 0:
                meter.show(count, consumed.bytes_read)
    if consumed.unnamed is not None:
        has_fields = consumed.unnamed_has_fields
        output.note(corpus.refusals.unnamed_documents(consumed.unnamed, has_fields=has_fields))
    for note in corpus.refusals.reading_notes(consumed, sources.left_out):
        output.note(note)


def _work_folder(index: LocalIndex) -> Path:
    """Return the folder for the analysed documents of a load into this index, made in the user's cache folder."""
    key = blake2b(index.address.encode(), digest_size=KEY_BYTES).hexdigest()
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simhash-hbase" / f"load-{key}"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        reason = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else "there is no home folder"
        raise InvalidArgument(f"{reason}: name a folder for analysed documents by --work DIR") from error
    return folder


def _writer(url: str, index: LocalIndex, spool: Spool, choice: Choice, output: Output) -> Writer:
    """Return the `Writer` of a load into the index: by HFiles where HBase itself can be reached, else by puts."""
    from simhash_hbase import bulk

    if not url.startswith(("hbase:", "hbase+")):
        given = [name for name in ("hbase_conf", "staging", "jars", "container") if getattr(choice, name)]
        if given:
            raise InvalidArgument(f"{url} is not in HBase: leave out --{given[0].replace('_', '-')}")
        return bulk.StoreWriter(index.store)
    from simhash_hbase.bulk import places
    from simhash_hbase.stores.hbase.launcher import cache_folder, home_folder
    from simhash_hbase.stores.hbase.options import parse_url

    where = parse_url(url, os.environ)
    token, staging = spool.manifest.token, choice.staging
    jars = Path(choice.jars) if choice.jars else None
    if choice.container:
        program = places.container_program(choice.container, places.find_tools(jars=jars, cache=cache_folder()).classes)
        return bulk.HFileWriter(
            program, where.table, f"{staging or places.CONTAINER_STAGING}/simhash-hbase-load-{token}"
        )
    # A server that ``scripts/hbase up`` started is found, if the address is its.
    conf = Path(choice.hbase_conf) if choice.hbase_conf else places.local_configuration(home_folder(), where.gateways)
    if conf is None:
        output.note(
            f"{url}: a gateway alone cannot load files, so rows are written by sorted puts; --hbase-conf DIR or "
            "--container NAME is several times as fast"
        )
        return bulk.StoreWriter(index.store)
    folder = places.staging_folder(conf, staging, token)
    return bulk.HFileWriter(places.find_tools(jars=jars, cache=cache_folder()).program(conf), where.table, folder)
