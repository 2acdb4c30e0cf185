"""A pool of processes: a process that is killed costs its own job, and none is left behind."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest
from support.patience import END_S
from support.results import with_helpers
from support.serving import wait_for

from simhash_hbase import Profile
from simhash_hbase.errors import WorkerLost
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.workers import TooMuchWork, Worker, Workers

pytestmark = pytest.mark.slow
ANALYSIS = Analysis(Profile.resolve(analyzer="shingle"))


def its_pid(analysis):
    return os.getpid()


def stay(analysis, path):
    """Say which process this is, then wait for its end."""
    path.write_text(str(os.getpid()))
    signal.pause()


def work_for_ever(analysis):
    while True:
        pass


def its_niceness(analysis):
    return os.nice(0)


def pool(processes):
    workers = Workers(processes)
    workers.begin(ANALYSIS)
    return workers


def said(path):
    """Return the process id that a job writes."""
    return int(wait_for(lambda: path.exists() and path.read_text()))


def test_a_process_that_is_killed_costs_its_own_job(tmp_path):
    with closing(pool(2)) as workers:
        lost, other = workers.submit(stay, tmp_path / "a"), workers.submit(stay, tmp_path / "b")
        pids = [said(tmp_path / name) for name in "ab"]
        os.kill(pids[0], signal.SIGKILL)

        with pytest.raises(WorkerLost):
            lost.result(END_S)
        assert workers.submit(its_pid).result(END_S) not in pids
        assert not other.done()
    assert multiprocessing.active_children() == []


def blocked_signals(analysis):
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("SigBlk")]
    return int(line.split()[1], 16)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_the_first_process_of_a_program_starts_with_ctrl_c_blocked():
    """The first process of a program also starts multiprocessing's tracker, which unblocks it."""
    imported = "from corpus.test_workers import ANALYSIS, Worker, blocked_signals"
    code = f"{imported}\nif __name__ == '__main__': print(Worker(ANALYSIS).call(blocked_signals))"
    done = subprocess.run([sys.executable, "-c", code], env=with_helpers(), capture_output=True, text=True, check=True)

    assert int(done.stdout) & 1 << signal.SIGINT - 1


def test_an_argument_that_does_not_pickle_fails_its_own_job():
    with closing(Worker(ANALYSIS)) as worker:
        with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
            worker.call(its_pid, threading.Lock())

        assert worker.call(its_pid) != os.getpid()


def test_processes_that_are_killed_while_others_start_fail_nothing_else():
    """The executor of the standard library fails here now and then, and leaves a process."""
    with closing(pool(4)) as workers:
        for _ in range(3):
            jobs = [workers.submit(its_pid) for _ in range(4)]
            for process in multiprocessing.active_children():
                process.kill()
            for job in jobs:
                with suppress(WorkerLost):
                    assert job.result(END_S) != os.getpid()
    assert multiprocessing.active_children() == []


def test_closing_ends_processes_that_work(tmp_path):
    workers = pool(1)
    job, waiting = workers.submit(stay, tmp_path / "a"), workers.submit(its_pid)
    said(tmp_path / "a")
    workers.close()

    with pytest.raises(WorkerLost):
        job.result(END_S)
    assert waiting.cancelled()
    assert multiprocessing.active_children() == []


def test_a_job_is_done_after_one_that_took_too_long():
    with closing(Worker(ANALYSIS)) as worker:
        with pytest.raises(TooMuchWork, match=r"more than 0\.2 s of work"):
            worker.call(work_for_ever, seconds=0.2)

        assert worker.call(its_pid, seconds=60) != os.getpid()


def grow(analysis):
    bytearray(b"x" * (64 << 20))
    return os.getpid()


def test_a_process_that_has_grown_is_replaced():
    with closing(Worker(ANALYSIS, most_grown=0)) as worker, pytest.raises(WorkerLost):
        worker.call(its_pid)
    with closing(Worker(ANALYSIS, most_grown=32 << 20)) as worker:
        assert worker.call(grow) != worker.call(its_pid)


def test_a_nice_process_gives_way_to_the_others():
    with closing(Worker(ANALYSIS)) as plain, closing(Worker(ANALYSIS, niceness=1)) as nice:
        assert nice.call(its_niceness) - plain.call(its_niceness) == min(1, 19 - os.nice(0))


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_process_that_was_started_ahead_does_the_first_job_unless_it_was_killed(is_killed):
    with closing(Workers(1)) as workers:
        workers.start()
        [process] = multiprocessing.active_children()
        if is_killed:
            process.kill()
            process.join()
        workers.begin(ANALYSIS)

        assert (workers.submit(its_pid).result(END_S) == process.pid) != is_killed
    with closing(Workers(2)) as unneeded:
        unneeded.start()
        assert len(multiprocessing.active_children()) == 2
    assert multiprocessing.active_children() == []


def has_analysis(analysis):
    return analysis is not None


def test_only_jobs_after_the_analysis_have_it():
    with closing(Workers(2)) as workers:
        workers.start()
        before = [workers.submit(has_analysis) for _ in range(3)]
        assert [job.result(END_S) for job in before] == [False] * 3
        workers.begin(ANALYSIS)

        assert all(job.result(END_S) for job in [workers.submit(has_analysis) for _ in range(6)])


class Large(Analysis):
    """An analysis that no pipe takes whole before somebody reads it."""

    def __getstate__(self):
        return {**self.__dict__, "more": bytes(4 << 20)}


class Unsendable(Analysis):
    def __reduce__(self):
        raise pickle.PicklingError("it has a lock")


@pytest.fixture
def never_ready(monkeypatch):
    """Have processes start that never come to read from their pipes; return what is set when one has started."""
    started, spawned = threading.Event(), Worker._spawned

    def spawned_and_stopped(worker):
        process, pipe = spawned(worker)
        os.kill(process.pid, signal.SIGSTOP)
        started.set()
        return process, pipe

    monkeypatch.setattr(Worker, "_spawned", spawned_and_stopped)
    return started


def test_a_job_can_be_cancelled_until_a_process_has_started(never_ready):
    with closing(pool(1)) as workers:
        job = workers.submit(its_pid)
        assert never_ready.wait(END_S)
        assert job.cancel()


def test_closing_does_not_wait_until_a_process_has_started(never_ready):
    workers = Workers(1)
    workers.begin(Large(Profile.resolve(analyzer="shingle")))
    job = workers.submit(its_pid)
    assert never_ready.wait(END_S)
    closer = threading.Thread(target=workers.close, daemon=True)
    closer.start()
    closer.join(END_S)

    assert not closer.is_alive()
    assert job.cancelled()
    assert multiprocessing.active_children() == []


def test_a_job_whose_analysis_does_not_pickle_has_that_error():
    with closing(Workers(1)) as workers:
        workers.begin(Unsendable(Profile.resolve(analyzer="shingle")))
        with pytest.raises(pickle.PicklingError, match="it has a lock"):
            workers.submit(its_pid).result(END_S)


def test_a_pipe_that_another_thread_may_read_is_closed_after_the_end_of_its_process(monkeypatch):
    """Closed before, its number may be that of another file, from which the thread would read on."""
    worker, were_alive = Worker(ANALYSIS), []
    assert worker.call(its_pid) != os.getpid()
    process, close = worker._process, worker._pipe.close
    monkeypatch.setattr(worker._pipe, "close", lambda: (were_alive.append(process.is_alive()), close()))
    worker.close()

    assert were_alive == [False]


class ClosingPipe:
    """A pipe whose worker is closed, as by another thread, in the middle of its read number `last`."""

    def __init__(self, worker, pipe, last):
        self.worker, self.pipe, self.left = worker, pipe, last

    def send(self, message):
        self.pipe.send(message)

    def recv(self):
        self.left -= 1
        if not self.left:
            self.worker.close()
            # What `Connection.recv` raises then: its handle is None.
            os.read(None, 4)
        return self.pipe.recv()

    def close(self):
        self.pipe.close()


@pytest.mark.parametrize("last", [1, 2])
def test_a_job_of_a_worker_that_is_closed_while_it_reads_is_lost(monkeypatch, last):
    spawned = Worker._spawned

    def spawned_to_be_closed(worker):
        process, pipe = spawned(worker)
        return process, ClosingPipe(worker, pipe, last)

    monkeypatch.setattr(Worker, "_spawned", spawned_to_be_closed)
    with pytest.raises(WorkerLost):
        Worker(ANALYSIS).call(its_pid)
    assert multiprocessing.active_children() == []
