"""Processes that fingerprint and sketch, and what they are given."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from simhash_hbase.features.analysis import Analysed, Analysis
from simhash_hbase.inputs import Document

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

Payload = tuple[str, list[str], list[object], list[dict[str, object] | None] | None]
"""A method of `Analysis` and its arguments: ids, texts (or fingerprints or features), metadata."""


class Workers:
    """A pool of processes, each of which one thread waits for.

    Not `concurrent.futures.ProcessPoolExecutor`: in Python 3.11 its own thread fails when a process is killed while
    another one starts, and the new one may never be told to end. Here a process that is lost costs its job only.
    """

    def __init__(self, analysis: Analysis, processes: int) -> None:
        # A few documents need none of it.
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        from simhash_hbase.pipeline.worker import Worker  # noqa: PLC0415

        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="worker")
        self._all = [Worker(analysis) for _ in range(processes)]
        # As many threads as workers, so that a thread always finds a free one.
        self._free = list(self._all)

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Have a function of this package, such as `work`, called with the process's analysis."""
        return self._threads.submit(self._call, function, *arguments)

    def close(self) -> None:
        """End the processes; what is waiting or under way is given up."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._all:
            worker.close()

    def _call(self, function: Callable[..., T], *arguments: object) -> T:
        worker = self._free.pop()
        try:
            return worker.call(function, *arguments)
        finally:
            self._free.append(worker)


def processors() -> int:
    """Count the processors that this process may use, or, where the system does not tell, all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def payload(documents: Sequence[Document]) -> Payload:
    """Reduce documents, all with a text, all with features or all with a fingerprint, to what a worker needs."""
    ids = [document.id for document in documents]
    has_metadata = any(document.metadata for document in documents)
    metadata = [document.metadata for document in documents] if has_metadata else None
    if documents and documents[0].simhash is not None:
        return "fingerprints", ids, [document.simhash for document in documents], metadata
    if documents and documents[0].features is not None:
        return "features", ids, [document.features for document in documents], metadata
    return "texts", ids, [document.text for document in documents], metadata


def work(analysis: Analysis, kind: str, ids: Sequence[str], what: Sequence[object], metadata: object) -> Analysed:
    """Analyse a payload in this process."""
    if not ids:
        return analysis.fingerprints([], [])
    done: Analysed = getattr(analysis, kind)(ids, what, metadata)
    return done
