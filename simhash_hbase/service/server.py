"""The server process: sockets, time-outs below HTTP, signals."""

import gc
import signal
import socket
import sys
import time
from logging import INFO, WARNING
from types import FrameType

import uvicorn
from fastapi import FastAPI

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.service.access import is_loopback
from simhash_hbase.service.core import Service
from simhash_hbase.service.http.logs import logger
from simhash_hbase.service.http.protocol import GuardedProtocol

HEADER_BYTES = 64 << 10
QUEUED = 1024  # Connections that the system keeps until they are accepted.
# asyncio accepts as many of them in one step as it takes the queue to be long; 1,024 take 60 ms, in which nobody else
# is served.
ACCEPTED_AT_ONCE = 32
KEEP_ALIVE_S = 30
SWITCH_S = 0.001


def listen(host: str, port: int, *, has_keys: bool) -> socket.socket:
    """Open the socket; without keys it must not be reachable from outside."""
    if not has_keys and not is_loopback(host):
        raise InvalidArgument(f"without keys the service is for this machine alone: --host 127.0.0.1, not {host}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        created = socket.create_server((host, port), family=family, backlog=QUEUED)
    except OSError as error:
        raise InvalidArgument(f"cannot listen on {host}:{port}: {error.strerror}") from error
    # Opened by its number a socket knows its protocol, and so do those that it accepts. Else asyncio leaves Nagle's
    # algorithm on, and the end of an answer waits 40 ms until the client has acknowledged the beginning.
    return socket.socket(fileno=created.detach())


def serve(app: FastAPI, listener: socket.socket, *, grace_s: float) -> bool:
    """Serve until SIGTERM or SIGINT; then finish what was accepted."""
    service: Service = app.state.service
    # The event loop waits at most so long for each thread that works on a request; the default is 5 ms.
    sys.setswitchinterval(SWITCH_S)
    config = uvicorn.Config(
        app,
        http=GuardedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=round(grace_s),
        h11_max_incomplete_event_size=HEADER_BYTES,
    )
    _Server(config, service, grace_s).run(sockets=[listener])
    service.engine.close(service.end_by)
    return not service.engine.under_way


class _Server(uvicorn.Server):
    """Ends streams on a signal, and the process with exit code 0."""

    def __init__(self, config: uvicorn.Config, service: Service, grace_s: float) -> None:
        super().__init__(config)
        self._service = service
        self._grace_s = grace_s

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # The dictionaries stay for good. A full collection that visits them takes 60 ms, in which nobody is served.
        gc.freeze()
        for listener in sockets or []:
            listener.listen(QUEUED)
            host, port = listener.getsockname()[:2]
            logger.info("listening", extra={"fields": {"host": host, "port": port}})

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logger.info("stopping", extra={"fields": {"requests": len(self.server_state.tasks)}})
        self._service.end_by = time.monotonic() + self._grace_s
        self._service.stopping.set()
        await super().shutdown(sockets)
        given_up = self._service.engine.under_way
        logger.log(WARNING if given_up else INFO, "stopped", extra={"fields": {"calls_given_up": given_up}})

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn's own handler raises the signal again at the end, so the exit code would not be 0.
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True
