"""Requests to an HTTP service: repeated while it is away, its errors translated into those of this package."""

import random
import re
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, Self
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from simhash_hbase import errors

try:
    import urllib3
    from urllib3.exceptions import HTTPError, LocationParseError, ReadTimeoutError, SSLError
except ImportError as error:
    raise errors.missing_extra("an index by http:// or https:// needs urllib3", "client") from error

CONNECT_S = 10.0
READ_S = 90.0  # A claim may wait for two leases of another writer, a minute by default.
SOON_S = 10.0  # For an answer to a request that waits for nobody, where the caller's patience is short.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
CONNECTIONS = 16  # Kept open for the next requests; threads may have more.

READ_BYTES = 64 << 10
# Answers of a stream in memory at a time; the lines after them are sent again.
ANSWER_BYTES = 8 << 20

WHOLE = ("/v1/stats", "/v1/profile")  # Routes that are of no collection.
JSON, NDJSON = "application/json", "application/x-ndjson"
OK, UNAUTHORIZED, FORBIDDEN, TOO_LARGE, SERVER_ERROR = 200, 401, 403, 413, 500
_AWAY = frozenset({408, 425, 429, 502, 503, 504})
_NO_KEY = "set SIMHASH_HBASE_API_KEY, or SIMHASH_HBASE_API_KEY_FILE to the name of a file that holds the key"

_KINDS: Mapping[str, type[errors.SimhashError]] = {
    "empty_document": errors.EmptyDocument,
    "invalid_document": errors.InvalidInput,
    "line_too_long": errors.InvalidInput,
    "body_too_large": errors.InvalidInput,
    "too_much_work": errors.InvalidInput,
    "invalid_argument": errors.InvalidArgument,
    "document_missing": errors.DocumentMissing,
    "claim_contended": errors.ClaimContended,
    "worker_lost": errors.WorkerLost,
    "timeout": errors.StoreTimeout,
    "unsupported": errors.Unsupported,
    "store_full": errors.StoreFull,
}
"""The errors that a code of the service stands for; of the others, those worth another try mean `StoreUnavailable`."""

Parameters = Mapping[str, str | int | float]
JsonObject = dict[str, Any]


def _error_of(problem: Mapping[str, Any], where: str = "") -> errors.SimhashError:
    """Return the error of the package for one that the service sent."""
    kind = _KINDS.get(problem["code"])
    if kind is None:
        kind = errors.StoreUnavailable if problem["retryable"] else errors.StoreRefused
    return kind(f"{where}{problem['detail']}")


class _Patience:
    """Waits longer and longer between tries until the time without any answer is too long."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.renew()

    def renew(self) -> None:
        """Begin anew, since there was an answer."""
        self._until = time.monotonic() + self._seconds
        self._pause_s = FIRST_PAUSE_S

    def wait(self, error: errors.Retryable) -> None:
        """Sleep before the next try, or raise the error when no time is left for one."""
        # Random, so that clients that failed together do not come back together.
        pause_s = random.uniform(1.0, 1.5) * (error.retry_after_s or self._pause_s)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        if time.monotonic() + pause_s > self._until:
            raise error
        time.sleep(pause_s)


class HttpClient:
    """The connections of a `RemoteIndex`, which describes the parameters; threads may share them."""

    def __init__(self, url: str, *, key: str | None, patience_s: float) -> None:
        try:
            parts = urlsplit(url)
            _ = parts.port
            urllib3.util.parse_url(url)
        except (ValueError, LocationParseError) as error:
            # Parsers repeat parts of the address, which may be those of a password or a key.
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
        make = partial(urllib3.ProxyManager, proxy) if proxy else urllib3.PoolManager
        secure: dict[str, Any] = {"ssl_context": ssl.create_default_context()} if parts.scheme == "https" else {}
        self._timeout = urllib3.Timeout(connect=min(CONNECT_S, patience_s), read=min(READ_S, patience_s))
        self._pool = make(num_pools=1, maxsize=CONNECTIONS, **secure)

    def in_collection(self, name: str | None) -> Self:
        """Return a client whose requests are for the documents of a collection, by the same connections."""
        client = copy(self)
        client._collection = name
        return client

    def close(self) -> None:
        """Close all connections."""
        self._pool.clear()

    def get(self, path: str, *, patience_s: float | None = None, **parameters: str) -> JsonObject:
        """Ask for one JSON object."""
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
        """Send a request that may be repeated, and return the JSON object that answers it.

        Raises the error that the service answers, or the reason why it does not answer.
        """
        patience, timeout = _Patience(self.patience_s), self._timeout
        if patience_s is not None:
            patience = _Patience(patience_s)
            timeout = urllib3.Timeout(connect=patience_s, read=min(SOON_S, self.patience_s))
        while True:
            try:
                with self._response(method, path, parameters or {}, body, JSON, timeout) as response:
                    return self._decode(response.read())
            except errors.ClaimContended:
                raise
            except errors.Retryable as error:
                patience.wait(error)

    def stream(
        self, path: str, parameters: Parameters, lines: Sequence[bytes]
    ) -> Iterator[JsonObject | errors.SimhashError]:
        """Send lines that may be repeated, and yield the answer to each of them, in their order.

        An answer is a JSON object, or the error of that line alone. What was not answered when a connection breaks, or
        when the service ends the stream, is sent again. An error that stays comes after the answers before it.
        """
        patience = _Patience(self.patience_s)
        while lines:
            answers: list[JsonObject] = []
            failure: errors.SimhashError | None = None
            try:
                with self._response("POST", path, parameters, b"".join(lines), NDJSON, self._timeout) as response:
                    self._read(response, answers)
            except errors.SimhashError as error:
                failure = error
            if len(answers) > len(lines) or not (answers or failure):
                raise errors.StoreRefused(f"{self.url}: {len(answers)} answers came for {len(lines)} lines")
            yield from (_error_of(answer["error"]) if "error" in answer else answer for answer in answers)
            lines = lines[len(answers) :]
            if failure is not None and not isinstance(failure, errors.Retryable):
                raise failure
            if answers:
                patience.renew()
            if lines and failure is not None:
                patience.wait(failure)

    def _read(self, response: urllib3.BaseHTTPResponse, answers: list[JsonObject]) -> None:
        """Read the answers of a stream to its summary, or as many as fit into memory."""
        size, part = 0, b""
        for piece in response.stream(READ_BYTES):
            # A last line without its end is left out.
            *whole, part = (part + piece).split(b"\n")
            for line in whole:
                record = self._decode(line)
                if "summary" in record:
                    summary = record["summary"]
                    if not summary["complete"]:
                        raise _error_of(summary["error"], f"{self.url}: ")
                    return
                answers.append(record)
                size += len(line)
                if size > ANSWER_BYTES:
                    return
        raise errors.StoreUnavailable(f"{self.url}: the connection broke in the middle of an answer")

    @contextmanager
    def _response(
        self, method: str, path: str, parameters: Parameters, body: bytes | None, media: str, timeout: urllib3.Timeout
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """Send a request; its body may be read within the block."""
        if self._collection is not None and path not in WHOLE:
            parameters = {"collection": self._collection, **parameters}
        url = f"{self.url}{path}{'?' if parameters else ''}{urlencode(parameters)}"
        headers = self._headers if body is None else {**self._headers, "Content-Type": media}
        try:
            response = self._pool.request(
                method,
                url,
                body=body,
                headers=headers,
                timeout=timeout,
                preload_content=False,
                redirect=False,
                retries=False,
            )
            try:
                if response.status != OK:
                    raise self._refusal(path, response)
                yield response
            finally:
                # A connection whose answer was read to the end is no longer the response's, and stays open.
                response.close()
        except SSLError as error:
            raise errors.StoreRefused(f"{self.url}: TLS fails: {_reason(error)}") from error
        except ReadTimeoutError as error:
            raise errors.StoreTimeout(f"{self.url} has not answered in time") from error
        except (HTTPError, OSError) as error:
            raise errors.StoreUnavailable(f"{self.url} does not answer: {_reason(error)}") from error

    def _refusal(self, path: str, response: urllib3.BaseHTTPResponse) -> errors.SimhashError:
        """Return the error of an answer that is no result."""
        status, where = response.status, f"{self.url}: "
        try:
            problem = msgspec.json.decode(response.read(READ_BYTES))
            error = _error_of(problem, where)
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
            # Of a gateway in front of the service, without the service's own sentence.
            if status in _AWAY:
                error = errors.StoreUnavailable(f"{where}status {status}")
            elif status == TOO_LARGE:
                error = errors.InvalidInput(f"{where}the document is too large for a gateway in front of the service")
            elif status in (UNAUTHORIZED, FORBIDDEN) or status >= SERVER_ERROR:
                error = errors.StoreRefused(f"{where}status {status}")
            else:
                error = errors.NotAnIndex(f"{where}status {status} for {path}: no service of this package is there")
        if status == UNAUTHORIZED:
            error = errors.StoreRefused(f"{error.sentence}; {_NO_KEY}")
        if isinstance(error, errors.Retryable):
            after = response.headers.get("Retry-After", "")
            error.retry_after_s = min(float(after), LONGEST_PAUSE_S) if after.isdigit() else None
        return error

    def _decode(self, raw: bytes) -> JsonObject:
        try:
            return msgspec.json.decode(raw, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise errors.NotAnIndex(f"{self.url} does not answer as the service of this package does") from error


def _reason(error: BaseException) -> str:
    """Return the innermost reason of an error, in which libraries wrap each other's."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
