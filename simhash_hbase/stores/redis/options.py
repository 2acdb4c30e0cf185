"""The address of a Redis database and the options of its store."""

from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from simhash_hbase.errors import InvalidArgument

DEFAULT_PORT = 6379
MOST_PORT = 65_535
_FORM = "wanted redis://[user:password@]host[:port][/database], or rediss:// for TLS"


@dataclass(frozen=True, kw_only=True)
class RedisOptions:
    """The place of an index in Redis, and the patience of its store."""

    host: str  # A name or an address.
    port: int = DEFAULT_PORT  # Its port.
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
            raise InvalidArgument(f"the address names no host: {_FORM}")
        if not 1 <= self.port <= MOST_PORT:
            raise InvalidArgument(f"port is {self.port}: wanted 1 to {MOST_PORT:,}")
        if self.database < 0:
            raise InvalidArgument(f"database is {self.database}: wanted at least 0")
        for name in ("connect_timeout_s", "timeout_s", "idle_check_s"):
            if getattr(self, name) <= 0:
                raise InvalidArgument(f"{name} is {getattr(self, name)}: wanted more than 0")

    @property
    def url(self) -> str:
        """The address without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'rediss' if self.tls else 'redis'}://{host}:{self.port}/{self.database}"


def parse_url(url: str) -> RedisOptions:
    """Read an address.

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
        raise InvalidArgument(f"the Redis address cannot be read: {_FORM}") from None
    if parts.scheme not in ("redis", "rediss"):
        raise InvalidArgument(f"addresses of Redis start with redis: or rediss: {_FORM}")
    if parts.query or parts.fragment:
        raise InvalidArgument(f"an address of Redis ends with the database, without ? and #: {_FORM}")
    return RedisOptions(
        host=parts.hostname or "",
        port=DEFAULT_PORT if port is None else port,
        database=_database(parts),
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        tls=parts.scheme == "rediss",
    )


def _database(parts: SplitResult) -> int:
    text = parts.path.removeprefix("/")
    if not text:
        return 0
    # More digits than any server has databases are no number of one, and int() of very many is refused.
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST_PORT)) + 4):
        raise InvalidArgument(f"a Redis address has the number of a database after the host: {_FORM}")
    return int(text)
