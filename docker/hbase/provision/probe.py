"""Ask the gateways something real, without a Thrift library.

Thrift 1 ``getRow("hbase:meta", "x")`` is answered by the region server, and Thrift 2
``listNamespaceDescriptors()`` by the master once it has finished starting: an open port, and even
a list of tables, is there earlier. ``docker/hbase/health`` asks the same inside the container.
"""

import socket
import struct

from provision.gateways import Gateways, split_address

_CALL, _REPLY = 0x80010001, 0x80010002
_LIST_IN_FIELD_0 = b"\x0f\x00\x00"
_QUESTIONS = {
    "thrift1": (b"getRow", b"\x0b\x00\x01\x00\x00\x00\x0ahbase:meta\x0b\x00\x02\x00\x00\x00\x01x\x00"),
    "thrift2": (b"listNamespaceDescriptors", b"\x00"),
}


def failure(gateways: Gateways, timeout_s: float = 3.0) -> str | None:
    """Ask each gateway that has an address.

    Parameters
    ----------
    gateways : Gateways
        Where to ask.
    timeout_s : float
        For each connection, and for each read.

    Returns
    -------
    str or None
        What went wrong first; None when every answer was right.
    """
    for name, (method, arguments) in _QUESTIONS.items():
        address = getattr(gateways, name)
        if address is None:
            continue
        try:
            _ask(address, method, arguments, timeout_s)
        except (OSError, ValueError) as error:
            return f"{name} at {address}: {error}"
    return None


def _ask(address: str, method: bytes, arguments: bytes, timeout_s: float) -> None:
    name = struct.pack(">i", len(method)) + method + bytes(4)
    want = struct.pack(">I", _REPLY) + name + _LIST_IN_FIELD_0
    with socket.create_connection(split_address(address), timeout=timeout_s) as connection:
        connection.sendall(struct.pack(">I", _CALL) + name + arguments)
        got = _read(connection, len(want))
    if got != want:
        raise ValueError(f"{method.decode()} was answered with {got!r}")


def _read(connection: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size and (piece := connection.recv(size - len(got))):
        got += piece
    return got
