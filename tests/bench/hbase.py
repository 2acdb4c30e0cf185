"""Part ``hbase``: queries, writes and bytes on disk on a real HBase of one node."""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from statistics import fmean
from time import perf_counter
from typing import Any

from bench.documents import load_made, made_entries
from bench.hbase_clients import IN_FLIGHT, Java, Ours, clients_of, rewrite
from bench.hbase_instance import USED, Instance, Used, Way, running_hbase
from bench.measuring import Table, count, fixed, microseconds, percentile, rate, times
from bench.queries import PROFILE, Planted, Simhashes
from bench.sizes import Sizes
from simhash_hbase.bulk.sorting import Corpus, sorted_rows
from simhash_hbase.errors import SimhashError
from simhash_hbase.index.arguments import BATCH_DOCUMENTS
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.rows.keys import block_rows, pack_rows
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES
from simhash_hbase.stores.hbase import HBaseStore

TIMESTAMP = 1_700_000_000_000
"""Timestamp of block rows that are written without an index's clock."""

HAPPYBASE_BATCH = 1_000


def write_tables(instance: Instance, simhashes: Simhashes, sizes: Sizes) -> tuple[str, str, Table]:
    """Write in all ways, each into a table of its own; keep the one with all block rows, and the one with documents."""
    few = simhashes[: sizes.documents]
    ways: list[tuple[Callable[..., None], Way]] = [(_happybase, 1), (_put, 1), (_put, 2), (_put, "rpc")]
    puts = [_in_new_index(instance, put, few, way) for put, way in ways]
    blocks = _new_index(instance)
    writer, start = instance.writer(blocks), perf_counter()
    writer.write([], sorted_rows(Corpus.of(PROFILE.blocks, simhashes)), timestamp=TIMESTAMP)
    blocks_seconds = perf_counter() - start
    adds = [_in_new_index(instance, _add, few, way) for way in (2, "rpc")]
    documents = _new_index(instance)
    with LocalIndex(HBaseStore.open(instance.options(2, documents))) as index:
        documents_seconds = load_made(index, made_entries(few), instance.writer(documents), perf_counter)
    put = min(seconds for seconds, _ in puts[1:3]) / len(few)
    add = adds[0][0] / len(few)
    table = Table(
        title="Writing into HBase, from ready fingerprints",
        columns=["what", "documents", "seconds", "documents /s", "as fast as puts", *USED],
        rows=[
            _row("`b`: happybase, `batch(1000)`", len(few), put, *puts[0]),
            _row("`b`: `put_rows`, Thrift 1", len(few), put, *puts[1]),
            _row("`b`: `put_rows`, Thrift 2", len(few), put, *puts[2]),
            _row("`b`: `put_rows`, without a gateway", len(few), put, *puts[3]),
            _row("`b`: `load`, HFiles", len(simhashes), put, blocks_seconds),
            _row("all: `Index.add_entries`, Thrift 2", len(few), add, *adds[0]),
            _row("all: `Index.add_entries`, without a gateway", len(few), add, *adds[1]),
            _row("all: `load`, HFiles", len(few), add, documents_seconds),
        ],
        notes=[
            "The ratio of “`b`”, block rows, is to the faster `put_rows` through a gateway; that of “all” to "
            "`Index.add_entries` through one.",
            "The last columns are processor time of a document; that of the program that writes HFiles is not known.",
        ],
    )
    return blocks, documents, table


def _row(name: str, number: int, peer_s: float, seconds: float, used: Used | None = None) -> list[str]:
    spent = used.each(number) if used else [""] * len(USED)
    return [name, count(number), fixed(seconds, " s"), rate(number, seconds), times(seconds / number, peer_s), *spent]


def _new_index(instance: Instance) -> str:
    table = instance.new_table()
    LocalIndex.create(HBaseStore.open(instance.options(2, table)), PROFILE).close()
    return table


def _in_new_index(instance: Instance, write: Callable[..., None], simhashes: Simhashes, way: Way) -> tuple[float, Used]:
    """Return the seconds and the processor time that it takes to write into a table of its own."""
    table = _new_index(instance)
    before, start = instance.used(os.getpid()), perf_counter()
    write(instance, table, simhashes, way)
    seconds, used = perf_counter() - start, instance.used(os.getpid()).since(before)
    instance.drop(table)
    return seconds, used


def _happybase(instance: Instance, table: str, simhashes: Simhashes, _: int) -> None:
    packed = pack_rows(block_rows(PROFILE.blocks, simhashes))
    with (
        closing(instance.happybase()) as connection,
        connection.table(table).batch(timestamp=TIMESTAMP, batch_size=HAPPYBASE_BATCH) as batch,
    ):
        for at in range(0, len(packed), BLOCK_ROW_BYTES):
            batch.put(packed[at : at + BLOCK_ROW_BYTES], {b"b:": b""})


def _put(instance: Instance, table: str, simhashes: Simhashes, way: Way) -> None:
    with closing(HBaseStore.open(instance.options(way, table))) as store:
        for at in range(0, len(simhashes), BATCH_DOCUMENTS):
            rows = block_rows(PROFILE.blocks, simhashes[at : at + BATCH_DOCUMENTS])
            store.put_rows(rows, timestamp=TIMESTAMP)


def _add(instance: Instance, table: str, simhashes: Simhashes, way: Way) -> None:
    with LocalIndex(HBaseStore.open(instance.options(way, table))) as index:
        for entries in made_entries(simhashes):
            index.add_entries(entries)


def query_tables(instance: Instance, table: str, planted: Planted, sizes: Sizes) -> list[Table]:
    """Check that all clients agree with a comparison with all fingerprints, and time them."""
    few = planted.queries[: sizes.flat_queries]
    expected = planted.answer(few, sizes.fingerprints)
    with clients_of(instance, table) as clients:
        for client in clients:
            answers = [client.one_by_one(few)[1]]
            if isinstance(client, Ours | Java):
                answers.append(client.batch(few)[1])
            if any(answer != expected for answer in answers):
                raise SimhashError(f"{client.name} does not answer what comparing with all of them does")
        baseline, singles = _singles(instance, clients, planted, sizes)
        _, _, one, two, rpc, _, java = clients
        return [singles, _batches(instance, (one, two, rpc, java), baseline, planted, sizes)]


def _singles(instance: Instance, clients: Sequence[Any], planted: Planted, sizes: Sizes) -> tuple[float, Table]:
    """Return the baseline's seconds a query, and the table: each client counts by its median round."""
    for client in clients:
        client.one_by_one(planted.queries[-sizes.hbase_warm :])
    queries = planted.queries[: sizes.hbase_singles]
    rounds, answers = [], {}
    for _ in range(sizes.rounds):
        taken = []
        for client in clients:
            before = instance.used(client.pid)
            seconds, pairs = client.one_by_one(queries)
            taken.append((seconds, instance.used(client.pid).since(before)))
            if pairs != answers.setdefault(0, pairs):
                raise SimhashError("the answers of two clients differ")
        rounds.append(taken)
    typical = [sorted(mine, key=lambda each: fmean(each[0]))[len(mine) // 2] for mine in zip(*rounds, strict=True)]
    first = fmean(typical[0][0])
    rows = [
        [
            client.name,
            microseconds(percentile(seconds, 0.5)),
            microseconds(percentile(seconds, 0.99)),
            rate(1, fmean(seconds)),
            times(fmean(seconds), first),
            times(percentile(seconds, 0.5), percentile(typical[0][0], 0.5)),
            *used.each(len(queries)),
        ]
        for client, (seconds, used) in zip(clients, typical, strict=True)
    ]
    return first, Table(
        title=f"One query at a time in HBase, within 3 bits among {count(sizes.fingerprints)} fingerprints",
        columns=["client", "median", "99 %", "queries /s", "as fast as the first", "by the medians", *USED],
        rows=rows,
        notes=[
            f"{count(len(queries))} queries; the median of {sizes.rounds} rounds in turns, after "
            f"{count(sizes.hbase_warm)} that are not timed.",
            "The last columns are processor time of a query.",
        ],
    )


def _batches(instance: Instance, clients: Sequence[Any], baseline: float, planted: Planted, sizes: Sizes) -> Table:
    one, two, rpc, java = clients
    small, middle, large = (max(1, sizes.queries // share) for share in (100, 10, 1))
    plan = [(java, small), (one, small), (two, small), (rpc, small)]
    plan += [(client, number) for number in (middle, large) for client in (two, rpc)]
    rounds, answers = [], {}
    for _ in range(sizes.repeats):
        taken = []
        for client, number in plan:
            before = instance.used(client.pid)
            seconds, pairs = client.batch(planted.queries[:number])
            taken.append((seconds, instance.used(client.pid).since(before)))
            if pairs != answers.setdefault(number, pairs):
                raise SimhashError("the answers of two clients to a batch differ")
        rounds.append(taken)
    names = [f"Java `AsyncConnection`, {IN_FLIGHT} queries in flight", *(client.name for client, _ in plan[1:])]
    rows = []
    for name, (_, number), (seconds, used) in zip(names, plan, map(min, zip(*rounds, strict=True)), strict=True):
        each = seconds / number
        rows.append(
            [name, count(number), rate(number, seconds), microseconds(each), times(each, baseline), *used.each(number)]
        )
    return Table(
        title="Batches of queries in HBase, the same table",
        columns=["client", "queries", "queries /s", "a query", "as fast as happybase, one at a time", *USED],
        rows=rows,
        notes=[f"The best of {sizes.repeats} rounds in turns.", "The last columns are processor time of a query."],
    )


def measure_hbase(sizes: Sizes) -> list[Table]:
    """Load fingerprints, query them by all clients, then rewrite the files."""
    planted = Planted(sizes)
    with running_hbase() as instance:
        blocks, documents, writes = write_tables(instance, planted.stored, sizes)
        queries = query_tables(instance, blocks, planted, sizes)
        return [*queries, writes, _bytes_table(instance, blocks, documents, sizes)]


def _bytes_table(instance: Instance, blocks: str, documents: str, sizes: Sizes) -> Table:
    sizes_of_blocks = rewrite(instance, blocks, "b", sizes.hbase_files)
    sizes_of_documents = rewrite(instance, documents, "d", sizes.hbase_files)
    settings = zip(sizes.hbase_files, sizes_of_blocks, sizes_of_documents, strict=True)
    rows = [
        [
            f"{encoding}, {codec}",
            fixed(of_blocks / 2**20, " MiB"),
            fixed(of_blocks / sizes.fingerprints, " B"),
            fixed(of_documents / sizes.documents, " B"),
        ]
        for (encoding, codec), of_blocks, of_documents in settings
    ]
    return Table(
        title="Files in HBase after a major compaction",
        columns=["encoding, codec", "family `b`", "a document in `b`", "in `d`"],
        rows=rows,
        notes=[f"`b` of {count(sizes.fingerprints)} fingerprints, `d` of {count(sizes.documents)} documents."],
    )
