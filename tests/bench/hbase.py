"""Part ``hbase``: queries, writes and bytes on disk on a real HBase of one node."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any

from bench.documents import fill_spool, made_entries
from bench.hbase_clients import IN_FLIGHT, PROFILE, Java, Ours, Simhashes, clients_of, rewrite
from bench.hbase_instance import Instance, running_hbase
from bench.measuring import Table, count, fixed, microseconds, peer, percentile, rate, times
from bench.queries import Planted
from bench.sizes import Sizes
from simhash_hbase.bulk import Spool, begin, load
from simhash_hbase.bulk.sorting import Corpus, sorted_rows
from simhash_hbase.errors import SimhashError
from simhash_hbase.index.arguments import BATCH_DOCUMENTS
from simhash_hbase.index.index import Index
from simhash_hbase.rows.keys import BlockRows, block_rows, pack_rows
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES
from simhash_hbase.stores.hbase import HBaseStore

TIMESTAMP = 1_700_000_000_000
"""Of block rows that are written without an index's clock."""

HAPPYBASE_BATCH = 1_000


def write_tables(instance: Instance, simhashes: Simhashes, sizes: Sizes) -> tuple[str, str, Table]:
    """Write in all ways, each into a table of its own; keep the one with all block rows, and the one with documents."""
    few = simhashes[: sizes.hbase_documents]
    puts: list[tuple[str, Callable[[str], None]]] = [
        ("`b`: happybase, `batch(1000)`", lambda table: _happybase(instance, table, few)),
        ("`b`: `put_rows`, Thrift 1", lambda table: _put(instance, table, few, 1)),
        ("`b`: `put_rows`, Thrift 2", lambda table: _put(instance, table, few, 2)),
    ]
    done = [(name, len(few), _in_new_table(instance, work)) for name, work in puts]
    blocks, loaded = _load_blocks(instance, simhashes)
    done.append(("`b`: `load`, HFiles", len(simhashes), loaded))
    put = min(seconds / number for _, number, seconds in done[1:3])
    rows = [_row(*each, put) for each in done]
    whole = _in_new_table(instance, lambda table: _add(instance, table, few), prepare=_empty_index)
    documents, everything = _load_documents(instance, few)
    rows.append(_row("all: `Index.add_entries`, Thrift 2", len(few), whole, whole / len(few)))
    rows.append(_row("all: `load`, HFiles", len(few), everything, whole / len(few)))
    table = Table(
        title="Writing into HBase, from ready fingerprints",
        columns=["what", "documents", "seconds", "documents /s", "as fast as puts"],
        rows=rows,
        notes=["The ratio of “`b`”, block rows, is to the faster `put_rows`; that of “all” to `Index.add_entries`."],
    )
    return blocks, documents, table


def _row(name: str, number: int, seconds: float, put: float) -> list[str]:
    return [name, count(number), fixed(seconds, " s"), rate(number, seconds), times(seconds / number, put)]


def _in_new_table(
    instance: Instance, work: Callable[[str], None], prepare: Callable[[Instance, str], None] | None = None
) -> float:
    table = instance.new_table()
    if prepare is not None:
        prepare(instance, table)
    start = perf_counter()
    work(table)
    seconds = perf_counter() - start
    instance.drop(table)
    return seconds


def _happybase(instance: Instance, table: str, simhashes: Simhashes) -> None:
    connection = peer("happybase").Connection(*instance.happybase())
    packed = pack_rows(block_rows(PROFILE.blocks, simhashes))
    with connection.table(table).batch(timestamp=TIMESTAMP, batch_size=HAPPYBASE_BATCH) as batch:
        for at in range(0, len(packed), BLOCK_ROW_BYTES):
            batch.put(packed[at : at + BLOCK_ROW_BYTES], {b"b:": b""})
    connection.close()


def _put(instance: Instance, table: str, simhashes: Simhashes, version: int) -> None:
    store = HBaseStore.open(instance.options(version, table))
    for at in range(0, len(simhashes), BATCH_DOCUMENTS):
        rows: BlockRows = block_rows(PROFILE.blocks, simhashes[at : at + BATCH_DOCUMENTS])
        store.put_rows(rows, timestamp=TIMESTAMP)
    store.close()


def _load_blocks(instance: Instance, simhashes: Simhashes) -> tuple[str, float]:
    table = instance.new_table()
    writer = instance.writer(table)
    start = perf_counter()
    writer.write([], sorted_rows(Corpus.of(PROFILE.blocks, simhashes)), timestamp=TIMESTAMP)
    return table, perf_counter() - start


def _empty_index(instance: Instance, table: str) -> None:
    Index.create(HBaseStore.open(instance.options(2, table)), PROFILE).close()


def _add(instance: Instance, table: str, simhashes: Simhashes) -> None:
    with Index(HBaseStore.open(instance.options(2, table))) as index:
        for entries in made_entries(simhashes):
            index.add_entries(entries)


def _load_documents(instance: Instance, simhashes: Simhashes) -> tuple[str, float]:
    """Load documents with all families into a table; give its name and the seconds."""
    table = instance.new_table()
    _empty_index(instance, table)
    with (
        Index(HBaseStore.open(instance.options(2, table))) as index,
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
    ):
        spool = Spool(Path(folder) / "spool", index.store.url, index.profile)
        fill_spool(spool, made_entries(simhashes))
        start = perf_counter()
        begin(index, spool)
        load(index, spool, instance.writer(table))
        return table, perf_counter() - start


def query_tables(instance: Instance, table: str, planted: Planted, sizes: Sizes) -> list[Table]:
    """Check that all clients agree with a comparison with all fingerprints, and time them."""
    with clients_of(instance, table) as clients:
        check_clients(clients, planted, sizes)
        baseline, singles = _singles(clients, planted, sizes)
        _, _, one, two, _, java = clients
        return [singles, _batches(one, two, java, baseline, planted, sizes)]


def check_clients(clients: Sequence[Any], planted: Planted, sizes: Sizes) -> None:
    """Refuse answers that are not those of a comparison with every fingerprint."""
    few = planted.queries[: sizes.flat_queries]
    wanted = planted.answer(few, sizes.fingerprints)
    for client in clients:
        answers = [client.one_by_one(few)[1]]
        if isinstance(client, Ours | Java):
            answers.append(client.batch(few)[1])
        if any(answer != wanted for answer in answers):
            raise SimhashError(f"{client.name} does not answer what comparing with all of them does")


def _singles(clients: Sequence[Any], planted: Planted, sizes: Sizes) -> tuple[float, Table]:
    """Return the baseline's seconds a query, and the table: each client counts by its median round."""
    for client in clients:
        client.one_by_one(planted.queries[-sizes.hbase_warm :])
    queries = planted.queries[: sizes.hbase_singles]
    rounds: list[list[list[float]]] = [[] for _ in clients]
    for _ in range(sizes.hbase_rounds):
        answers = []
        for client, mine in zip(clients, rounds, strict=True):
            seconds, pairs = client.one_by_one(queries)
            mine.append(sorted(seconds))
            answers.append(pairs)
        if any(pairs != answers[0] for pairs in answers):
            raise SimhashError("the answers of two clients differ")
    typical = [sorted(mine, key=fmean)[len(mine) // 2] for mine in rounds]
    first = fmean(typical[0])
    rows = [
        [
            client.name,
            microseconds(percentile(seconds, 0.5)),
            microseconds(percentile(seconds, 0.99)),
            rate(1, fmean(seconds)),
            times(fmean(seconds), first),
            times(percentile(seconds, 0.5), percentile(typical[0], 0.5)),
        ]
        for client, seconds in zip(clients, typical, strict=True)
    ]
    return first, Table(
        title=f"One query at a time in HBase, within 3 bits among {count(sizes.fingerprints)} fingerprints",
        columns=["client", "median", "99 %", "queries /s", "as fast as the first", "by the medians"],
        rows=rows,
        notes=[
            f"{count(len(queries))} queries; the median of {sizes.hbase_rounds} rounds in turns, after "
            f"{count(sizes.hbase_warm)} that are not timed."
        ],
    )


def _batches(one: Ours, two: Ours, java: Java, baseline: float, planted: Planted, sizes: Sizes) -> Table:
    small, middle, large = (max(1, sizes.queries // share) for share in (100, 10, 1))
    plan: list[tuple[str, Callable[..., tuple[float, set[tuple[int, int]]]], int]] = [
        (f"Java `AsyncConnection`, {IN_FLIGHT} queries in flight", java.batch, small),
        (one.name, one.batch, small),
        (two.name, two.batch, small),
        (two.name, two.batch, middle),
        (two.name, two.batch, large),
    ]
    best = [float("inf")] * len(plan)
    for _ in range(sizes.repeats):
        answers = [batch(planted.queries[:number]) for _, batch, number in plan]
        best = [min(before, seconds) for before, (seconds, _) in zip(best, answers, strict=True)]
        if any(pairs != answers[0][1] for _, pairs in answers[1:3]):
            raise SimhashError("the answers of two clients to a batch differ")
    rows = [
        [name, count(number), rate(number, seconds), microseconds(seconds / number), times(seconds / number, baseline)]
        for (name, _, number), seconds in zip(plan, best, strict=True)
    ]
    return Table(
        title="Batches of queries in HBase, the same table",
        columns=["client", "queries", "queries /s", "a query", "as fast as happybase, one at a time"],
        rows=rows,
        notes=[f"The best of {sizes.repeats} rounds in turns."],
    )


def measure_hbase(sizes: Sizes) -> list[Table]:
    """Load fingerprints, query them by all clients, then rewrite the files."""
    planted = Planted(sizes)
    with running_hbase() as instance:
        blocks, documents, writes = write_tables(instance, planted.stored, sizes)
        queries = query_tables(instance, blocks, planted, sizes)
        return [*queries, writes, _bytes_table(instance, blocks, documents, sizes)]


def _bytes_table(instance: Instance, blocks: str, documents: str, sizes: Sizes) -> Table:
    """Have the files of both families rewritten under each setting."""
    sizes_of_blocks = rewrite(instance, blocks, "b", sizes.hbase_files)
    sizes_of_documents = rewrite(instance, documents, "d", sizes.hbase_files)
    settings = zip(sizes.hbase_files, sizes_of_blocks, sizes_of_documents, strict=True)
    rows = [
        [
            f"{encoding}, {codec}",
            fixed(of_blocks / 2**20, " MiB"),
            fixed(of_blocks / sizes.fingerprints, " B"),
            fixed(of_documents / sizes.hbase_documents, " B"),
        ]
        for (encoding, codec), of_blocks, of_documents in settings
    ]
    return Table(
        title="Files in HBase after a major compaction",
        columns=["encoding, codec", "family `b`", "a document in `b`", "in `d`"],
        rows=rows,
        notes=[f"`b` of {count(sizes.fingerprints)} fingerprints, `d` of {count(sizes.hbase_documents)} documents."],
    )
