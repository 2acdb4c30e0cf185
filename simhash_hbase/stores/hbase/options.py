"""The address of an HBase and the options of its store."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from simhash_hbase.errors import InvalidArgument

DEFAULT_PORT = 9090
PROTOCOLS = ("binary", "compact")
TRANSPORTS = ("buffered", "framed")
# HBase's own rules for names (TableName.isLegalFullyQualifiedTableName and isLegalNamespaceName).
_TABLE = re.compile(r"(?:[A-Za-z0-9_]+:)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SERVICE = re.compile(r"[A-Za-z0-9_.-]+")
_FORM = "wanted hbase://host:port[,host:port…]/[namespace:]table[?version=1|2&transport=framed|buffered&protocol=binary|compact&tls=1&kerberos=SERVICE]"


class Gateway(NamedTuple):
    """One Thrift server of HBase."""

    host: str  # A name or an address.
    port: int  # Its port.

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class HBaseOptions:
    """The place of an index in HBase, and the patience of its store."""

    gateways: tuple[Gateway, ...]
    """Thrift servers of one cluster; they share the calls, and a failed one is tried again after some seconds."""
    table: str  # ``table`` or ``namespace:table``.
    version: int | None = None  # Thrift interface 1 or 2; None: the gateway is asked.
    transport: str = "buffered"  # ``buffered`` or ``framed``, as the gateway was started.
    protocol: str = "binary"
    """``binary`` or ``compact``, as the gateway was started; compact is about eight times slower here."""
    tls: bool = False  # Whether TLS is in front of the gateways; certificates must be those of the hosts named here.
    kerberos: str = ""  # The service in the gateways' principal SERVICE/HOST, such as hbase; empty: no authentication.
    connect_timeout_s: float = 3.0  # Seconds for a connection to a gateway and its first answer.
    timeout_s: float = 20.0
    """Seconds until a call must be answered; then its connection is closed, and later calls ask for half as much."""
    deadline_s: float = 60.0
    """Seconds for which safe calls are retried while none succeeds. Each answer starts them again, up to ten times as
    long in total since the first failure of a batch."""
    max_connections: int = 32  # Connections at a time; a gateway keeps a thread for each, 1,000 by default.
    idle_s: float = 45.0  # Seconds after which an unused connection is replaced; gateways close them after 60.

    def __post_init__(self) -> None:
        """Check every field."""
        if not self.gateways:
            raise InvalidArgument("an HBase needs at least one gateway, host:port")
        for gateway in self.gateways:
            if not gateway.host or not 0 < gateway.port < 1 << 16:
                raise InvalidArgument(f"{gateway} is no address of a gateway: wanted host:port")
        if not _TABLE.fullmatch(self.table):
            raise InvalidArgument(
                f"{self.table!r} is no name of a table: wanted [namespace:]table, letters, digits, _ . -"
            )
        _check_choice("version", self.version, (None, 1, 2))
        _check_choice("transport", self.transport, TRANSPORTS)
        _check_choice("protocol", self.protocol, PROTOCOLS)
        if self.kerberos and not _SERVICE.fullmatch(self.kerberos):
            raise InvalidArgument(f"kerberos is {self.kerberos!r}: wanted a service, such as hbase of hbase/HOST@REALM")
        if self.kerberos and self.transport == "framed":
            raise InvalidArgument("kerberos goes with buffered transport: a gateway with SASL has frames of its own")
        for name in ("connect_timeout_s", "timeout_s", "deadline_s", "idle_s"):
            if not getattr(self, name) > 0:
                raise InvalidArgument(f"{name} is {getattr(self, name)}: wanted more than 0")
        if self.max_connections < 1:
            raise InvalidArgument(f"max_connections is {self.max_connections}: wanted at least 1")


def parse_url(url: str) -> HBaseOptions:
    """Read an address as users write it.

    Examples
    --------
    >>> options = parse_url("hbase://one:9091,two/news:simhash?version=2")
    >>> options.gateways[1], options.table, options.version
    (Gateway(host='two', port=9090), 'news:simhash', 2)
    """
    scheme, slashes, rest = url.partition("://")
    if "@" in rest:
        # The address is not shown: the part before the @ may be a password.
        raise InvalidArgument(f"an address of an HBase has no user and no password: {_FORM}")
    if scheme != "hbase" or not slashes or "#" in rest:
        raise InvalidArgument(f"{url!r} is no address of an HBase: {_FORM}")
    address, _, query = rest.partition("?")
    hosts, _, table = address.partition("/")
    return HBaseOptions(
        gateways=tuple(_gateway(url, part) for part in hosts.split(",")), table=table, **_settings(url, query)
    )


def format_url(options: HBaseOptions) -> str:
    """Write an address so that `parse_url` reads the same place from it.

    Examples
    --------
    >>> format_url(parse_url("hbase://one/simhash?transport=framed&protocol=binary"))
    'hbase://one:9090/simhash?transport=framed'
    """
    named = [f"version={options.version}"] if options.version else []
    named += ["transport=framed"] if options.transport == "framed" else []
    named += ["protocol=compact"] if options.protocol == "compact" else []
    named += ["tls=1"] if options.tls else []
    named += [f"kerberos={options.kerberos}"] if options.kerberos else []
    query = "?" + "&".join(named) if named else ""
    return f"hbase://{','.join(map(str, options.gateways))}/{options.table}{query}"


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        known = " or ".join(str(choice) for choice in choices if choice is not None)
        raise InvalidArgument(f"{name} is {value!r}: wanted {known}")


def _gateway(url: str, part: str) -> Gateway:
    host, _, port = part.rpartition(":") if re.search(r":\d*$", part) and not part.endswith("]") else (part, "", "")
    if not host or "@" in host:
        raise InvalidArgument(f"{url!r}: {part!r} is no host:port; {_FORM}")
    if not port and part.endswith(":"):
        raise InvalidArgument(f"{url!r}: {part!r} ends without a port")
    return Gateway(host.removeprefix("[").removesuffix("]"), int(port) if port else DEFAULT_PORT)


def _settings(url: str, query: str) -> Mapping[str, Any]:
    given = parse_qsl(query, keep_blank_values=True)
    settings: dict[str, Any] = {}
    for name, value in given:
        if name not in ("version", "transport", "protocol", "tls", "kerberos"):
            raise InvalidArgument(f"{url!r}: {name!r} is no setting of an address; {_FORM}")
        if name in settings:
            raise InvalidArgument(f"{url!r}: {name} is given twice")
        settings[name] = int(value) if name == "version" and value in ("1", "2") else value
        if name == "tls":
            _check_choice(name, value, ("0", "1"))
            settings[name] = value == "1"
    return settings
