"""The socket of the service, opened before its libraries are imported."""

import ipaddress
import socket

from simhash_hbase.errors import InvalidArgument

QUEUED = 1024  # Connections that the system keeps until they are accepted.


def _is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int, *, has_keys: bool) -> socket.socket:
    """Open the socket; without keys it must not be reachable from outside."""
    if not has_keys and not _is_loopback(host):
        raise InvalidArgument(f"without keys the service is for this machine alone: --host 127.0.0.1, not {host}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        created = socket.create_server((host, port), family=family, backlog=QUEUED)
    except OSError as error:
        raise InvalidArgument(f"cannot listen on {host}:{port}: {error.strerror}") from error
    # Opened by its number a socket knows its protocol, and so do those that it accepts. Else asyncio leaves Nagle's
    # algorithm on, and the end of an answer waits 40 ms until the client has acknowledged the beginning.
    return socket.socket(fileno=created.detach())
