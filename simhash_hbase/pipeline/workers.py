"""Processes that fingerprint and sketch."""

import errno
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from threading import Thread
from typing import TypeVar

from simhash_hbase.errors import WorkerLost
from simhash_hbase.features.analysis import Analysed, Analysis
from simhash_hbase.inputs import Document

WORKER_LOST = "a worker process was ended from outside; fewer --workers need less memory"

T = TypeVar("T")

Payload = tuple[str, list[str], list[object], list[dict[str, object] | None] | None]
"""What is analysed, as `Analysis` has methods: the ids, the texts or what stands for them, the metadata."""


class Workers:
    """A pool of processes."""

    def __init__(self, analysis: Analysis, processes: int) -> None:
        # Spawned, not forked: a fork would copy this process's connections and locks.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(processes, mp_context=context, initializer=set_up, initargs=(analysis,))

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Have a function of this package, such as `work`, called with the process's analysis."""
        try:
            with translated(), without_ctrl_c():
                return self._pool.submit(_call_there, function, *arguments)
        except OSError as error:
            # A worker that ends while the pool starts one leaves a closed pipe, which has no number of the system's.
            if error.errno not in (None, errno.EPIPE):
                raise
            raise WorkerLost(WORKER_LOST) from error
        except ValueError as error:
            # The pipes of one that has just ended are closed while another is started, and their numbers used again.
            raise WorkerLost(WORKER_LOST) from error

    def close(self) -> None:
        """End the processes; what is waiting is given up."""
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def translated() -> Iterator[None]:
    """Raise `WorkerLost` when the system, or somebody, ended a worker."""
    try:
        yield
    except BrokenExecutor as error:
        raise WorkerLost(WORKER_LOST) from error


@contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Let a worker that is started for a payload hear of no Ctrl-C, which is this process's business, even at first."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def processors() -> int:
    """Count the processors that this process may use, where the system tells, else those that there are."""
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


_analysis: Analysis | None = None


def set_up(analysis: Analysis) -> None:
    """Set up a worker process; Ctrl-C is the parent's business."""
    global _analysis  # noqa: PLW0603
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    _analysis = analysis


def _end_with_parent() -> None:
    """Wait for the parent's end: one that is killed tells nobody, and its workers would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call_there(function: Callable[..., T], *arguments: object) -> T:
    if _analysis is None:
        raise RuntimeError("the worker process was not set up")
    return function(_analysis, *arguments)
