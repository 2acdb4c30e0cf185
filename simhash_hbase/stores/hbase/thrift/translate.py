"""Errors of sockets, of thriftpy2 and of HBase itself, as errors of this package."""

import re
import time
from types import TracebackType

from thriftpy2.thrift import TApplicationException, TException

from simhash_hbase import errors
from simhash_hbase.errors import SimhashError
from simhash_hbase.stores.hbase.options import Gateway
from simhash_hbase.stores.hbase.thrift.http import OK, HttpRefusal
from simhash_hbase.stores.hbase.thrift.wire import UnreadableAnswer

# HBase sends Java exceptions as text: a part of the text, the error it becomes, and the sentence for the user.
_KNOWN: tuple[tuple[str, type[SimhashError], str], ...] = (
    ("TableNotFoundException", errors.IndexMissing, "there is no table {table}: simhash-hbase create makes one"),
    ("NamespaceNotFoundException", errors.StoreRefused, "table {table} has no namespace yet: create that first"),
    ("TableNotEnabledException", errors.StoreRefused, "table {table} is disabled: enable it in the HBase shell"),
    ("is disabled", errors.StoreRefused, "table {table} is disabled: enable it in the HBase shell"),
    ("TableExistsException", errors.IndexExists, "there is a table {table} already"),
    ("NoSuchColumnFamilyException", errors.NotAnIndex, "table {table} was made for other data: it lacks a family"),
    ("KeyValue size too large", errors.InvalidArgument, "a cell is larger than the server allows: {text}"),
    ("Read-only mode", errors.StoreRefused, "the gateway was started with --readonly: write through another one"),
    ("TimeoutException", errors.StoreTimeout, "HBase behind the gateway did not answer in time: {text}"),
    ("TimeoutIOException", errors.StoreTimeout, "HBase behind the gateway did not answer in time: {text}"),
)
SERVER_ERROR = 500
_MOST_TEXT = 300
_DENIED = "AccessDeniedException"
# A gateway of Thrift 2 fails in it while a region of a new table has no server.
_PLACES = "getAllRegionLocations"


class AccessDenied(errors.StoreRefused):
    """HBase does not let the user of the gateway do that."""


class HttpRefused(errors.StoreRefused):
    """A gateway in HTTP mode, or a proxy before it, refuses the request itself."""


# Statuses of HTTP, and the sentence for the user; the others say only their number.
_STATUSES: dict[int, tuple[type[SimhashError], str]] = {
    401: (HttpRefused, "the user and the access key are not accepted: check the headers that are sent"),
    403: (HttpRefused, "this user may not use the gateway"),
    404: (HttpRefused, "there is no Thrift gateway at this address"),
    405: (HttpRefused, "there is no Thrift gateway at this address, it takes no POST"),
    407: (HttpRefused, "a proxy on the way asks for a login"),
    408: (errors.StoreTimeout, "the request took too long"),
    413: (HttpRefused, "the call is too large for the gateway or a proxy before it"),
    429: (errors.StoreUnavailable, "too many requests"),
    502: (errors.StoreUnavailable, "the proxy does not reach the gateway"),
    503: (errors.StoreUnavailable, "the gateway is not available"),
    504: (errors.StoreTimeout, "the proxy got no answer from the gateway in time"),
}


class translated:  # reads as a statement; a class, since a generator costs microseconds on each call
    """Turn errors inside the block into errors of this package."""

    def __init__(self, what: str, gateway: Gateway, table: str) -> None:
        self._what = what
        self._gateway = gateway
        self._table = table
        self._started = time.monotonic()

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Translate."""
        # None of the package's own errors is one of sockets or Thrift.
        if error is not None and (known := self._translate(error)):
            raise known from error

    def _translate(self, error: BaseException) -> SimhashError | None:
        what = f"{self._what} at {self._gateway}"
        if isinstance(error, TimeoutError):
            return errors.StoreTimeout(f"{what}: no answer within {time.monotonic() - self._started:.1f} s")
        if isinstance(error, (OSError, UnreadableAnswer)):
            return errors.StoreUnavailable(f"{what}: {_short(error)}")
        if isinstance(error, HttpRefusal):
            return _of_status(error, what)
        if isinstance(error, TApplicationException):
            return _refusal(error, what)
        return _from_server(error, what, self._table) if isinstance(error, TException) else None


def after_tries(error: errors.Retryable, tries: int, seconds: float) -> errors.Retryable:
    """Add the number of tries to an error."""
    if tries == 1:
        return error
    return type(error)(f"{error} (tried {tries} times in {seconds:.1f} s)")


def _of_status(error: HttpRefusal, what: str) -> SimhashError:
    status = error.status
    if status == OK:
        return HttpRefused(f"{what}: it answers by HTTP, but not as a Thrift gateway ({error.content_type})")
    if status in range(300, 400):
        return HttpRefused(f"{what}: it sends to another address, which is not followed (HTTP status {status})")
    kind, sentence = _STATUSES.get(status, (errors.StoreUnavailable if status >= SERVER_ERROR else HttpRefused, ""))
    return kind(f"{what}: {sentence} (HTTP status {status})" if sentence else f"{what}: HTTP status {status}")


def _refusal(error: TApplicationException, what: str) -> SimhashError:
    if error.type == TApplicationException.UNKNOWN_METHOD:
        return errors.Unsupported(f"{what}: the gateway does not know this call")
    if error.type == TApplicationException.INTERNAL_ERROR and what.startswith(_PLACES):
        return errors.StoreUnavailable(f"{what}: a region has no server yet")
    return errors.StoreRefused(f"{what}: {_short(error)}")


def _from_server(error: TException, what: str, table: str) -> SimhashError:
    text = _message(error)
    if _names_missing_table(text, table):
        return errors.IndexMissing(f"{what}: there is no table {table}: simhash-hbase create makes one")
    if _DENIED in text:
        return AccessDenied(f"{what}: {_denial(text, table)}")
    for sign, kind, sentence in _KNOWN:
        if sign in text:
            return kind(f"{what}: {sentence.format(table=table, text=_first_line(text))}")
    again = getattr(error, "canRetry", None)
    if again is None:
        # Thrift 1 as happybase describes it has no such flag; the class of the Java exception tells it.
        again = "DoNotRetry" not in text and "IllegalArgument" not in text
    kind = errors.StoreUnavailable if again else errors.StoreRefused
    return kind(f"{what}: {_first_line(text)}")


def _denial(text: str, table: str) -> str:
    """Name the user and the missing permission, as far as HBase does."""
    user = re.search(r"\buser(?:=| ')([^,')]+)", text)
    action = re.search(r"\baction=(\w+)", text)
    if user is None or action is None:
        return f"the user of the gateway may not do that on table {table}: {_first_line(text)}"
    return (
        f"user {user[1]} of the gateway has no permission {action[1]} on table {table}: an administrator of HBase "
        "grants it (R to read, RW to write, C to make a table)"
    )


def _names_missing_table(text: str, table: str) -> bool:
    """Recognise a TableNotFoundException, whose text is only the table's name or a count of failures."""
    name = re.escape(table)
    return re.search(rf"\A\s*{name}\s*\Z|Failed \d+ actions?: {name}: \d+ times?\b", text) is not None


def _message(error: BaseException) -> str:
    # thriftpy2's exceptions with a message of bytes fail when they are printed.
    message = getattr(error, "message", None)
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)


def _short(error: BaseException) -> str:
    if isinstance(error, TException):
        return _first_line(_message(error))
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__


def _first_line(text: str) -> str:
    """Take the first line of a Java exception, without the names of packages."""
    line = next(iter(text.splitlines()), "").strip()
    return re.sub(r"\b(?:[a-z][a-z0-9]*\.)+(?=[A-Z])", "", line)[:_MOST_TEXT]
