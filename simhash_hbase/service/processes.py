"""The processes of a service: one that serves, or several that share one socket, and an owner that starts them."""

import ipaddress
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from tempfile import TemporaryDirectory

from simhash_hbase.errors import InvalidArgument, SimhashError, missing_extra
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.service.keys import Keyring
from simhash_hbase.service.limits import METRICS_FOLDER, QUEUED, Limits
from simhash_hbase.service.logs import logger, set_up_logs

PACKAGES = ("fastapi", "httptools", "prometheus_client", "uvicorn")
EXTRA_MISSING = "the service needs four packages more"
# A process that ends before it has served for a while is started again after a pause, which doubles each time; the
# others do not wait for it. If all end in this way again and again, the service ends.
STEADY_S = 10.0
RESTART_S, LONGEST_RESTART_S = 1.0, 30.0
FAILURES = 6
FAILED = 1
SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a service, such as its index and limits, which are sent to each of its processes."""

    open_index: Callable[[], AbstractContextManager[LocalIndex]]  # Called in each process; it is sent there.
    keys: str | None  # Path of the file of keys; None allows everybody everything.
    limits: Limits
    """The limits of the whole service: each process has its part of them."""
    processes: int = 1
    workers: int = 1  # Processes of each serving one that fingerprint the documents of streams.
    grace_s: float = 25.0  # How long accepted requests may take to finish after a stop.
    drain_s: float = 0.0  # How long the service goes on answering after SIGTERM.


def listen(host: str, port: int, *, has_keys: bool) -> socket.socket:
    """Return a socket that listens at a host and port; without keys only an address of this machine itself is taken."""
    try:
        is_of_this_machine = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_of_this_machine = False
    if not has_keys and not is_of_this_machine:
        raise InvalidArgument(f"without keys the service is for this machine alone: listen at 127.0.0.1, not {host}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        created = socket.create_server((host, port), family=family, backlog=QUEUED)
    except OSError as error:
        raise InvalidArgument(f"cannot listen on {host}:{port}: {error.strerror}") from error
    # Opened by its number a socket knows its protocol, and so do those that it accepts. Else asyncio leaves Nagle's
    # algorithm on, and the end of an answer waits 40 ms until the client has acknowledged the beginning.
    return socket.socket(fileno=created.detach())


def run_service(settings: Settings, listener: socket.socket) -> bool:
    """Serve until SIGTERM or SIGINT.

    Return whether every call of the index had ended by then, so that none was given up.
    """
    if any(find_spec(name) is None for name in PACKAGES):
        raise missing_extra(EXTRA_MISSING, "service")
    if settings.processes > 1:
        return _Owner(settings, listener).run()
    _serve(settings, listener, None)
    return True


def _serve(settings: Settings, listener: socket.socket, owner: Connection | None) -> None:
    """Serve in this process until it is stopped; exit with `FAILED` where calls of the index had to be given up.

    `owner` is the pipe to the process that started this one; None if this is the only one.
    """
    keys = Keyring(settings.keys) if settings.keys is not None else None
    with settings.open_index() as index:
        if owner is None:
            logger.info("starting")
        # To import their libraries takes half a second; the socket is open meanwhile.
        from simhash_hbase.service.app import create_app  # noqa: PLC0415
        from simhash_hbase.service.server import serve  # noqa: PLC0415

        limits = settings.limits.part(settings.processes)
        app = create_app(index, keys=keys, limits=limits, workers=settings.workers)
        if not serve(app, listener, grace_s=settings.grace_s, drain_s=settings.drain_s, owner=owner):
            # Threads still wait for a store, and to close the index would be to wait for them. A store keeps what it
            # acknowledged however a process ends.
            os._exit(FAILED)


def _serve_for_owner(settings: Settings, listener: socket.socket, owner: Connection) -> None:
    """Serve in one of several processes; signals come over the pipe from the owner, which alone receives them."""
    for number in (*SIGNALS, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    set_up_logs()
    try:
        _serve(settings, listener, owner)
    except SimhashError as error:
        logger.error("process failed", extra={"fields": {"reason": error.sentence}})
        os._exit(FAILED)


class _Process:
    """A serving process as its owner, the process that started it, sees it."""

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        # Spawned, not forked: a fork would copy locks of this process.
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve_for_owner, args=(settings, listener, theirs))
        # Starting multiprocessing's tracker unblocks SIGINT, so it is started before that is blocked. The process
        # inherits that the signals are blocked, and ignores them when it begins.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            with theirs:
                self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.sentinel = self._process.sentinel
        self.ready_at: float | None = None  # By `time.monotonic`.

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def tell(self, number: int) -> None:
        """Send the number of a signal to the process over its pipe; one that has ended is left alone."""
        try:
            self.pipe.send(number)
        except OSError:
            return  # The process has ended, and its sentinel says so.

    def end(self) -> int:
        """Wait for a process that is ending, close its pipe, and return its exit code."""
        self._process.join()
        self.pipe.close()
        return self._process.exitcode or 0


class _Owner:
    """The process that starts the serving processes, replaces one that ends, and stops them all."""

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        self._settings = settings
        self._listener = listener
        self._processes: list[_Process] = []
        self._is_listening = False
        self._is_stopping = False
        self._is_whole = True
        # When a missing process may be started, each by `time.monotonic`.
        self._due = [0.0] * settings.processes
        self._failures = 0  # In a row, of processes that ended before they had served for a while.
        self._failed_at = 0.0

    def run(self) -> bool:
        # An index that cannot be opened is reported here, once.
        with self._settings.open_index():
            logger.info("starting")
        arrived, sending = socket.socketpair()
        with arrived, sending, TemporaryDirectory(prefix="simhash-hbase-") as folder:
            # The numbers of the signals that arrive come out of the socket.
            sending.setblocking(False)
            handlers = {number: signal.signal(number, lambda *_: None) for number in SIGNALS}
            wakeup = signal.set_wakeup_fd(sending.fileno())
            os.environ[METRICS_FOLDER] = folder
            try:
                self.start_missing()
                while self._processes or not self._is_stopping:
                    self.go_on(arrived)
            finally:
                signal.set_wakeup_fd(wakeup)
                for number, handler in handlers.items():
                    signal.signal(number, handler)
                del os.environ[METRICS_FOLDER]
        return self._is_whole

    def go_on(self, arrived: socket.socket) -> None:
        """Wait for a signal, a process that is ready or has ended, or the time of a restart, and handle this event.

        `arrived` is the socket out of which the numbers of signals come.
        """
        pipes = {process.pipe: process for process in self._processes if process.ready_at is None}
        sentinels = {process.sentinel: process for process in self._processes}
        is_complete = self._is_stopping or not self._due
        timeout = None if is_complete else max(0.0, min(self._due) - time.monotonic())
        for source in wait([arrived, *pipes, *sentinels], timeout):
            if source is arrived:
                # Signals with other handlers arrive, too: the handler of SIGHUP raises SIGTERM.
                for number in filter(SIGNALS.__contains__, arrived.recv(64)):
                    self._is_stopping = True
                    for process in self._processes:
                        process.tell(number)
            elif source in sentinels:
                self.replace(sentinels[source])
            elif source in pipes:
                self.note_ready(pipes[source])
        if not self._is_stopping:
            self.start_missing()

    def start_missing(self) -> None:
        now = time.monotonic()
        missing = sum(due <= now for due in self._due)
        self._due = [due for due in self._due if due > now]
        self._processes += [_Process(self._settings, self._listener) for _ in range(missing)]

    def note_ready(self, process: _Process) -> None:
        try:
            process.pipe.recv()
        except (EOFError, OSError):
            return  # The process has ended, and its sentinel says so.
        process.ready_at = time.monotonic()
        logger.info("process ready", extra={"fields": {"process": process.pid}})
        if not self._is_listening and all(each.ready_at is not None for each in self._processes):
            self._is_listening = True
            host, port = self._listener.getsockname()[:2]
            fields = {"host": host, "port": port, "processes": len(self._processes)}
            logger.info("listening", extra={"fields": fields})

    def replace(self, process: _Process) -> None:
        """Remove a process that has ended; unless it was told to end, plan the start of another one in its place."""
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415

        self._processes.remove(process)
        code = process.end()
        mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
        if self._is_stopping:
            self._is_whole = self._is_whole and code == 0
            return
        logger.warning("process ended", extra={"fields": {"process": process.pid, "exit_code": code}})
        now = time.monotonic()
        if not self._is_listening:
            # A fault that keeps one process from its first request would keep the next one from it, too.
            self.give_up()
        elif process.ready_at is None or now - process.ready_at < STEADY_S:
            self._failures = 1 if now - self._failed_at > 2 * LONGEST_RESTART_S else self._failures + 1
            self._failed_at = now
            self._due.append(now + min(RESTART_S * 2 ** (self._failures - 1), LONGEST_RESTART_S))
            if self._failures >= FAILURES and all(each.ready_at is None for each in self._processes):
                reason = f"{self._failures} processes in a row ended before they had served for {STEADY_S:.0f} s"
                logger.error("giving up", extra={"fields": {"reason": reason}})
                self.give_up()
        else:
            self._due.append(now)

    def give_up(self) -> None:
        self._is_stopping, self._is_whole = True, False
        for process in self._processes:
            process.tell(signal.SIGINT)
