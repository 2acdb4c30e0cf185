"""Clients of one table in HBase that look for near fingerprints by the same ten scans a query."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from bench.hbase_instance import CACHE, Instance, Way
from bench.measuring import peer
from bench.queries import DISTANCE, LIMIT, PROFILE, Pairs, Simhashes, find, pairs_of
from simhash_hbase.errors import StoreRefused
from simhash_hbase.profile.matching import distances
from simhash_hbase.rows.keys import pack_prefixes, unpack_rows
from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.hbase.launcher import Downloads, cache_folder

SOURCE = Path(__file__).parent / "java" / "AsyncPeer.java"
HEAP = "-Xmx1g"
QUIET = {**os.environ, "LOG_LEVEL": "WARN"}

U32 = np.dtype(">u4")
U64 = np.dtype(">u8")
PAIR = np.dtype([("query", U32), ("simhash", U64)])


def rewrite(instance: Instance, table: str, family: str, settings: Sequence[tuple[str, str]]) -> list[int]:
    """Compact a family under one encoding and codec after another; return the bytes of all its files under each."""
    command = _command(instance, "rewrite", table, family, *(",".join(pair) for pair in settings))
    done = subprocess.run(command, env=QUIET, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StoreRefused(f"files of {table} cannot be rewritten: {done.stderr.strip()[-500:]}")
    return [int(line.split()[1]) for line in done.stdout.splitlines()]


def _command(instance: Instance, *arguments: str) -> list[str]:
    classes = Downloads(cache_folder()).compiled(SOURCE, instance.tools.jars, CACHE / "classes")
    path = os.pathsep.join([str(instance.conf), f"{instance.tools.jars}/*", str(classes)])
    return [str(instance.tools.java), HEAP, "-cp", path, "AsyncPeer", *arguments]


IN_FLIGHT = 32
"""Queries that the Java client keeps in flight in a batch, 320 scans."""

Answered = tuple[list[float], Pairs]
"""Seconds of each query, and pairs of a query's position and a stored fingerprint."""


class _InPython:
    """A client in this process; a subclass says how `one` query, an array of length one, is answered."""

    pid = property(lambda _: os.getpid())

    def one_by_one(self, queries: Simhashes) -> Answered:
        seconds, pairs = [], set()
        self.connect()
        for at in range(len(queries)):
            query = queries[at : at + 1]
            start = perf_counter()
            found = self.one(query)
            seconds.append(perf_counter() - start)
            pairs |= {(at, simhash) for simhash in found.tolist()}
        return seconds, pairs

    def connect(self) -> None:
        """Connect anew where that is needed: a gateway closes a connection that is idle for a minute."""


class HappyBase(_InPython):
    """The client that everybody writes first: scans of prefixes in turn."""

    name = "happybase, ten `row_prefix` scans in turn"

    def __init__(self, instance: Instance, table: str) -> None:
        self._instance, self._table = instance, table
        self._connection = instance.happybase()

    def connect(self) -> None:
        self.close()
        self._connection = self._instance.happybase()

    def one(self, query: Simhashes) -> Simhashes:
        table = self._connection.table(self._table)
        return _near(query, [_scan(table, prefix) for prefix in _prefixes(query)])

    def close(self) -> None:
        self._connection.close()


class HappyBasePool(_InPython):
    """The same scans by threads, each with a connection of happybase's pool."""

    name = "happybase, pool of ten and ten threads"

    def __init__(self, instance: Instance, table: str) -> None:
        self._instance, self._table = instance, table
        self._threads = ThreadPoolExecutor(len(PROFILE.blocks.tables))

    def connect(self) -> None:
        host, port = self._instance.thrift1.split(":")
        self._pool = peer("happybase").ConnectionPool(len(PROFILE.blocks.tables), host=host, port=int(port))

    def one(self, query: Simhashes) -> Simhashes:
        return _near(query, list(self._threads.map(self._scan, _prefixes(query))))

    def close(self) -> None:
        self._threads.shutdown()

    def _scan(self, prefix: bytes) -> list[bytes]:
        with self._pool.connection() as connection:
            return _scan(connection.table(self._table), prefix)


class Ours(_InPython):
    """This package, over one version of the Thrift interface or without a gateway."""

    def __init__(self, instance: Instance, table: str, way: Way) -> None:
        self.name = "ours, without a gateway" if way == "rpc" else f"ours, Thrift {way}"
        self._store = HBaseStore.open(instance.options(way, table))

    def one(self, query: Simhashes) -> Simhashes:
        return find(self._store, query).simhashes

    def batch(self, queries: Simhashes) -> tuple[float, Pairs]:
        """Answer many at once: seconds in all, and pairs."""
        start = perf_counter()
        found = find(self._store, queries)
        return perf_counter() - start, pairs_of(found)

    def close(self) -> None:
        self._store.close()


class Java:
    """HBase's own asynchronous client: all scans of a query at once, their prefixes computed before its clock runs."""

    def __init__(self, process: "subprocess.Popen[bytes]", threads: str) -> None:
        if process.stdin is None or process.stdout is None:
            raise StoreRefused("the Java client has no pipes")
        self.name = f"Java `AsyncConnection`, ten scans in flight, {threads}"
        self._in, self._out = process.stdin, process.stdout
        self.pid = process.pid

    def one_by_one(self, queries: Simhashes) -> Answered:
        _, seconds, pairs = self._ask(queries, in_flight=1)
        return seconds, pairs

    def batch(self, queries: Simhashes) -> tuple[float, Pairs]:
        """Answer many, some at a time: seconds in all, and pairs."""
        seconds, _, pairs = self._ask(queries, in_flight=IN_FLIGHT)
        return seconds, pairs

    def _ask(self, queries: Simhashes, *, in_flight: int) -> tuple[float, list[float], Pairs]:
        """Answer queries, so many at a time; return seconds in all and of each by its own clock, and the pairs."""
        scheme = PROFILE.blocks
        self._in.write(np.array([in_flight, len(queries), len(scheme.tables)], U32).tobytes())
        for simhash, prefixes in zip(queries.tolist(), scheme.prefixes(queries), strict=True):
            self._in.write(simhash.to_bytes(U64.itemsize, "big") + b"".join(pack_prefixes(prefixes)))
        self._in.flush()
        [total] = self._read(U64, 1)
        nanos = self._read(U64, len(queries))
        [count] = self._read(U32, 1)
        pairs = self._read(PAIR, int(count))
        found = set(zip(pairs["query"].tolist(), pairs["simhash"].tolist(), strict=True))
        return float(total) / 1e9, (nanos / 1e9).tolist(), found

    def _read(self, kind: np.dtype, count: int) -> np.ndarray:
        wanted = kind.itemsize * count
        packed = self._out.read(wanted)
        if len(packed) < wanted:
            raise StoreRefused("the Java client ended early")
        return np.frombuffer(packed, kind)


@contextmanager
def _java(instance: Instance, table: str, how: str, threads: str) -> Iterator[Java]:
    """Run the Java client over one table: scans complete in HBase's own threads (``direct``), or in a ``pool``."""
    command = _command(instance, "query", table, how, str(DISTANCE), str(LIMIT))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=QUIET, **pipes) as process:
        try:
            yield Java(process, threads)
            process.communicate(np.array([0], U32).tobytes(), timeout=60)
        finally:
            process.kill()


@contextmanager
def clients_of(
    instance: Instance, table: str
) -> Iterator[tuple[HappyBase, HappyBasePool, Ours, Ours, Ours, Java, Java]]:
    """Connect all clients to a table; the first is the baseline."""
    with (
        closing(HappyBase(instance, table)) as first,
        closing(HappyBasePool(instance, table)) as pool,
        closing(Ours(instance, table, 1)) as one,
        closing(Ours(instance, table, 2)) as two,
        closing(Ours(instance, table, "rpc")) as rpc,
        _java(instance, table, "pool", "completed in a pool") as pooled,
        _java(instance, table, "direct", "completed in its own threads") as direct,
    ):
        yield first, pool, one, two, rpc, pooled, direct


def _prefixes(query: Simhashes) -> Sequence[bytes]:
    return pack_prefixes(PROFILE.blocks.prefixes(query)[0])


def _scan(table: Any, prefix: bytes) -> list[bytes]:
    return [key for key, _ in table.scan(row_prefix=prefix, columns=[b"b"])]


def _near(query: Simhashes, scans: Sequence[list[bytes]]) -> Simhashes:
    stored = unpack_rows(b"".join(key for keys in scans for key in keys)).simhashes
    return np.unique(stored[distances(stored, query) <= DISTANCE])
