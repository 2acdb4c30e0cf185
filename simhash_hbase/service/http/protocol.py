"""HTTP on one connection, with bounds on how long it may wait and how much it may take."""

import asyncio
from typing import Any

from starlette.types import Message, Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from simhash_hbase.service.core import Service
from simhash_hbase.service.http.middleware import HANG_UP, VOUCH
from simhash_hbase.service.intake import Intake

REQUEST_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
CLOSE = (b"connection", b"close")


class GuardedProtocol(H11Protocol):
    """uvicorn's h11 protocol with time-outs for slow headers and slow readers, which it waits for forever.

    uvicorn has no option for these, and its `limit_concurrency` turns away whoever comes last, not whoever has most.
    """

    def __init__(self, config: Config, *args: Any, **options: Any) -> None:  # noqa: ANN401
        super().__init__(config, *args, **options)
        app: Any = config.app
        self._service: Service = app.state.service
        self._limits = self._service.limits
        self._intake: Intake
        self.address = ""
        self._inner: Any = self.app
        self.app = self._run
        self._awaiting: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def drop(self) -> None:
        """End the connection at once."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first header, if there is room for one more connection."""
        super().connection_made(transport)
        self.flow = self._intake = Intake(transport, self._service.turns, self._feed)
        self.address = self.client[0] if self.client else ""
        if self._service.connections.admit(self):
            self._await_header()
        else:
            transport.write(TOO_MANY)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Take bytes."""
        if not self.transport.is_closing():
            self._intake.take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._service.connections.forget(self)
        self._await_no_more()
        super().connection_lost(exc)

    def _unsupported_upgrade_warning(self) -> None:
        """Answer in HTTP, without the log line in which uvicorn recommends packages."""

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; in the middle of an answer, close the connection instead."""
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()
        else:
            super().send_400_response(msg)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        cycle = self.cycle

        async def send_soon(message: Message) -> None:
            if self._service.is_draining and message["type"] == "http.response.start":
                # The client's next connection goes where a balancer sends it.
                message = {**message, "headers": [*message["headers"], CLOSE]}
            try:
                async with asyncio.timeout(self._limits.idle_s):
                    await send(message)
            except TimeoutError:
                self.transport.abort()

        def hang_up() -> None:
            cycle.keep_alive = False

        def vouch(is_known: bool) -> None:
            self._service.connections.vouch(self, is_known)

        await self._inner({**scope, HANG_UP: hang_up, VOUCH: vouch}, receive, send_soon)

    def _feed(self, data: bytes) -> None:
        """Parse bytes; keep the header's time-out running until it is complete."""
        super().data_received(data)
        if not self.is_idle:
            self._await_no_more()
        elif self._awaiting is None:
            self._await_header()

    def _await_header(self) -> None:
        self._awaiting = self.loop.call_later(self._limits.header_s, self._give_up)

    def _await_no_more(self) -> None:
        if self._awaiting is not None:
            self._awaiting.cancel()
            self._awaiting = None

    def _give_up(self) -> None:
        self._awaiting = None
        if not self.transport.is_closing():
            self.transport.write(REQUEST_TIMEOUT)
            self.transport.close()
