"""Clients of one table in HBase that look for near fingerprints by the same ten scans a query."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.contestants import DISTANCE, whole
from bench.hbase_instance import Instance
from bench.hbase_peer import AsyncPeer, async_peer
from bench.peers import peer
from simhash_hbase.errors import SimhashError
from simhash_hbase.index.candidates import Reach, find_candidates
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import distances
from simhash_hbase.rows.keys import pack_prefixes, unpack_rows
from simhash_hbase.stores.hbase import HBaseStore

__all__ = ["IN_FLIGHT", "PROFILE", "Answered", "Client", "Java", "Ours", "Simhashes", "clients_of"]

PROFILE = Profile.resolve(analyzer="jieba", bands=0)
LIMIT = PROFILE.max_rows_per_prefix
REACH = Reach(len(PROFILE.blocks.tables), DISTANCE, None)
IN_FLIGHT = 32
"""Queries that the Java client keeps in flight in a batch, 320 scans."""

Simhashes = NDArray[np.uint64]
Answered = tuple[list[float], set[tuple[int, int]]]
"""Seconds of each query, and pairs of a query's position and a stored fingerprint."""


class Client(Protocol):
    """Somebody who answers queries."""

    name: str
    process: int
    """Its id."""

    def one_by_one(self, queries: Simhashes) -> Answered:
        """Answer each query before the next one."""


class _InPython:
    """What is common to the clients in this process: they say how one query is answered."""

    process = os.getpid()

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

    def one(self, query: Simhashes) -> Simhashes:
        """Answer a single query, an array of length one."""
        raise NotImplementedError


class HappyBase(_InPython):
    """What everybody writes first.

    Parameters
    ----------
    instance : Instance
        Where it runs.
    table : str
        Holds the block rows.
    """

    name = "happybase, ten `row_prefix` scans in turn"

    def __init__(self, instance: Instance, table: str) -> None:
        self._instance, self._name = instance, table
        self._connection = None

    def connect(self) -> None:
        self.close()
        self._connection = peer("happybase").Connection(*self._instance.happybase())
        self._table = self._connection.table(self._name)

    def one(self, query: Simhashes) -> Simhashes:
        return _near(query, [_scan(self._table, prefix) for prefix in _prefixes(query)])

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class HappyBasePool(_InPython):
    """The same scans by threads, each with a connection of happybase's pool.

    Parameters
    ----------
    instance : Instance
        Where it runs.
    table : str
        Holds the block rows.
    """

    name = "happybase, pool of ten and ten threads"

    def __init__(self, instance: Instance, table: str) -> None:
        self._instance, self._table = instance, table
        self._threads = ThreadPoolExecutor(len(PROFILE.blocks.tables))

    def connect(self) -> None:
        host, port = self._instance.happybase()
        self._pool = peer("happybase").ConnectionPool(len(PROFILE.blocks.tables), host=host, port=port)

    def one(self, query: Simhashes) -> Simhashes:
        return _near(query, list(self._threads.map(self._scan, _prefixes(query))))

    def close(self) -> None:
        self._threads.shutdown()

    def _scan(self, prefix: bytes) -> list[bytes]:
        with self._pool.connection() as connection:
            return _scan(connection.table(self._table), prefix)


class Ours(_InPython):
    """This package.

    Parameters
    ----------
    instance : Instance
        Where it runs.
    table : str
        Holds the block rows.
    version : int
        Of the Thrift interface.
    """

    def __init__(self, instance: Instance, table: str, version: int) -> None:
        self.name = f"ours, Thrift {version}"
        self._store = HBaseStore.open(instance.options(version, table))

    def one(self, query: Simhashes) -> Simhashes:
        found: Simhashes = self._find(query).simhashes
        return found

    def batch(self, queries: Simhashes) -> tuple[float, set[tuple[int, int]]]:
        """Answer many at once: seconds in all, and pairs."""
        start = perf_counter()
        found = self._find(queries)
        seconds = perf_counter() - start
        return seconds, set(zip(found.queries.tolist(), found.simhashes.tolist(), strict=True))

    def close(self) -> None:
        self._store.close()

    def _find(self, queries: Simhashes) -> Any:
        found = find_candidates(self._store, queries, PROFILE.blocks.prefixes(queries), reach=REACH, limit=LIMIT)
        if found.truncated.any():
            raise SimhashError("a prefix holds more rows than are read")
        return whole(found)


class Java:
    """HBase's own asynchronous client.

    Parameters
    ----------
    peer : AsyncPeer
        Running.
    threads : str
        In which scans complete.
    """

    def __init__(self, peer: AsyncPeer, threads: str) -> None:
        self.name = f"Java `AsyncConnection`, ten scans in flight, {threads}"
        self._peer = peer
        self.process = peer.process

    def one_by_one(self, queries: Simhashes) -> Answered:
        _, seconds, pairs = self._peer.ask(queries, in_flight=1)
        return seconds, pairs

    def batch(self, queries: Simhashes) -> tuple[float, set[tuple[int, int]]]:
        """Answer many, some at a time: seconds in all, and pairs."""
        seconds, _, pairs = self._peer.ask(queries, in_flight=IN_FLIGHT)
        return seconds, pairs


@contextmanager
def clients_of(instance: Instance, table: str) -> Iterator[tuple[HappyBase, HappyBasePool, Ours, Ours, Java, Java]]:
    """Connect all clients to a table; the first is the baseline."""
    with ExitStack() as stack:
        first = HappyBase(instance, table)
        stack.callback(first.close)
        pool = HappyBasePool(instance, table)
        stack.callback(pool.close)
        one, two = Ours(instance, table, 1), Ours(instance, table, 2)
        stack.callback(one.close)
        stack.callback(two.close)
        pooled, direct = (
            Java(stack.enter_context(async_peer(instance, table, PROFILE.blocks, how, DISTANCE, LIMIT)), threads)
            for how, threads in (("pool", "completed in a pool"), ("direct", "completed in its own threads"))
        )
        yield first, pool, one, two, pooled, direct


def _prefixes(query: Simhashes) -> Sequence[bytes]:
    return pack_prefixes(PROFILE.blocks.prefixes(query)[0])


def _scan(table: Any, prefix: bytes) -> list[bytes]:
    return [key for key, _ in table.scan(row_prefix=prefix, columns=[b"b"])]


def _near(query: Simhashes, scans: Sequence[list[bytes]]) -> Simhashes:
    stored = unpack_rows(b"".join(key for keys in scans for key in keys)).simhashes
    return np.unique(stored[distances(stored, query) <= DISTANCE])
