"""HTTP on one connection, with an end to waiting: for a header, and for a client to read its answer."""

import asyncio
from typing import Any

from starlette.types import Message, Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from simhash_hbase.service.limits import Limits
from simhash_hbase.service.middleware import HANG_UP

__all__ = ["GuardedProtocol"]

# More would take the files that a process may have open.
CONNECTIONS = 768
REQUEST_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class GuardedProtocol(H11Protocol):
    """The server's own, which waits for both for ever."""

    def __init__(self, config: Config, *args: Any, **options: Any) -> None:  # noqa: ANN401
        super().__init__(config, *args, **options)
        app: Any = config.app
        self._limits: Limits = app.state.service.limits
        self._inner: Any = self.app
        self.app = self._run
        self._awaiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first header."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
        self._await_header()

    def data_received(self, data: bytes) -> None:
        """Take bytes; when they do not complete a header, go on waiting for it."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._await_no_more()
        elif self._awaiting is None:
            self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._await_no_more()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; in the middle of an answer there is no way to say so."""
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()
        else:
            super().send_400_response(msg)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        cycle = self.cycle

        async def send_soon(message: Message) -> None:
            try:
                async with asyncio.timeout(self._limits.idle_s):
                    await send(message)
            except TimeoutError:
                self.transport.abort()

        def hang_up() -> None:
            cycle.keep_alive = False

        await self._inner({**scope, HANG_UP: hang_up}, receive, send_soon)

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
