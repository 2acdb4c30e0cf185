"""Worker processes for analysing documents: a single one, whose jobs may have a time limit, and a pool of several.

A job is a call of a function of this package; its first argument is the analysis that the process was given.
"""

import os
import resource
import signal
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import connection, get_context, parent_process, resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock, Thread
from typing import Any, TypeVar

from simhash_hbase.errors import SimhashError, WorkerLost
from simhash_hbase.features.analysis import Analysis

WORKER_LOST = "a worker process was ended from outside; fewer `workers` need less memory"

T = TypeVar("T")

# A process whose pipe is closed ends by itself unless it works; only then does its exit code say why it ended.
END_S = 1.0
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class TooMuchWork(SimhashError):
    """A job of a worker process was ended because it took more time than allowed."""


class Worker:
    """A worker process that does one job at a time; it is started for its first job, or before by `start`.

    A process that has ended, also by a job, is started again for the next one. One thread may call at a time; any
    thread may close. A process that has grown by more than `most_grown` bytes is replaced, so that a single text does
    not cost memory for ever. `niceness` is added to that of this process.
    """

    def __init__(self, analysis: Analysis | None = None, *, most_grown: int = sys.maxsize, niceness: int = 0) -> None:
        self.analysis = analysis  # The first argument of jobs; the process gets a new one with its next job.
        self._most_grown = most_grown
        self._niceness = niceness
        self._lock = Lock()
        self._process: BaseProcess | None = None
        self._pipe: connection.Connection | None = None
        self._known: Analysis | None = None  # The analysis that the process has.
        self._is_ready = False  # Whether the process has said that it waits for a job.
        self._is_closed = False

    def start(self) -> None:
        """Start the process before its first job, so that the job need not wait for that."""
        with self._lock:
            self._process, self._pipe = self._spawned()

    def wait(self) -> connection.Connection | None:
        """Wait until the process has started and takes a job; return the pipe to it, None if it has ended twice."""
        return self._started() or self._started()

    def call(self, function: Callable[..., T], *arguments: object, seconds: float = 0) -> T:
        """Call a function in the process, with the analysis as first argument, and return its result.

        `seconds` is the limit of processor time, 0 for none. Raises `TooMuchWork` beyond it, `WorkerLost` if the
        process was ended from outside, else the function's own error.
        """
        pipe = self.wait()
        if pipe is None:
            raise WorkerLost(WORKER_LOST)
        try:
            pipe.send((seconds, function, arguments))
            self._is_ready = False
            done, result = pipe.recv()
        except (EOFError, OSError) as error:
            if self._end(END_S) == -signal.SIGPROF:
                raise TooMuchWork(f"this takes more than {seconds:g} s of work: send less text at a time") from error
            raise WorkerLost(WORKER_LOST) from error
        except BaseException as error:
            # Arguments that do not pickle were not sent: the process waits for them, and is not ready for another job.
            self._end(0)
            if self._is_closed and isinstance(error, Exception):
                raise WorkerLost(WORKER_LOST) from error
            raise
        if not done:
            raise result
        answer: T = result
        return answer

    def close(self) -> None:
        """End the process at once, also in the middle of a job."""
        self._is_closed = True
        self._end(0)

    def _started(self) -> connection.Connection | None:
        """Start the process if it does not run, and return the pipe to it when it waits for a job; None if it ended."""
        try:
            with self._lock:
                if self._is_closed:
                    return None
                if self._pipe is None or self._process is None or not self._process.is_alive():
                    self._process, self._pipe = self._spawned()
                    self._known, self._is_ready = None, False
                pipe, analysis = self._pipe, self.analysis
            # Without the lock: until the process has started, the pipe takes a part of the analysis only.
            if self._known is not analysis:
                pipe.send(analysis)
                self._known = analysis
            if not self._is_ready:
                pipe.recv()
                self._is_ready = True
        except Exception as error:
            # A pipe that is closed while it is used raises other errors, too, even TypeError.
            if not self._is_closed and not isinstance(error, EOFError | BrokenPipeError | ConnectionResetError):
                raise
            self._end(END_S)
            return None
        return pipe

    def _spawned(self) -> tuple[BaseProcess, connection.Connection]:
        # Spawned, not forked: a fork would copy this process's connections and locks.
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        # Starting multiprocessing's tracker unblocks SIGINT, so it is started before that is blocked.
        resource_tracker.ensure_running()
        process = context.Process(target=_serve, args=(theirs, self._most_grown, self._niceness), daemon=True)
        # The process inherits that SIGINT is blocked: Ctrl-C is handled by the parent only.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with theirs:
                process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return process, ours

    def _end(self, patience_s: float) -> int | None:
        """End the process, if it has not ended within `patience_s` seconds; return its exit code, None without one."""
        with self._lock:
            process, pipe = self._process, self._pipe
            self._process = self._pipe = None
        if pipe is not None and patience_s:
            pipe.close()
        if process is not None:
            process.join(patience_s)
            process.kill()
            process.join()
        if pipe is not None:
            # Not before: a thread that reads from the pipe reads its end then, and not from a file of the same number.
            pipe.close()
        return None if process is None else process.exitcode


class Workers:
    """A pool of worker processes, each started for its first job, or before by `start`; a thread waits for each.

    Not `concurrent.futures.ProcessPoolExecutor`: in Python 3.11 its own thread fails when a process is killed while
    another one starts, and the new one may never be told to end. Here a process that is lost costs its job only.
    """

    def __init__(self, processes: int) -> None:
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="worker")
        self._all = [Worker() for _ in range(processes)]
        # As many threads as workers, so that a thread always finds a free one.
        self._free = list(self._all)
        self._jobs: deque[tuple[Future[Any], Callable[..., Any], tuple[object, ...]]] = deque()

    def start(self) -> None:
        """Start all processes before the analysis is known; until `begin` jobs get None as their first argument."""
        for worker in self._all:
            worker.start()

    def begin(self, analysis: Analysis | None) -> None:
        """Set the analysis that is the first argument of later jobs."""
        for worker in self._all:
            worker.analysis = analysis

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Have a process call a function of this package, the analysis as first argument; return its future.

        The job can be cancelled until a process takes it, which does so only when it has started: .3 s and more.
        """
        future: Future[T] = Future()
        self._jobs.append((future, function, arguments))
        self._threads.submit(self._do_next)
        return future

    def close(self) -> None:
        """End all processes at once; jobs that wait or are being done are dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for future, _, _ in list(self._jobs):
            future.cancel()
        for worker in self._all:
            worker.close()

    def _do_next(self) -> None:
        """Have a free process do the next job, when it has started."""
        worker = self._free.pop()
        try:
            with suppress(Exception):  # The call has it, too.
                worker.wait()
            future, function, arguments = self._jobs.popleft()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(worker.call(function, *arguments))
                except BaseException as error:
                    future.set_exception(error)
        finally:
            self._free.append(worker)


def _serve(pipe: connection.Connection, most_grown: int, niceness: int) -> None:
    def end_with_parent() -> None:
        """Wait until the parent process ends, then end this one.

        The end of the pipe is no sign of that: other processes may have inherited its other side.
        """
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=end_with_parent, daemon=True).start()
    os.nice(niceness)
    analysis, first = None, _most_memory()
    # The other end is closed when no more jobs come.
    with suppress(EOFError, OSError):
        while _most_memory() - first < most_grown:
            pipe.send(None)
            while isinstance(message := pipe.recv(), Analysis):
                analysis, first = message, _most_memory()
            seconds, function, arguments = message
            # The default action of the signal ends the process, even within a library's call.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            try:
                answer = True, function(analysis, *arguments)
            except Exception as error:
                answer = False, error
            signal.setitimer(signal.ITIMER_PROF, 0)
            pipe.send(answer)


def _most_memory() -> int:
    # Linux's ru_maxrss is not below that of the process that started this one, which may be far larger.
    with suppress(OSError), Path("/proc/self/status").open("rb") as status:
        for line in status:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
