"""Processes for work that may take long: one job at a time, with an end."""

import multiprocessing
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Lock
from typing import TypeVar

from simhash_hbase.errors import SimhashError, WorkerLost
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.pipeline.workers import WORKER_LOST, set_up, without_ctrl_c

T = TypeVar("T")

# A process whose pipe was closed ends by itself, if it does nothing else; only then does its exit code say why.
END_S = 1.0

# A process that has grown by more is not kept: a single text should not cost memory for ever.
MOST_GROWN = 256 << 20
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class TooMuchWork(SimhashError):
    """A job was ended because it took too long."""


class Lane:
    """A process that does one job at a time, started when the first comes and again when one had to be ended."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._lock = Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._is_closed = False

    def call(self, seconds: float, function: Callable[..., T], *arguments: object) -> T:
        """Call a function of this package with the analysis, in the process; waits for it."""
        pipe = self._started() or self._started()
        if pipe is None:
            raise WorkerLost(WORKER_LOST)
        try:
            pipe.send((seconds, function, arguments))
            done, result = pipe.recv()
        except (EOFError, OSError) as error:
            if self._end(END_S) == -signal.SIGPROF:
                raise TooMuchWork(f"this takes more than {seconds:g} s of work: send less text at a time") from error
            raise WorkerLost(WORKER_LOST) from error
        if not done:
            raise result
        answer: T = result
        return answer

    def close(self) -> None:
        """End the process, whatever it does."""
        self._is_closed = True
        self._end(0)

    def _started(self) -> Connection | None:
        """Return the pipe of a process that waits for a job; None when one has ended instead, with its last job."""
        with self._lock:
            if self._is_closed:
                return None
            if self._pipe is None or self._process is None or not self._process.is_alive():
                context = multiprocessing.get_context("spawn")
                self._pipe, theirs = context.Pipe()
                self._process = context.Process(target=_serve, args=(theirs, self._analysis), daemon=True)
                with without_ctrl_c():
                    self._process.start()
                theirs.close()
            pipe = self._pipe
        try:
            pipe.recv()
        except (EOFError, OSError):
            self._end(END_S)
            return None
        return pipe

    def _end(self, patience_s: float) -> int | None:
        """End the process, unless it has ended, and return its exit code."""
        with self._lock:
            process, pipe = self._process, self._pipe
            self._process = self._pipe = None
        if pipe is not None:
            pipe.close()
        if process is None:
            return None
        process.join(patience_s)
        process.kill()
        process.join()
        return process.exitcode


def _serve(pipe: Connection, analysis: Analysis) -> None:
    """Do the jobs of a lane, in its process."""
    set_up(analysis)
    first = _most_memory()
    # The other end is closed when nobody wants it any more.
    with suppress(EOFError, OSError):
        while _most_memory() - first < MOST_GROWN:
            pipe.send(None)
            seconds, function, arguments = pipe.recv()
            # The signal's own effect ends the process, even within a library's call.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            try:
                answer = True, function(analysis, *arguments)
            except Exception as error:
                answer = False, error
            signal.setitimer(signal.ITIMER_PROF, 0)
            pipe.send(answer)


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
