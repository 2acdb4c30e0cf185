"""Exceptions of HBase's servers as errors of this package, by which a caller repeats a call or gives up."""

import re
import socket
from typing import NamedTuple

from simhash_hbase import errors
from simhash_hbase.stores.hbase.driver import AccessDenied
from simhash_hbase.stores.hbase.options import Gateway
from simhash_hbase.stores.hbase.sockets import OtherServer, UnreadableAnswer

# A server throws these before it does anything, so that every call may be repeated after them, most of them at another
# server (ClientExceptionsUtil.java; RSRpcServices.java; SimpleRpcScheduler.java).
_NOT_DONE = frozenset(
    {
        "NotServingRegionException",
        "RegionMovedException",
        "RegionOpeningException",
        "RegionOfflineException",
        "WrongRegionException",
        "RegionTooBusyException",
        "CallQueueTooBigException",
        "CallDroppedException",
        "RpcThrottlingException",
        "PleaseHoldException",
        "ServerNotRunningYetException",
        "MasterNotRunningException",
        "MasterStoppedException",
        "RegionServerStoppedException",
        "RegionServerAbortedException",
        # The server has closed the scanner: a scan begins again.
        "LeaseException",
        "OutOfOrderScannerNextException",
        "ScannerResetException",
        "UnknownScannerException",
    }
)
_TIMEOUTS = frozenset({"CallTimeoutException", "TimeoutIOException", "SocketTimeoutException"})
UNFINISHED = frozenset({"MultiActionResultTooLarge", "RetryImmediatelyException"})
"""Exceptions of actions that the server left out, since the answer was large enough without them."""
_MOST_TEXT = 300


class NotDone(errors.StoreUnavailable):
    """A server did not begin with a call, or never received it, so that any call may be repeated safely."""


class NotSent(ConnectionAbortedError):
    """A connection was closed before a byte of a call was sent on it, so that the call may be repeated."""


class ServerException(NamedTuple):
    """A Java exception that a server has answered with."""

    java_class: str  # With its package.
    trace: str  # Message and stack.
    final: bool = False  # Whether the server says not to repeat the call.

    @property
    def name(self) -> str:
        """The name of the Java exception class, without its package and outer class."""
        return re.split(r"[.$]", self.java_class)[-1]

    @property
    def line(self) -> str:
        """The first line of the exception's message, for users: without the names of Java packages."""
        line = next(iter(self.trace.splitlines()), "").strip() or self.java_class
        return re.sub(r"\b(?:[a-z][a-z0-9]*\.)+(?=[A-Z])", "", line)[:_MOST_TEXT]


# The error that an exception becomes, and the sentence for the user; the others say the first line of the exception.
_KNOWN: dict[str, tuple[type[errors.SimhashError], str]] = {
    **dict.fromkeys(_NOT_DONE, (NotDone, "{line}")),
    **dict.fromkeys(_TIMEOUTS, (errors.StoreTimeout, "the server did not answer in time: {line}")),
    "TableNotFoundException": (errors.IndexMissing, "there is no table {table}"),
    "AccessDeniedException": (AccessDenied, "HBase refuses it to this user: {line}"),
    "NoSuchColumnFamilyException": (errors.NotAnIndex, "table {table} was made for other data: it lacks a family"),
    "NamespaceNotFoundException": (errors.StoreRefused, "table {table} has no namespace yet: create that first"),
    "TableNotEnabledException": (errors.StoreRefused, "table {table} is disabled: enable it in the HBase shell"),
    "TableExistsException": (errors.IndexExists, "there is a table {table} already"),
}
_TOO_LARGE = "KeyValue size too large"


def of_exception(exception: ServerException, what: str, table: str) -> errors.SimhashError:
    """Return this package's error for a Java exception that a server answered with; `what` names call and server."""
    line = exception.line
    is_final = exception.final or "DoNotRetry" in exception.java_class
    kind, sentence = _KNOWN.get(
        exception.name, (errors.StoreRefused if is_final else errors.StoreUnavailable, "{line}")
    )
    if _TOO_LARGE in exception.trace:
        kind, sentence = errors.InvalidArgument, "a cell is larger than the server allows: {line}"
    return kind(f"{what}: {sentence.format(line=line, table=table)}")


class connection_errors:  # reads as a statement; a class, since a generator costs microseconds on each call
    """Turn errors of a connection inside the block into errors of this package, with the call and server in them."""

    def __init__(self, what: str, server: Gateway, timeout_s: float, *, begun: bool = True) -> None:
        self._what = f"{what} at {server}"
        self._timeout_s = timeout_s
        self._begun = begun  # Whether the server may have received a call.

    def __enter__(self) -> None:
        """Do nothing: errors are replaced at the end of the block."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise an error of this package in place of an error of the connection."""
        if isinstance(error, OtherServer):
            raise errors.StoreRefused(f"{self._what}: {error}") from error
        if isinstance(error, UnicodeError):
            raise errors.StoreRefused(f"{self._what}: this is no name of a host") from error
        if not isinstance(error, (OSError, UnreadableAnswer)):
            return
        is_begun = self._begun and not isinstance(error, NotSent)
        unavailable = errors.StoreUnavailable if is_begun else NotDone
        if isinstance(error, TimeoutError):
            known = errors.StoreTimeout if self._begun else NotDone
            raise known(f"{self._what}: no answer within {self._timeout_s:g} s") from error
        short = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
        if isinstance(error, socket.gaierror):
            short += "; the names of all region servers must be known here"
        elif isinstance(error, ConnectionRefusedError):
            short += "; is the server up?"
        raise unavailable(f"{self._what}: {short or type(error).__name__}") from error
