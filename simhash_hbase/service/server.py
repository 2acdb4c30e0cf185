"""The server of one process: from its first connection to its last answer."""

import asyncio
import gc
import signal
import socket
import sys
import time
from logging import INFO, WARNING
from multiprocessing.connection import Connection
from types import FrameType

import uvicorn
from fastapi import FastAPI

from simhash_hbase.service.connections import KEEP_ALIVE_S, HttpConnection
from simhash_hbase.service.core import Service
from simhash_hbase.service.logs import logger
from simhash_hbase.service.processes import QUEUED

# asyncio accepts as many connections in one step as it takes the queue to be long; 1,024 take 60 ms, in which nobody
# else is served. One of several processes takes one at a time, and so leaves some to the others.
ACCEPTED_AT_ONCE = 32
# More would take the files that a process may have open. uvicorn answers 503 to requests beyond it.
CONNECTIONS = 768
SWITCH_S = 0.001
TICKS_A_SECOND = 10


def serve(
    app: FastAPI, listener: socket.socket, *, grace_s: float, drain_s: float = 0, owner: Connection | None = None
) -> bool:
    """Serve until SIGINT, or until some seconds after SIGTERM; then finish what was accepted.

    Parameters
    ----------
    app : FastAPI
        Of `create_app`.
    listener : socket.socket
        Open already.
    grace_s : float
        Seconds to finish.
    drain_s : float
        Seconds to go on after SIGTERM.
    owner : Connection, optional
        Receives a message when the process listens, and sends the numbers of signals, which then come from nowhere
        else.

    Returns
    -------
    bool
        Whether all calls of the index have ended.
    """
    service: Service = app.state.service
    # The event loop waits at most so long for each thread that works on a request; the default is 5 ms.
    sys.setswitchinterval(SWITCH_S)
    config = uvicorn.Config(
        app,
        http=HttpConnection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=ACCEPTED_AT_ONCE if owner is None else 1,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=round(grace_s),
    )
    _Server(config, service, owner, grace_s=grace_s, drain_s=drain_s).run(sockets=[listener])
    service.engine.close(service.end_by)
    return not service.engine.under_way


class _Server(uvicorn.Server):
    """Drains on SIGTERM, then ends streams, and the process with exit code 0."""

    def __init__(
        self, config: uvicorn.Config, service: Service, owner: Connection | None, *, grace_s: float, drain_s: float
    ) -> None:
        super().__init__(config)
        self._service = service
        self._owner = owner
        self._grace_s = grace_s
        self._drain_s = drain_s
        self._is_to_drain = False
        self._drained_at = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # The dictionaries stay for good. A full collection that visits them takes 60 ms, in which nobody is served.
        gc.freeze()
        for listener in sockets or []:
            listener.listen(QUEUED)
            host, port = listener.getsockname()[:2]
            if self._owner is None:
                logger.info("listening", extra={"fields": {"host": host, "port": port}})
        if self._owner is not None:
            self._owner.send(None)

    async def on_tick(self, counter: int) -> bool:
        if self._owner is not None:
            self._heed(self._owner)
        if not counter % TICKS_A_SECOND:
            self._service.metrics.observe_store()
            for each in list(self.server_state.connections):
                if isinstance(each, HttpConnection):
                    each.look(self._service.limits.idle_s)
        if self._is_to_drain and not self._service.is_draining:
            self._service.is_draining = True
            self._drained_at = time.monotonic() + self._drain_s
            logger.info("draining", extra={"fields": {"seconds": self._drain_s}})
        is_drained = self._service.is_draining and time.monotonic() >= self._drained_at
        return await super().on_tick(counter) or is_drained

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logger.info("stopping", extra={"fields": {"requests": len(self.server_state.tasks)}})
        self._service.end_by = time.monotonic() + self._grace_s
        self._service.stopping.set()
        heeding = asyncio.create_task(self._heed_until_stopped())
        await super().shutdown(sockets)
        heeding.cancel()
        given_up = self._service.engine.under_way
        logger.log(WARNING if given_up else INFO, "stopped", extra={"fields": {"calls_given_up": given_up}})

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._owner is None:
            self._stop(sig)

    def _heed(self, owner: Connection) -> None:
        """Take the signals that the owner has passed on; without an owner nobody would ever stop this process."""
        try:
            while owner.poll():
                self._stop(owner.recv())
        except (EOFError, OSError):
            self.should_exit = True

    async def _heed_until_stopped(self) -> None:
        """Take signals while accepted requests are finished: a second Ctrl-C gives them up."""
        while self._owner is not None and not self.force_exit:
            self._heed(self._owner)
            await asyncio.sleep(1 / TICKS_A_SECOND)

    def _stop(self, sig: int) -> None:
        if sig == signal.SIGTERM and self._drain_s and not self._is_to_drain:
            self._is_to_drain = True
            return
        # uvicorn's own handler raises the signal again at the end, so the exit code would not be 0.
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True
