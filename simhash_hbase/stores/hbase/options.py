"""The address of an HBase and the options of its store."""

import getpass
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.files.local import read_setting

DEFAULT_PORT = 9090
RPC_PORT = 16020
"""The port of a region server (``hbase.regionserver.port``); a master has 16000."""
PROTOCOLS = ("binary", "compact")
TRANSPORTS = ("buffered", "framed")
# HBase's own rules for names (TableName.isLegalFullyQualifiedTableName and isLegalNamespaceName).
_TABLE = re.compile(r"(?:[A-Za-z0-9_]+:)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SERVICE = re.compile(r"[A-Za-z0-9_.-]+")
SCHEMES = ("hbase", "hbase+http", "hbase+https", "hbase+rpc", "hbase+rpcs")
RPC_SCHEMES = ("hbase+rpc", "hbase+rpcs")
"""Schemes of addresses that name masters and region servers, not gateways."""
_SETTINGS = {
    "hbase": ("version", "transport", "protocol", "tls", "kerberos", "ca"),
    "hbase+http": ("version", "access"),
    "hbase+https": ("version", "access", "ca"),
    "hbase+rpc": ("kerberos",),
    "hbase+rpcs": ("ca", "kerberos"),
}
_FORMS = {
    "hbase": "wanted hbase://host:port[,host:port…]/[namespace:]table[?version=1|2&transport=framed|buffered&protocol=binary|compact&tls=1&ca=FILE&kerberos=SERVICE]",
    "hbase+http": "wanted hbase+http://host:port[,host:port…]/[namespace:]table[?version=1|2&access=alibaba]",
    "hbase+https": "wanted hbase+https://host:port[,host:port…]/[namespace:]table[?version=1|2&access=alibaba&ca=FILE]",
    "hbase+rpc": "wanted hbase+rpc://host:port[,host:port…]/[namespace:]table[?kerberos=SERVICE]",
    "hbase+rpcs": "wanted hbase+rpcs://host:port[,host:port…]/[namespace:]table[?ca=FILE&kerberos=SERVICE]",
}
ACCESS_HEADERS = {"alibaba": ("ACCESSKEYID", "ACCESSSIGNATURE")}
"""The names of the headers in which a cloud's HBase wants user and access key, by the cloud's name in an address."""
USER = "SIMHASH_HBASE_ACCESS_USER"
KEY = "SIMHASH_HBASE_ACCESS_KEY"
HEADERS = "SIMHASH_HBASE_HTTP_HEADERS"
HADOOP_USER = "HADOOP_USER_NAME"
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?")
_OWN_HEADERS = {"host", "content-type", "content-length", "transfer-encoding", "connection", "expect", "upgrade"}


class Gateway(NamedTuple):
    """Host and port of one server of HBase: a Thrift gateway, or for HBase's own RPC a master or a region server."""

    host: str  # A name or an address.
    port: int  # The port of the server.

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class HBaseOptions:
    """The address of an index in HBase, and the time-outs and connections of its store."""

    gateways: tuple[Gateway, ...]
    """Thrift servers of one cluster; they share the calls, and a failed one is tried again after some seconds. For
    HBase's own RPC any servers of the cluster, which are asked for the others."""
    table: str  # ``table`` or ``namespace:table``.
    version: int | None = None  # Thrift interface 1 or 2; None: the gateway is asked.
    transport: str = "buffered"  # ``buffered`` or ``framed``, as the gateway was started.
    protocol: str = "binary"
    """``binary`` or ``compact``, as the gateway was started; compact is about eight times slower here."""
    tls: bool = False  # Whether the servers speak TLS, with certificates of the hosts that are named here.
    http: bool = False  # Whether the gateways are in HTTP mode, `hbase.regionserver.thrift.http`.
    rpc: bool = False  # Whether the servers are masters and region servers, which are called without a gateway.
    user: str = ""  # The caller's name where nobody is authenticated.
    access: str = ""  # A name of `ACCESS_HEADERS` whose headers `parse_url` fills in; empty: none.
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Names and values of further headers of each request by HTTP; never shown, since they may be secrets."""
    ca_file: str = ""  # Certificates of authorities that are trusted instead of the system's.
    kerberos: str = ""  # The service in the servers' principal SERVICE/HOST, such as hbase; empty: no authentication.
    connect_timeout_s: float = 3.0  # Seconds for a connection to a gateway and its first answer.
    timeout_s: float = 20.0
    """Seconds until a call must be answered; then its connection is closed, and later calls ask for half as much."""
    deadline_s: float = 60.0
    """Seconds for which safe calls are retried while none succeeds. Each answer starts them again, up to ten times as
    long in total since the first failure of a batch."""
    max_connections: int = 32  # Connections at a time; a gateway keeps a thread for each, 1,000 by default.
    idle_s: float = 45.0  # Seconds after which an unused connection is replaced; gateways close them after 60.

    def __post_init__(self) -> None:
        if not self.gateways:
            raise InvalidArgument("an HBase needs at least one gateway, host:port")
        for gateway in self.gateways:
            if not gateway.host or not 0 < gateway.port < 1 << 16:
                raise InvalidArgument(f"{gateway} is no address of a gateway: wanted host:port")
        if not _TABLE.fullmatch(self.table):
            raise InvalidArgument(
                f"{self.table!r} is no name of a table: wanted [namespace:]table, letters, digits, _ . -"
            )
        _check_transport(self)
        for name in ("connect_timeout_s", "timeout_s", "deadline_s", "idle_s"):
            if not getattr(self, name) > 0:
                raise InvalidArgument(f"{name} is {getattr(self, name)}: wanted more than 0")
        if self.max_connections < 1:
            raise InvalidArgument(f"max_connections is {self.max_connections}: wanted at least 1")


def parse_url(url: str, variables: Mapping[str, str] | None = None) -> HBaseOptions:
    """Return the options that the address of an index in HBase gives, such as servers and table.

    Parameters
    ----------
    url : str
        ``hbase://``, ``hbase+http://``, ``hbase+https://``, ``hbase+rpc://`` or ``hbase+rpcs://``.
    variables : mapping, optional
        Where user, access key and headers for gateways in HTTP mode are looked up, such as ``os.environ``:
        ``SIMHASH_HBASE_ACCESS_USER``, ``SIMHASH_HBASE_ACCESS_KEY`` and ``SIMHASH_HBASE_HTTP_HEADERS``, lines of
        ``NAME: VALUE``; with ``_FILE`` behind its name each names a file instead. ``HADOOP_USER_NAME`` is who calls
        the servers of ``hbase+rpc://``; without it, the user of this process.

    Examples
    --------
    >>> options = parse_url("hbase://one:9091,two/news:simhash?version=2")
    >>> options.gateways[1], options.table, options.version
    (Gateway(host='two', port=9090), 'news:simhash', 2)
    """
    scheme, slashes, rest = url.partition("://")
    form = _FORMS.get(scheme, _FORMS["hbase"])
    if "@" in rest:
        # The address is not shown: the part before the @ may be a password.
        raise InvalidArgument(f"an address of an HBase has no user and no password: {form}")
    if scheme not in SCHEMES or not slashes or "#" in rest:
        raise InvalidArgument(f"{url!r} is no address of an HBase: {form}")
    address, _, query = rest.partition("?")
    hosts, _, table = address.partition("/")
    gateways = []
    for part in hosts.split(","):
        host, _, port = part.rpartition(":") if re.search(r":\d*$", part) and not part.endswith("]") else (part, "", "")
        if not host or "@" in host:
            raise InvalidArgument(f"{url!r}: {part!r} is no host:port; {form}")
        if not port and part.endswith(":"):
            raise InvalidArgument(f"{url!r}: {part!r} ends without a port")
        default = RPC_PORT if scheme in RPC_SCHEMES else DEFAULT_PORT
        gateways.append(Gateway(host.removeprefix("[").removesuffix("]"), int(port) if port else default))
    settings = _settings(url.partition("?")[0], scheme, query)
    if scheme in RPC_SCHEMES:
        user = (variables or {}).get(HADOOP_USER) or _own_name()
        # Meta has the tables of this namespace without its name.
        table = table.removeprefix("default:")
        settings = {"rpc": True, "tls": scheme == "hbase+rpcs", "user": user, **settings}
    elif scheme != "hbase":
        headers = _headers(settings.get("access", ""), variables or {})
        settings = {"http": True, "tls": scheme == "hbase+https", "headers": headers, **settings}
    return HBaseOptions(gateways=tuple(gateways), table=table, **settings)


def format_url(options: HBaseOptions) -> str:
    """Return the address of an HBase from its options, which `parse_url` reads back; it holds no HTTP header.

    Examples
    --------
    >>> format_url(parse_url("hbase://one/simhash?transport=framed&protocol=binary"))
    'hbase://one:9090/simhash?transport=framed'
    """
    scheme = "hbase+rpc" if options.rpc else "hbase+http" if options.http else "hbase"
    if scheme != "hbase" and options.tls:
        scheme += "s"
    named = [f"version={options.version}"] if options.version else []
    named += ["transport=framed"] if options.transport == "framed" else []
    named += ["protocol=compact"] if options.protocol == "compact" else []
    named += ["tls=1"] if options.tls and scheme == "hbase" else []
    named += [f"access={options.access}"] if options.access else []
    named += [f"ca={quote(options.ca_file)}"] if options.ca_file else []
    named += [f"kerberos={options.kerberos}"] if options.kerberos else []
    query = "?" + "&".join(named) if named else ""
    return f"{scheme}://{','.join(map(str, options.gateways))}/{options.table}{query}"


def _own_name() -> str:
    """Return the name of the user of this process; a number where the system has no name for it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _headers(access: str, variables: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the HTTP headers for a cloud's user and access key, and those that a variable lists.

    No error shows a value of them, since they may be secrets.
    """
    headers = []
    if names := ACCESS_HEADERS.get(access):
        for name, variable in zip(names, (USER, KEY), strict=True):
            value = read_setting(variable, variables)
            if not value:
                raise InvalidArgument(f"access={access} needs {variable}, or {variable}_FILE with the name of a file")
            headers.append((name, value))
    for number, line in enumerate(read_setting(HEADERS, variables).splitlines(), 1):
        name, colon, value = line.partition(":")
        if line.strip() and not colon:
            raise InvalidArgument(f"{HEADERS}, line {number}: wanted NAME: VALUE")
        headers += [(name.strip(), value.strip())] if colon else []
    return tuple(headers)


def _check_transport(options: HBaseOptions) -> None:
    """Raise `InvalidArgument` for options that cannot be combined."""
    _check_choice("version", options.version, (None, 1, 2))
    _check_choice("transport", options.transport, TRANSPORTS)
    _check_choice("protocol", options.protocol, PROTOCOLS)
    if options.kerberos and not _SERVICE.fullmatch(options.kerberos):
        raise InvalidArgument(f"kerberos is {options.kerberos!r}: wanted a service, such as hbase of hbase/HOST@REALM")
    if options.kerberos and options.transport == "framed":
        raise InvalidArgument("kerberos goes with buffered transport: a gateway with SASL has frames of its own")
    if options.ca_file and not options.tls:
        raise InvalidArgument("a file of authorities is for TLS: tls=1, hbase+https:// or hbase+rpcs://")
    if not options.http and (options.headers or options.access):
        raise InvalidArgument("headers and access are for gateways in HTTP mode: hbase+http:// or hbase+https://")
    if options.rpc and (options.version, options.transport, options.protocol, options.http) != (
        None,
        "buffered",
        "binary",
        False,
    ):
        raise InvalidArgument("version, transport, protocol and HTTP are for Thrift gateways, not for hbase+rpc://")
    if options.http:
        if (options.transport, options.protocol, options.kerberos) != ("buffered", "binary", ""):
            raise InvalidArgument("transport, protocol and kerberos are not for gateways in HTTP mode")
        _check_choice("access", options.access, ("", *ACCESS_HEADERS))
        _check_headers(options.headers)


def _check_headers(headers: tuple[tuple[str, str], ...]) -> None:
    names = set()
    for number, (name, value) in enumerate(headers, 1):
        # A line without a colon in its place may be a secret: only good names are shown.
        if not _HEADER_NAME.fullmatch(name):
            raise InvalidArgument(f"header {number} has no name of an HTTP header")
        if not _HEADER_VALUE.fullmatch(value):
            raise InvalidArgument(f"header {name} is empty, or has a character that no header may have")
        if name.lower() in _OWN_HEADERS or name.lower() in names:
            raise InvalidArgument(f"header {name} cannot be set" + (" twice" if name.lower() in names else ""))
        names.add(name.lower())


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        known = " or ".join(str(choice) for choice in choices if choice not in (None, ""))
        raise InvalidArgument(f"{name} is {value!r}: wanted {known}")


def _settings(url: str, scheme: str, query: str) -> Mapping[str, Any]:
    given = parse_qsl(query, keep_blank_values=True)
    settings: dict[str, Any] = {}
    for name, value in given:
        if name not in _SETTINGS[scheme]:
            raise InvalidArgument(f"{url!r}: {name!r} is no setting of an address; {_FORMS[scheme]}")
        field_name = "ca_file" if name == "ca" else name
        if field_name in settings:
            raise InvalidArgument(f"{url!r}: {name} is given twice")
        if not value and name in ("ca", "kerberos"):
            # As of a variable of the shell that is not set: the connection would be less secure than was meant.
            raise InvalidArgument(f"{url!r}: {name}= has no value")
        settings[field_name] = int(value) if name == "version" and value in ("1", "2") else value
        if name == "tls":
            _check_choice(name, value, ("0", "1"))
            settings[name] = value == "1"
    return settings
