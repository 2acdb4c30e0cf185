"""Requests to an HTTP service of this package: repeated while it does not answer, its errors raised as exceptions."""

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Protocol, Self, TypeVar
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from simhash_hbase import errors, tracing

CONNECT_S = 10.0
# For an answer, or for a line of a stream.
READ_S = 90.0  # A claim may wait for two leases of another writer, a minute by default.
SOON_S = 10.0  # For an answer where the caller sets a patience for the one request, as on opening.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
CONNECTIONS = 16  # Kept open for the next requests; threads may have more, tasks of an event loop wait for one.

# Answers of a stream in memory at a time; the lines after them are sent again.
ANSWER_BYTES = 8 << 20
# Most bytes of an answer or a line: a thousand matches with the longest ids take less.
MOST_BYTES = 64 << 20

WHOLE = ("/v1/stats", "/v1/profile")  # Routes about the whole index, which take no collection.
JSON, NDJSON = "application/json", "application/x-ndjson"
OK, UNAUTHORIZED, FORBIDDEN, TOO_LARGE, SERVER_ERROR = 200, 401, 403, 413, 500
_AWAY = frozenset({408, 425, 429, 502, 503, 504})
_NO_KEY = "set SIMHASH_HBASE_API_KEY, or SIMHASH_HBASE_API_KEY_FILE to the name of a file that holds the key"


class DocumentTooLong(errors.InvalidInput):
    """The service, or a gateway in front of it, refuses a document as too long; the message lacks the document's id."""


_KINDS: Mapping[str, type[errors.SimhashError]] = {
    "empty_document": errors.EmptyDocument,
    "invalid_document": errors.InvalidInput,
    "line_too_long": DocumentTooLong,
    "body_too_large": DocumentTooLong,
    "too_much_work": errors.InvalidInput,
    "invalid_argument": errors.InvalidArgument,
    "document_missing": errors.DocumentMissing,
    "claim_contended": errors.ClaimContended,
    "worker_lost": errors.WorkerLost,
    "timeout": errors.StoreTimeout,
    "unsupported": errors.Unsupported,
    "store_full": errors.StoreFull,
    "store_readonly": errors.StoreReadonly,
}
"""The error of this package for each code of the service; `_Problem.error` has the errors for other codes."""

T = TypeVar("T")
Parameters = Mapping[str, str | int | float]
JsonObject = dict[str, Any]


class ServiceRequest(NamedTuple):
    """An HTTP request to the service, with its time limits."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    connect_s: float
    """Most seconds for opening the connection."""
    read_s: float
    """Most seconds for the whole answer; `Response.renew` starts them anew."""


class Response(Protocol):
    """The response to a request, whose body is read piece by piece."""

    status: int

    @property
    def headers(self) -> Mapping[str, str]:
        """The header fields of the answer; names match in any case."""

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes, without waiting for a piece to be full."""

    def renew(self) -> None:
        """Move the deadline of the answer: its whole time, `ServiceRequest.read_s`, counts from now."""


class ServiceTransport(Protocol):
    """Sends requests to a service, perhaps through a proxy, and raises the errors of this package only."""

    def __init__(self, url: str, proxy: str | None) -> None: ...

    @staticmethod
    def check(url: str) -> None:
        """Raise ValueError if a text is not a URL."""

    def response(self, request: ServiceRequest) -> AbstractContextManager[Response]:
        """Send a request and yield its response, of whatever status; its body can be read within the block.

        A connection that fails, here or within the block, raises `StoreUnavailable`, a time-out `StoreTimeout`, and a
        certificate that is not accepted `StoreRefused`. A status that means an error raises nothing.
        """

    def sleep(self, seconds: float) -> None:
        """Sleep for some seconds before a request is repeated."""

    def close(self) -> None:
        """Close all connections."""


class _Problem(msgspec.Struct):
    """An error as the service writes it in JSON."""

    code: str
    detail: str
    retryable: bool

    def error(self, where: str = "") -> errors.SimhashError:
        """Return the exception of this package for the error's code; `where` is put before its message.

        For a code that is not known here, `retryable` decides between `StoreUnavailable` and `StoreRefused`.
        """
        kind = _KINDS.get(self.code)
        if kind is None:
            kind = errors.StoreUnavailable if self.retryable else errors.StoreRefused
        return kind(f"{where}{self.detail}")


class _Summary(msgspec.Struct):
    """The last line of a streamed answer: whether the stream is complete, else the error that ended it."""

    complete: bool
    error: _Problem | None = None


class _Patience:
    """The pauses between tries of a request: longer and longer ones, until `seconds` have passed without an answer."""

    def __init__(self, seconds: float, sleep: Callable[[float], None]) -> None:
        self._seconds = seconds
        self._sleep = sleep
        self.renew()

    def renew(self) -> None:
        """Begin again, since an answer came: the full time is left, and the next pause is short."""
        self._until = time.monotonic() + self._seconds
        self._pause_s = FIRST_PAUSE_S

    def wait(self, error: errors.Retryable) -> None:
        """Sleep before the next try of a request that failed with `error`; raise `error` if no time is left for it."""
        # Random, so that clients that failed together do not come back together.
        pause_s = random.uniform(1.0, 1.5) * (error.retry_after_s or self._pause_s)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        if time.monotonic() + pause_s > self._until:
            raise error
        self._sleep(pause_s)


class HttpClient:
    """Sends the requests of a `RemoteIndex`, repeats them without an answer, and checks answers; threads may share it.

    The parameters are those of `RemoteIndex`.
    """

    def __init__(self, url: str, *, key: str | None, patience_s: float, transport: type[ServiceTransport]) -> None:
        try:
            parts = urlsplit(url)
            _ = parts.port
            transport.check(url)
        except ValueError as error:
            # The message of a parser quotes the address, which may hold a password or a key.
            reason = "" if re.search("[@?#]", url) else f": {error}"
            raise errors.InvalidArgument(f"no address of a service, such as http://HOST:PORT{reason}") from error
        if parts.username is not None:
            # The address is not shown: there may be a password in it.
            raise errors.InvalidArgument(f"an address of a service has no user and no password: {_NO_KEY}")
        if not parts.hostname or parts.query or parts.fragment:
            shown = re.split("[?#]", url)[0]
            raise errors.InvalidArgument(
                f"{shown!r} is no address of a service: wanted http://HOST:PORT or https://HOST"
            )
        self.url = url.rstrip("/")
        self.patience_s = patience_s
        self._collection: str | None = None
        self._headers = {"User-Agent": "simhash-hbase"}
        if key is not None:
            if not key or not key.isascii() or not key.isprintable() or " " in key:
                raise errors.InvalidArgument("an API key is one word of ASCII characters, as the command key prints it")
            self._headers["Authorization"] = f"Bearer {key}"
        proxy = None if proxy_bypass(parts.hostname) else getproxies().get(parts.scheme)
        self._transport = transport(self.url, proxy)

    def in_collection(self, name: str | None) -> Self:
        """Return a client for the documents of one collection, over the same connections."""
        client = copy(self)
        client._collection = name
        return client

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def get(self, path: str, *, patience_s: float | None = None, **parameters: str) -> JsonObject:
        """Return the JSON object that answers a GET request; see `request`."""
        return self.request("GET", path, parameters, patience_s=patience_s)

    def request(
        self,
        method: str,
        path: str,
        parameters: Parameters | None = None,
        *,
        body: bytes | None = None,
        patience_s: float | None = None,
    ) -> JsonObject:
        """Send a request, again while the service does not answer, and return the JSON object that answers it.

        The request must be one that may be sent twice. `patience_s` replaces the client's own seconds for repeating it.
        Raises the error that the service answers, or `StoreUnavailable` or `StoreTimeout` if it does not answer.
        """
        patience, read_s = self._patience(patience_s), READ_S if patience_s is None else SOON_S
        while True:
            try:
                with self._response(method, path, parameters, body, JSON, read_s, patience_s) as response:
                    content = self._whole(response)
                    try:
                        return self._decode(content)
                    except errors.NotAnIndex as error:
                        if _ends_with_connection(response) and content[:1] in (b"", b"{"):
                            raise self._broken() from error
                        raise
            except errors.ClaimContended:
                raise
            except errors.Retryable as error:
                patience.wait(error)

    def stream(self, path: str, parameters: Parameters, lines: Sequence[bytes]) -> Iterator[JsonObject]:
        """Send lines of JSON as one request, and yield the JSON object that answers each line, in their order.

        Lines that have no answer when a connection breaks, or when the service ends the stream, are sent again. An
        error that would come again is raised after the answers that came before it. An answer may be the error of its
        line, which `line_error` reads.
        """
        patience = self._patience()
        while lines:
            answers: list[JsonObject] = []
            failure: errors.SimhashError | None = None
            try:
                with self._response("POST", path, parameters, b"".join(lines), NDJSON, READ_S) as response:
                    self._read(response, answers)
            except errors.SimhashError as error:
                failure = error
            if len(answers) > len(lines) or not (answers or failure):
                raise self.no_answer(f"{len(answers)} answers came for {len(lines)} lines")
            yield from answers
            lines = lines[len(answers) :]
            if failure is not None and not isinstance(failure, errors.Retryable):
                raise failure
            if answers:
                patience.renew()
            if lines and failure is not None:
                patience.wait(failure)

    def _patience(self, seconds: float | None = None) -> _Patience:
        return _Patience(self.patience_s if seconds is None else seconds, self._transport.sleep)

    def _read(self, response: Response, answers: list[JsonObject]) -> None:
        """Append the answers of a stream to `answers`, until the line that ends the stream, or after `ANSWER_BYTES`.

        Raises the error that ended the stream early, or `StoreUnavailable` where the connection broke.
        """
        size, line = 0, bytearray()
        for piece in response.pieces():
            # A last line without its end is left out.
            *ends, rest = piece.split(b"\n")
            for end in ends:
                line += end
                record = self._decode(line)
                response.renew()
                if "summary" in record:
                    summary = self.checked(partial(msgspec.convert, type=_Summary), record["summary"])
                    if summary.complete:
                        return
                    if summary.error is None:
                        raise self.no_answer("a stream ends without a reason")
                    raise summary.error.error(f"{self.url}: ")
                answers.append(record)
                size += len(line)
                if size > ANSWER_BYTES:
                    return
                line.clear()
            line += rest
            if len(line) > MOST_BYTES:
                raise self._too_large()
        raise self._broken()

    def line_error(self, answer: JsonObject) -> errors.SimhashError | None:
        """Return the error that a line was answered with; None if the answer is a result."""
        if "error" not in answer:
            return None
        problem: _Problem = self.checked(partial(msgspec.convert, type=_Problem), answer["error"])
        return problem.error()

    def checked(self, read: Callable[[Any], T], value: object) -> T:
        """Return ``read(value)``, of a part of an answer; raise `NotAnIndex` if that fails: the answer is malformed."""
        try:
            return read(value)
        except (LookupError, TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
            raise self.no_answer() from error

    def no_answer(self, reason: str = "") -> errors.NotAnIndex:
        """Return the error for an answer that no service of this package gives: asking again would not help."""
        because = f": {reason}" if reason else ""
        return errors.NotAnIndex(f"{self.url} does not answer as the service of this package does{because}")

    def _whole(self, response: Response) -> bytes:
        """Return the whole body of a response; raise `NotAnIndex` if it is longer than `MOST_BYTES`."""
        body = bytearray()
        for piece in response.pieces():
            body += piece
            if len(body) > MOST_BYTES:
                raise self._too_large()
        return bytes(body)

    def _broken(self) -> errors.StoreUnavailable:
        return errors.StoreUnavailable(f"{self.url}: the connection broke in the middle of an answer")

    def _too_large(self) -> errors.NotAnIndex:
        return self.no_answer(f"an answer has more than {MOST_BYTES >> 20} MB")

    @contextmanager
    def _response(  # noqa: PLR0913, PLR0917 - what a request has
        self,
        method: str,
        path: str,
        parameters: Parameters | None,
        body: bytes | None,
        media: str,
        read_s: float,
        patience_s: float | None = None,
    ) -> Iterator[Response]:
        """Send a request once, and yield its response; raise the error of a response whose status is not 200.

        `media` is the content type of the body; `read_s` and `patience_s` limit the seconds for answer and connection.
        """
        parameters = parameters or {}
        if self._collection is not None and path not in WHOLE:
            parameters = {"collection": self._collection, **parameters}
        url = f"{self.url}{path}{'?' if parameters else ''}{urlencode(parameters)}"
        headers = {**self._headers, **({} if body is None else {"Content-Type": media})}
        tracing.inject(headers)
        connect_s = min(CONNECT_S, self.patience_s if patience_s is None else patience_s)
        request = ServiceRequest(method, url, headers, body, connect_s, min(read_s, self.patience_s))
        with self._transport.response(request) as response:
            if response.status != OK:
                raise self._refusal(path, response)
            yield response

    def _refusal(self, path: str, response: Response) -> errors.SimhashError:
        """Return the error for a response whose status is not 200."""
        status, where = response.status, f"{self.url}: "
        try:
            error = msgspec.json.decode(self._whole(response), type=_Problem).error(where)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            # An answer of a gateway in front of the service lacks the service's own sentence.
            if status in _AWAY:
                error = errors.StoreUnavailable(f"{where}status {status}")
            elif status == TOO_LARGE:
                error = DocumentTooLong(f"{where}the document is too large for a gateway in front of the service")
            elif status in (UNAUTHORIZED, FORBIDDEN) or status >= SERVER_ERROR:
                error = errors.StoreRefused(f"{where}status {status}")
            else:
                error = errors.NotAnIndex(f"{where}status {status} for {path}: no service of this package is there")
        if status == UNAUTHORIZED:
            error = errors.StoreRefused(f"{error.sentence}; {_NO_KEY}")
        if isinstance(error, errors.Retryable):
            after = response.headers.get("Retry-After", "")
            error.retry_after_s = min(float(after), LONGEST_PAUSE_S) if after.isdecimal() else None
        return error

    def _decode(self, raw: bytes | bytearray) -> JsonObject:
        return self.checked(partial(msgspec.json.decode, type=dict[str, Any]), raw)


def _ends_with_connection(response: Response) -> bool:
    """Return whether a response has neither length nor chunks, so that a body which was cut off looks complete."""
    return "Content-Length" not in response.headers and "Transfer-Encoding" not in response.headers


def reason(error: BaseException) -> str:
    """Return the message of the first error of a chain (see `innermost`): libraries wrap each other's errors."""
    error = innermost(error)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def innermost(error: BaseException) -> BaseException:
    """Return the error that began the chain of causes and contexts of `error`; that is `error` if it has no cause."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return error
