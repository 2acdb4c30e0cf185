"""The engine of the service: threads that call the index, processes that fingerprint.

The event loop never waits for a store or a text. A single document is analysed by the thread that then calls the index.
Documents of streams are analysed in processes of their own where there are several, so that a single query does not
wait for a batch.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from simhash_hbase import tracing
from simhash_hbase.errors import StoreUnavailable, WorkerLost
from simhash_hbase.features.analysis import Analysed, Analysis
from simhash_hbase.features.chunks import Payload, analyse_chunk
from simhash_hbase.features.workers import Worker, Workers
from simhash_hbase.index.indexrows import read_idf, read_last_backup, read_profile
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.index.upkeep.stats import Stats
from simhash_hbase.service.limits import Shares

S = TypeVar("S")
T = TypeVar("T")

PROBE_S = 3.0
METRIC_S = 1.0  # A scrape waits no longer for the store.
# Processes for work that may take long. A client has one of them at most, so that the other one is there for others.
LONG_WORKERS = 2
# Batches of queries at a time, of which one key may have three quarters: beside many near copies each takes some ten
# megabytes, and more than there are processors would not be faster.
SHARED_BATCHES = 4
MOST_GROWN = 256 << 20
# Processes for long texts give way to the event loop and to short requests when the processors are busy.
LONG_NICENESS = 5
WARM_UP: Payload = ("texts", [""], ["预热 warm-up"], None)  # A text of any kind loads all tables.


class Engine:
    """Calls an index in threads, and analyses documents (fingerprints, sketches) in threads and processes."""

    def __init__(self, index: LocalIndex, *, threads: int, workers: int) -> None:
        self.index = index
        self._workers = workers
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="index")
        # A thread of its own: the probe must report a lost store even while all other threads wait for it.
        self._probes = ThreadPoolExecutor(1, thread_name_prefix="probe")
        self._shared: dict[str, Future[Any]] = {}
        self._calls: set[Future[Any]] = set()
        self._pool: Workers | None = None
        self.streams = 0
        """The number of open streams; their memory is bounded together."""
        self._analysis: Analysis | None = None
        self._analysing = ThreadPoolExecutor(1, thread_name_prefix="analysis")
        self._long: list[Worker] = []
        self._free: list[Worker] = []
        self._long_shares = Shares(LONG_WORKERS)
        self._batches = Shares(SHARED_BATCHES)
        self._long_threads = ThreadPoolExecutor(LONG_WORKERS, thread_name_prefix="long")

    async def start(self) -> None:
        """Load dictionaries and start processes, so that the first request need not wait for that."""
        await self.run(lambda index: index.analysis)
        if self.index.profile.analyzer != "weighted":
            await self.run(lambda index: analyse_chunk(index.analysis, *WARM_UP))
            await asyncio.gather(*(self.analyse(WARM_UP) for _ in range(self._workers)))

    async def run(self, call: Callable[[LocalIndex], T]) -> T:
        """Return the result of `call`, which gets the index, from a thread.

        A call that has begun goes on if the caller is cancelled.
        """
        return await asyncio.wrap_future(self._begin(self._threads, call, self.index))

    async def run_shared(self, client: str, call: Callable[[LocalIndex], T]) -> T:
        """Return the result of `call` as `run` does, begun once one of the places for batches is free for the client.

        There are `SHARED_BATCHES` of them.
        """
        return await _in_turn(self._batches, client, lambda: self._begin(self._threads, call, self.index))

    async def stats(self) -> Stats:
        """Return the numbers of documents, rows and bytes of the index.

        Callers that come during a count share its result.
        """
        begun = self._begin_shared("stats", self._threads, lambda index: index.stats(), self.index)
        # A caller that gives up must not end the count for the others.
        return await asyncio.shield(asyncio.wrap_future(begun))

    async def analyse(self, what: Payload) -> Analysed:
        """Return the fingerprints and sketches of documents.

        If a worker process dies meanwhile, the documents are tried once more.
        """

        def analyse_here() -> Analysed:
            # Not by the index's own analysis: threads with one document would wait for whole batches.
            if self._analysis is None:
                self._analysis = Analysis(self.index.profile, read_idf(self.index.store, self.index.profile))
            return analyse_chunk(self._analysis, *what).analysed

        if self._workers <= 1:
            return await asyncio.get_running_loop().run_in_executor(self._analysing, analyse_here)
        if self._pool is None:
            self._pool = Workers(self._workers)
            self._pool.begin(self.index.analysis)
        try:
            done = await asyncio.wrap_future(self._pool.submit(analyse_chunk, *what))
        except WorkerLost:
            done = await asyncio.wrap_future(self._pool.submit(analyse_chunk, *what))
        return done.analysed

    async def apart(self, client: str, seconds: float, function: Callable[..., T], *arguments: object) -> T:
        """Return ``function(analysis, *arguments)`` from a process for work that takes long.

        The work is stopped after `seconds` of processor time. A client has one such process at a time; its next work
        waits.
        """

        def begin() -> Future[T]:
            if self._free:
                worker = self._free.pop()
            else:
                worker = Worker(self.index.analysis, most_grown=MOST_GROWN, niceness=LONG_NICENESS)
                self._long.append(worker)
            begun = self._long_threads.submit(worker.call, function, *arguments, seconds=seconds)
            begun.add_done_callback(lambda _: self._free.append(worker))
            return begun

        return await _in_turn(self._long_shares, client, begin)

    async def probe(self) -> None:
        """Check that the store answers, by reading the index's options; raise its error, or one if `PROBE_S` go by."""
        await _within(PROBE_S, self._begin_shared("probe", self._probes, read_profile, self.index.store))

    async def probe_writes(self) -> None:
        """Check that the store can be written to; raise an error where it cannot, or does not answer in `PROBE_S`."""
        checked = self._begin_shared("writes", self._probes, lambda store: store.check_writable(), self.index.store)
        await _within(PROBE_S, checked)

    async def last_backup(self) -> int | None:
        """Return when the last backup of the index began, in ms since 1970; None if the index has no note of one."""
        begun = self._begin_shared("last backup", self._probes, read_last_backup, self.index.store)
        return await _within(METRIC_S, begun)

    @property
    def under_way(self) -> int:
        """The number of calls of the index that have begun and not ended, those that nobody waits for included."""
        return len(self._calls)

    def close(self, until: float | None = None) -> None:
        """Wait for calls of the index that have begun, and end threads and processes; a second call does no harm.

        `until`: a time of `time.monotonic` at which waiting ends; None: none.
        """
        for pool in (self._threads, self._probes, self._analysing, self._long_threads):
            pool.shutdown(wait=False, cancel_futures=True)
        for worker in self._long:
            worker.close()
        wait(set(self._calls), timeout=None if until is None else max(0.0, until - time.monotonic()))
        if self._pool is not None:
            self._pool.close()

    def _begin(self, threads: ThreadPoolExecutor, call: Callable[[S], T], on: S) -> Future[T]:
        context = tracing.here()
        begun = threads.submit(call, on) if context is None else threads.submit(context.run, call, on)
        self._calls.add(begun)
        begun.add_done_callback(self._calls.discard)
        return begun

    def _begin_shared(self, name: str, threads: ThreadPoolExecutor, call: Callable[[S], T], on: S) -> Future[T]:
        """Return the running call of this name, or begin one: callers that come while it runs share its result."""
        begun: Future[T] | None = self._shared.get(name)
        if begun is None or begun.done():
            begun = self._shared[name] = self._begin(threads, call, on)
        return begun


async def _in_turn(shares: Shares, client: str, begin: Callable[[], Future[T]]) -> T:
    """Return the result of the call that `begin` starts, which waits until `shares` have a place for the client.

    A call that has begun goes on if its caller is cancelled, and keeps the place until it ends.
    """
    ticket = shares.ask(client)
    try:
        await ticket.served.wait()
        begun = asyncio.wrap_future(begin())
    except BaseException:
        ticket.close()
        raise

    def end(done: "asyncio.Future[T]") -> None:
        _ = done.cancelled() or done.exception()
        ticket.close()

    begun.add_done_callback(end)
    return await asyncio.shield(begun)


async def _within(seconds: float, call: Future[T]) -> T:
    """Return the result of a call of the store; raise `StoreUnavailable` if it takes more than `seconds`.

    The call itself goes on then.
    """
    answer = asyncio.ensure_future(asyncio.wrap_future(call))
    done, _ = await asyncio.wait({answer}, timeout=seconds)
    if not done:
        # The result is read and ignored.
        answer.add_done_callback(lambda late: late.cancelled() or late.exception())
        raise StoreUnavailable(f"the store has not answered for {seconds:g} s")
    return answer.result()
