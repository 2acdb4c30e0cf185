"""The connection to a Redis server: its address, scripts sent to it, many in one round trip, and its errors."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from simhash_hbase import errors

DEFAULT_PORT = 6379
MOST_PORT = 65_535
_FORM = "wanted redis://[user:password@]host[:port][/database], or rediss:// for TLS"


@dataclass(frozen=True, kw_only=True)
class RedisOptions:
    """The address of an index in Redis, and the time-outs of its store."""

    host: str  # A name or an address.
    port: int = DEFAULT_PORT  # The port of the server.
    database: int = 0  # Number of the database; it takes one index.
    user: str | None = None  # Name of an ACL user; None: the server's default user.
    password: str | None = field(default=None, repr=False)  # Sent when a connection is made; never shown.
    tls: bool = False  # Encrypt, and check the server's certificate with the authorities that the system trusts.
    connect_timeout_s: float = 3.0  # Seconds for a connection to the server.
    timeout_s: float = 20.0  # Seconds without an answer until a call fails.
    idle_check_s: int = 30
    """Seconds after which an unused connection is tried before it is used, and replaced when it is gone."""

    def __post_init__(self) -> None:
        if not self.host:
            raise errors.InvalidArgument(f"the address names no host: {_FORM}")
        if not 1 <= self.port <= MOST_PORT:
            raise errors.InvalidArgument(f"port is {self.port}: wanted 1 to {MOST_PORT:,}")
        if self.database < 0:
            raise errors.InvalidArgument(f"database is {self.database}: wanted at least 0")
        for name in ("connect_timeout_s", "timeout_s", "idle_check_s"):
            if getattr(self, name) <= 0:
                raise errors.InvalidArgument(f"{name} is {getattr(self, name)}: wanted more than 0")

    @property
    def url(self) -> str:
        """The address without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'rediss' if self.tls else 'redis'}://{host}:{self.port}/{self.database}"


def parse_url(url: str) -> RedisOptions:
    """Return the options that the address of an index in Redis gives, such as host, database and password.

    Examples
    --------
    >>> parse_url("redis://reader:p%40ss@cache.example/2").url
    'redis://cache.example:6379/2'
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # The text of the error may hold the password, where that has a "/" or "[" which is not percent-encoded.
        raise errors.InvalidArgument(f"the Redis address cannot be read: {_FORM}") from None
    if parts.scheme not in ("redis", "rediss"):
        raise errors.InvalidArgument(f"addresses of Redis start with redis: or rediss: {_FORM}")
    if parts.query or parts.fragment:
        raise errors.InvalidArgument(f"an address of Redis ends with the database, without ? and #: {_FORM}")
    database = parts.path.removeprefix("/") or "0"
    # More digits than any server has databases are no number of one, and int() of very many is refused.
    if not (database.isascii() and database.isdigit() and len(database) <= len(str(MOST_PORT)) + 4):
        raise errors.InvalidArgument(f"a Redis address has the number of a database after the host: {_FORM}")
    return RedisOptions(
        host=parts.hostname or "",
        port=DEFAULT_PORT if port is None else port,
        database=int(database),
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        tls=parts.scheme == "rediss",
    )


Argument = bytes | str | int
# Scripts sent before their answers are read: enough to hide the round trip, few enough to bound memory.
PIPELINED = 8


class RedisConnection:
    """A pool of connections to one database; threads may share it, and after a fork the child makes its own.

    A broken connection is replaced, and its scripts are sent once more, so a script may run twice unless it is run with
    `once`. A call without an answer in time is not repeated.
    """

    def __init__(self, options: RedisOptions) -> None:
        self.url = options.url
        self._clients = [_client(options, repeats) for repeats in (1, 0)]

    def ask(self, *command: Argument) -> Any:  # noqa: ANN401
        """Send one command of Redis and return its answer, as the client library decodes it."""
        with redis_errors(self.url):
            return self._open().execute_command(*command)  # type: ignore[no-untyped-call]

    def run(self, script: str, calls: Iterable[Sequence[Argument]], *, once: bool = False) -> Iterator[Any]:
        """Run a Lua script with each list of arguments in turn, and yield its answers.

        With `once`, nothing is sent again when a connection breaks.
        """
        waiting = iter(calls)
        while window := list(islice(waiting, PIPELINED)):
            with redis_errors(self.url):
                with self._open(once=once).pipeline(transaction=False) as pipeline:
                    for arguments in window:
                        pipeline.execute_command("EVAL", script, 0, *arguments)  # type: ignore[no-untyped-call]
                    answers: list[Any] = pipeline.execute(raise_on_error=False)
                for answer in answers:
                    if isinstance(answer, Exception):
                        raise answer
            yield from answers

    def close(self) -> None:
        """Close all connections to the server; a second call does nothing."""
        clients, self._clients = self._clients, []
        for client in clients:
            client.close()

    def _open(self, *, once: bool = False) -> redis.Redis:
        if not self._clients:
            raise errors.IndexClosed(f"{self.url}: this index was closed")
        return self._clients[once]


def _client(options: RedisOptions, repeats: int) -> redis.Redis:
    """Return a Redis client that sends the commands of a broken connection again `repeats` times."""
    return redis.Redis(
        host=options.host,
        port=options.port,
        db=options.database,
        username=options.user,
        password=options.password,
        ssl=options.tls,
        socket_connect_timeout=options.connect_timeout_s,
        socket_timeout=options.timeout_s,
        health_check_interval=options.idle_check_s,
        retry=Retry(NoBackoff(), repeats, supported_errors=(redis.exceptions.ConnectionError,)),
        # The older protocol: servers before Redis 6 have no other, and the answers of scripts are the same.
        protocol=2,
    )


# The client's classes, the most particular first: some of those that mean a refusal descend from ConnectionError.
_KINDS: tuple[tuple[type[Exception], type[errors.SimhashError], str], ...] = (
    (redis.exceptions.AuthenticationError, errors.StoreRefused, "the server does not accept the user and password"),
    (redis.exceptions.AuthenticationWrongNumberOfArgsError, errors.StoreRefused, "the server is too old for users"),
    (redis.exceptions.AuthorizationError, errors.StoreRefused, "the user has no permission for this"),
    (redis.exceptions.NoPermissionError, errors.StoreRefused, "the user has no permission for this"),
    (redis.exceptions.BusyLoadingError, errors.StoreUnavailable, "the server is still loading its data"),
    (redis.exceptions.MaxConnectionsError, errors.StoreUnavailable, "the server takes no more connections"),
    (redis.exceptions.TimeoutError, errors.StoreTimeout, "no answer in time"),
    (redis.exceptions.OutOfMemoryError, errors.StoreFull, "the server has reached its maxmemory"),
    (redis.exceptions.ReadOnlyError, errors.StoreReadonly, "the server is a replica, which cannot be written to"),
    (redis.exceptions.InvalidResponse, errors.StoreRefused, "the answer is not of the protocol of Redis"),
    (redis.exceptions.ConnectionError, errors.StoreUnavailable, "the server cannot be reached"),
    (redis.RedisError, errors.StoreRefused, "the server refuses"),
)
# Errors that differ only by their text; a script adds words of its own around it.
_TEXTS: tuple[tuple[str, type[errors.SimhashError], str], ...] = (
    ("DB index is out of range", errors.InvalidArgument, "the server has no database of this number"),
    ("Invalid Database", errors.InvalidArgument, "the server has no database of this number"),
    ("WRONGTYPE", errors.NotAnIndex, "keys of an index hold something else: another program wrote to the database"),
    ("OOM ", errors.StoreFull, "the server has reached its maxmemory"),
    ("NOAUTH", errors.StoreRefused, "the server wants a password"),
    ("NOPERM", errors.StoreRefused, "the user has no permission for this"),
    ("executing the script can't", errors.StoreRefused, "the user has no permission for this"),
    ("ACL failure", errors.StoreRefused, "the user has no permission for this"),
    ("READONLY", errors.StoreReadonly, "the server is a replica, which cannot be written to"),
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
def redis_errors(url: str) -> Iterator[None]:
    """Raise errors of this package, inside the block, in place of those of the Redis client."""
    try:
        yield
    except redis.RedisError as error:
        meanings = [(kind, sentence) for text, kind, sentence in _TEXTS if text in str(error)]
        meanings += [(kind, sentence) for theirs, kind, sentence in _KINDS if isinstance(error, theirs)]
        kind, sentence = meanings[0]
        # The server adds the place in a script.
        text = str(error).split(" script: ")[0][:_MOST_TEXT]
        raise kind(f"{url}: {sentence} ({text})") from error
