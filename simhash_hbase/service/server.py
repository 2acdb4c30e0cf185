"""The HTTP server of one process, on uvicorn: its connections, from the first one to the last answer."""

import asyncio
import gc
import signal
import socket
import sys
import time
from multiprocessing.connection import Connection

import httptools
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from simhash_hbase.service.limits import QUEUED
from simhash_hbase.service.logs import logger
from simhash_hbase.service.requests import Service

# asyncio accepts as many connections in one step as it takes the queue to be long; 1,024 take 60 ms, in which nobody
# else is served. One of several processes takes one at a time, and so leaves some to the others.
ACCEPTED_AT_ONCE = 32
# More would take the files that a process may have open. uvicorn answers 503 to requests beyond it.
CONNECTIONS = 768
# An id may have 16,384 characters, which are 9 bytes each when they are percent-encoded.
HEAD_BYTES = 256 << 10
# Requests of one connection that wait until those before them are answered; each takes some kilobytes of memory.
PIPELINED = 64
# Connections above uvicorn's limit that are kept, to answer them with 503. uvicorn's limit is one of requests:
# connections without one would take all the files that the process may have open.
REFUSED = 64
KEEP_ALIVE_S = 30
# Seconds for the header of a request, after the time that a connection may be idle.
HEAD_S = 10
SWITCH_S = 0.001
TICKS_A_SECOND = 10
_FRAMING = (b"content-length", b"transfer-encoding")


def serve(
    app: FastAPI, listener: socket.socket, *, grace_s: float, drain_s: float = 0, owner: Connection | None = None
) -> bool:
    """Serve until SIGINT, or for `drain_s` after SIGTERM; return whether all calls of the index ended within `grace_s`.

    `owner` is the pipe to the process that started this one, if it serves beside others. It gets a message when this
    process listens, and sends the numbers of signals, which then come from nowhere else.
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
    """uvicorn's server with another end: SIGTERM makes it drain, then end streams, and exit with code 0.

    To drain is to go on answering for some seconds, while clients are told to go elsewhere.
    """

    def __init__(
        self, config: uvicorn.Config, service: Service, owner: Connection | None, *, grace_s: float, drain_s: float
    ) -> None:
        super().__init__(config)
        self._service, self._owner = service, owner
        self._grace_s, self._drain_s = grace_s, drain_s
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

        async def heed() -> None:
            """Handle further signals while accepted requests are finished: a second Ctrl-C gives the requests up."""
            while self._owner is not None and not self.force_exit:
                self._heed(self._owner)
                await asyncio.sleep(1 / TICKS_A_SECOND)

        heeding = asyncio.create_task(heed())
        await super().shutdown(sockets)
        heeding.cancel()
        given_up = self._service.engine.under_way
        log = logger.warning if given_up else logger.info
        log("stopped", extra={"fields": {"calls_given_up": given_up}})

    def handle_exit(self, sig: int, frame: object) -> None:
        if self._owner is None:
            self._stop(sig)

    def _heed(self, owner: Connection) -> None:
        """Handle the signals that the owner has passed on; where the owner is gone, stop."""
        try:
            while owner.poll():
                self._stop(owner.recv())
        except (EOFError, OSError):
            self.should_exit = True

    def _stop(self, sig: int) -> None:
        if sig == signal.SIGTERM and self._drain_s and not self._is_to_drain:
            self._is_to_drain = True
            return
        # uvicorn's own handler raises the signal again at the end, so the exit code would not be 0.
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


class HttpConnection(HttpToolsProtocol):
    """One HTTP connection; in these ways it is safer than uvicorn's own.

    * A request that asks for another protocol is answered in this one. httptools takes its body for the other protocol,
      so that the service would answer without the body, and take the body for the next request.
    * A trailer after a body does not count as a header: proxies check headers only.
    * Requests that are pipelined, headers and trailers take bounded memory. If there are too many connections, those
      without a request are not kept.
    * Bytes that are no HTTP are refused after the answers to the requests before them, not in the middle of one.
    * `look` ends the connection of a client that stops reading or sending.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a new connection, or close it where there are too many."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency + REFUSED:
            transport.close()
        self._http = _Parser(self)
        self.parser = self._http  # type: ignore[assignment]
        self._is_head = True  # Whether the next field is a header; it is a trailer otherwise.
        self._is_resuming = False  # Whether the parser is given a header that it had before.
        self._unparsed = 0  # Bytes since the parser last finished something.
        self._unread = 0  # Bytes of answers at the last look; 0 where the client has taken some since.
        now = time.monotonic()
        self._read_at = self._idle_since = now

    def look(self, unread_s: float) -> None:
        """End the connection if its client has read no answer for `unread_s`, or does not finish a request's header.

        The server calls this about once a second.
        """
        now, unread = time.monotonic(), self.transport.get_write_buffer_size()
        if not self._unread or unread < self._unread:
            self._read_at = now
        self._unread = unread
        if unread:
            if now - self._read_at > unread_s:
                # To close it would be to wait until the answer is read.
                self.transport.abort()
        elif (self.cycle is None or self.cycle.response_complete) and now - self._idle_since > KEEP_ALIVE_S + HEAD_S:
            self.transport.close()

    def resume(self) -> bytes:
        """Return a made-up request header, to be parsed before the body of a request that asked for another protocol.

        The parser stops after such a request's header; with this one a new parser can read the body.
        """
        self._is_resuming = True
        framing = [b"%s: %s\r\n" % field for field in self.headers if field[0] in _FRAMING]
        return b"POST / HTTP/1.1\r\n%s\r\n" % b"".join(framing)

    def data_received(self, data: bytes) -> None:
        """Parse bytes that have arrived from the client; refuse a header or trailer that is too long."""
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The header or trailer is too long.")

    def resume_writing(self) -> None:
        """Restart the time for which a client may leave answers unread: it has read some; asyncio calls this."""
        self._unread = 0
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are no HTTP with status 400, or close the connection where another answer is half sent."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            super().send_400_response(msg)
        elif not cycle.more_body:
            cycle.keep_alive = False
        elif cycle.response_started or self.pipeline:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def on_message_begin(self) -> None:
        """Begin a request; the parser calls this at its first byte."""
        if not self._is_resuming:
            self._is_head = True
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a piece of a request's address from the parser."""
        if not self._is_resuming:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header from the parser; drop a trailer, a field after the body."""
        if self._is_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Have the request answered, at once or after the requests before it on this connection."""
        self._unparsed = self._unread = 0
        self._is_head = False
        if self._is_resuming:
            self._is_resuming = False
            return
        if self._http.get_method() == b"CONNECT" or len(self.pipeline) >= PIPELINED:
            raise ValueError("a request that is not answered")
        # httptools takes no address above 64 KB, so it gets the path alone; a fragment is for the client.
        self.url, _, query = self.url.partition(b"#")[0].partition(b"?")
        super().on_headers_complete()
        self.scope["query_string"] = query

    def on_body(self, body: bytes) -> None:
        """Take a piece of a request's body from the parser."""
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request's body is complete."""
        if self._http.is_paused():
            return  # The body of this request is still to come.
        self._unparsed = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Begin the answer to the next request that waits on this connection."""
        self._idle_since = time.monotonic()
        super().on_response_complete()


class _Parser:
    """httptools' parser of requests; it goes on in HTTP/1.1 if a client asks for another protocol (RFC 9110, 7.8)."""

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection
        self._begin()

    def feed_data(self, data: bytes) -> None:
        """Parse bytes that have arrived; those after a request for another protocol are parsed as HTTP/1.1, too."""
        while data:
            try:
                return self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                # The old parser waits for another protocol for ever; a new one reads the body and the next requests.
                data = self._connection.resume() + data[upgrade.args[0] :]
                self._begin()

    def is_paused(self) -> bool:
        """Return whether the parser stopped after the header of a request that asks for another protocol."""
        return bool(self._parser.should_upgrade())

    def should_upgrade(self) -> bool:
        """Return False, for uvicorn: the connection never changes its protocol."""
        return False

    def _begin(self) -> None:
        self._parser = httptools.HttpRequestParser(self._connection)
        # As uvicorn has it: bytes after a request with `Connection: close` are no error.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.get_method = self._parser.get_method
        self.get_http_version = self._parser.get_http_version
        self.should_keep_alive = self._parser.should_keep_alive
