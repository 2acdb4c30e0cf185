"""The addresses of a server's two Thrift gateways, and how they are written."""

from collections.abc import Mapping
from dataclasses import dataclass

from provision.errors import ProvisionError

_FORM = "host:port of Thrift 2, thrift1=host:port, or both with a comma between"


@dataclass(frozen=True, kw_only=True)
class Gateways:
    """Where the gateways of one HBase answer.

    Parameters
    ----------
    thrift1, thrift2 : str, optional
        ``host:port``; a cluster may offer only one of the two.

    Raises
    ------
    ProvisionError
        When neither is given, or an address has no port.

    Examples
    --------
    >>> print(Gateways(thrift1="127.0.0.1:9090", thrift2="127.0.0.1:9091"))
    127.0.0.1:9091,thrift1=127.0.0.1:9090
    """

    thrift1: str | None = None
    thrift2: str | None = None

    def __post_init__(self) -> None:
        addresses = [address for address in (self.thrift1, self.thrift2) if address is not None]
        if not addresses:
            raise ProvisionError(f"no gateway is given: expected {_FORM}.")
        for address in addresses:
            split_address(address)

    def __str__(self) -> str:
        first = [] if self.thrift2 is None else [self.thrift2]
        return ",".join(first + ([] if self.thrift1 is None else [f"thrift1={self.thrift1}"]))


def on_loopback(ports: Mapping[str, int]) -> Gateways:
    """Name the gateways of a server on this machine.

    Parameters
    ----------
    ports : Mapping[str, int]
        ``thrift1`` and ``thrift2``, among others.

    Returns
    -------
    Gateways
        Both.
    """
    return Gateways(thrift1=f"127.0.0.1:{ports['thrift1']}", thrift2=f"127.0.0.1:{ports['thrift2']}")


def split_address(address: str) -> tuple[str, int]:
    """Split ``host:port``.

    Parameters
    ----------
    address : str
        An IPv6 host stands in brackets.

    Returns
    -------
    tuple[str, int]
        Host without brackets, and port.

    Raises
    ------
    ProvisionError
        When it is not of that form.

    Examples
    --------
    >>> split_address("[::1]:9091")
    ('::1', 9091)
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ProvisionError(f"{address!r} is no gateway address: expected {_FORM}.")
    return host.strip("[]"), int(port)


def parse_gateways(text: str) -> Gateways:
    """Read the addresses of an existing cluster.

    Parameters
    ----------
    text : str
        ``host:port`` of Thrift 2, ``thrift1=host:port``, or both with a comma between.

    Returns
    -------
    Gateways
        The addresses.

    Raises
    ------
    ProvisionError
        When the text is not of that form.

    Examples
    --------
    >>> parse_gateways("db:9091,thrift1=db:9090").thrift1
    'db:9090'
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, address = part.strip().rpartition("=")
        name = name if equals else "thrift2"
        if name not in ("thrift1", "thrift2") or name in found:
            raise ProvisionError(f"{text!r} is no gateway address: expected {_FORM}.")
        found[name] = address
    return Gateways(**found)
