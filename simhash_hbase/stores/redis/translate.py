"""The one place where errors of the Redis client and of a Redis server become errors of this package."""

from collections.abc import Iterator
from contextlib import contextmanager

import redis

from simhash_hbase.errors import (
    InvalidArgument,
    NotAnIndex,
    SimhashError,
    StoreBusy,
    StoreFull,
    StoreRefused,
    StoreTimeout,
    StoreUnavailable,
    Unsupported,
)

# The client's classes, the most particular first: some of those that mean a refusal descend from ConnectionError.
_KINDS: tuple[tuple[type[Exception], type[SimhashError], str], ...] = (
    (redis.exceptions.AuthenticationError, StoreRefused, "the server does not accept the user and password"),
    (redis.exceptions.AuthenticationWrongNumberOfArgsError, StoreRefused, "the server is too old for user names"),
    (redis.exceptions.AuthorizationError, StoreRefused, "the user may not do that"),
    (redis.exceptions.NoPermissionError, StoreRefused, "the user may not do that"),
    (redis.exceptions.BusyLoadingError, StoreUnavailable, "the server is still loading its data"),
    (redis.exceptions.MaxConnectionsError, StoreUnavailable, "the server takes no more connections"),
    (redis.exceptions.TimeoutError, StoreTimeout, "no answer in time"),
    (redis.exceptions.OutOfMemoryError, StoreFull, "the server has reached its maxmemory"),
    (redis.exceptions.ReadOnlyError, StoreRefused, "the server is a replica, which cannot be written to"),
    (redis.exceptions.InvalidResponse, StoreRefused, "what answers there does not speak the protocol of Redis"),
)
# Errors that the server tells apart only by their text; a script puts its own words around them.
_TEXTS: tuple[tuple[str, type[SimhashError], str], ...] = (
    ("DB index is out of range", InvalidArgument, "the server has no database of this number"),
    ("Invalid Database", InvalidArgument, "the server has no database of this number"),
    ("WRONGTYPE", NotAnIndex, "keys of an index hold something else: the database was written to by others"),
    ("OOM ", StoreFull, "the server has reached its maxmemory"),
    ("NOAUTH", StoreRefused, "the server wants a password"),
    ("NOPERM", StoreRefused, "the user may not do that"),
    ("executing the script can't", StoreRefused, "the user may not do that"),
    ("ACL failure", StoreRefused, "the user may not do that"),
    ("READONLY", StoreRefused, "the server is a replica, which cannot be written to"),
    ("MISCONF", StoreFull, "the server cannot save to its disk, so it takes no writes"),
    ("CERTIFICATE_VERIFY_FAILED", StoreRefused, "the server's certificate is not trusted"),
    ("BUSY ", StoreBusy, "the server is busy with a script"),
    ("max number of clients", StoreUnavailable, "the server takes no more connections"),
    ("cluster mode", Unsupported, "Redis Cluster is not supported, one server is"),
    ("CROSSSLOT", Unsupported, "Redis Cluster is not supported, one server is"),
    ("non local key", Unsupported, "Redis Cluster is not supported, one server is"),
    ("unknown command", StoreRefused, "the server lacks a command, as one older than Redis 5 does"),
)
_MOST_TEXT = 200


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Let no error of the client out."""
    try:
        yield
    except redis.RedisError as error:
        kind, sentence = _meaning(error)
        raise kind(f"{url}: {sentence} ({_clean(error)})") from error


def _meaning(error: redis.RedisError) -> tuple[type[SimhashError], str]:
    for text, kind, sentence in _TEXTS:
        if text in str(error):
            return kind, sentence
    for theirs, kind, sentence in _KINDS:
        if isinstance(error, theirs):
            return kind, sentence
    if isinstance(error, redis.exceptions.ConnectionError):
        return StoreUnavailable, "the server cannot be reached"
    return StoreRefused, "the server refuses"


def _clean(error: redis.RedisError) -> str:
    """Cut what the server adds about a script's place."""
    return str(error).split(" script: ")[0][:_MOST_TEXT]
