"""The one place where errors of the Redis client and of a Redis server become errors of this package."""

from collections.abc import Iterator
from contextlib import contextmanager

import redis

from simhash_hbase import errors
from simhash_hbase.errors import SimhashError

# The client's classes, the most particular first: some of those that mean a refusal descend from ConnectionError.
_KINDS: tuple[tuple[type[Exception], type[SimhashError], str], ...] = (
    (redis.exceptions.AuthenticationError, errors.StoreRefused, "the server does not accept the user and password"),
    (redis.exceptions.AuthenticationWrongNumberOfArgsError, errors.StoreRefused, "the server is too old for users"),
    (redis.exceptions.AuthorizationError, errors.StoreRefused, "the user has no permission for this"),
    (redis.exceptions.NoPermissionError, errors.StoreRefused, "the user has no permission for this"),
    (redis.exceptions.BusyLoadingError, errors.StoreUnavailable, "the server is still loading its data"),
    (redis.exceptions.MaxConnectionsError, errors.StoreUnavailable, "the server takes no more connections"),
    (redis.exceptions.TimeoutError, errors.StoreTimeout, "no answer in time"),
    (redis.exceptions.OutOfMemoryError, errors.StoreFull, "the server has reached its maxmemory"),
    (redis.exceptions.ReadOnlyError, errors.StoreRefused, "the server is a replica, which cannot be written to"),
    (redis.exceptions.InvalidResponse, errors.StoreRefused, "the answer is not of the protocol of Redis"),
)
# Errors that differ only by their text; a script adds words of its own around it.
_TEXTS: tuple[tuple[str, type[SimhashError], str], ...] = (
    ("DB index is out of range", errors.InvalidArgument, "the server has no database of this number"),
    ("Invalid Database", errors.InvalidArgument, "the server has no database of this number"),
    ("WRONGTYPE", errors.NotAnIndex, "keys of an index hold something else: another program wrote to the database"),
    ("OOM ", errors.StoreFull, "the server has reached its maxmemory"),
    ("NOAUTH", errors.StoreRefused, "the server wants a password"),
    ("NOPERM", errors.StoreRefused, "the user has no permission for this"),
    ("executing the script can't", errors.StoreRefused, "the user has no permission for this"),
    ("ACL failure", errors.StoreRefused, "the user has no permission for this"),
    ("READONLY", errors.StoreRefused, "the server is a replica, which cannot be written to"),
    ("MISCONF", errors.StoreFull, "the server cannot save to its disk, so it takes no writes"),
    ("CERTIFICATE_VERIFY_FAILED", errors.StoreRefused, "the server's certificate is not trusted"),
    ("BUSY ", errors.StoreBusy, "the server is busy with a script"),
    ("max number of clients", errors.StoreUnavailable, "the server takes no more connections"),
    ("cluster mode", errors.Unsupported, "Redis Cluster is not supported, one server is"),
    ("CROSSSLOT", errors.Unsupported, "Redis Cluster is not supported, one server is"),
    ("non local key", errors.Unsupported, "Redis Cluster is not supported, one server is"),
    ("unknown command", errors.StoreRefused, "the server lacks a command: it may be older than Redis 5"),
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
        return errors.StoreUnavailable, "the server cannot be reached"
    return errors.StoreRefused, "the server refuses"


def _clean(error: redis.RedisError) -> str:
    """Remove the place in a script, which the server adds."""
    return str(error).split(" script: ")[0][:_MOST_TEXT]
