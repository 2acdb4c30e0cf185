"""Real questions to the gateways, without a Thrift library, and the wait until they are answered.

Thrift 1 ``getRow("hbase:meta", "x")`` is answered by the region server, and Thrift 2 ``listNamespaceDescriptors()`` by
the master once it has finished starting: an open port, and even a list of tables, is there earlier.
``docker/hbase/health`` asks the same inside the container.
"""

import os
import socket
import struct
import time
from collections.abc import Callable, Mapping

from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.stores.hbase.launcher.home import HOST

CALL, REPLY = 0x80010001, 0x80010002
LIST_IN_FIELD_0 = b"\x0f\x00\x00"
QUESTIONS = {
    "thrift1": (b"getRow", b"\x0b\x00\x01\x00\x00\x00\x0ahbase:meta\x0b\x00\x02\x00\x00\x00\x01x\x00"),
    "thrift2": (b"listNamespaceDescriptors", b"\x00"),
}
ANSWER_S = 3.0
PAUSE_S = 0.2
START_S = 180.0


def failure(ports: Mapping[str, int]) -> str | None:
    """Ask the gateways among some ports, and return what went wrong first."""
    for name, port in ports.items():
        if (question := QUESTIONS.get(name.partition("-")[0])) is None:
            continue
        try:
            _ask(port, *question)
        except (OSError, ValueError) as error:
            return f"{name} at {HOST}:{port}: {error}"
    return None


def await_answers(
    ports: Mapping[str, int],
    *,
    trouble: Callable[[], str | None],
    log_end: Callable[[], str],
    is_prepared: Callable[[], bool] = lambda: True,
) -> None:
    """Wait until all gateways answer, ``START_TIMEOUT`` seconds at most, or until there is trouble."""
    end = time.monotonic() + float(os.environ.get("START_TIMEOUT", START_S))
    while (missing := failure(ports) if is_prepared() else "it is still starting") is not None:
        if (why := trouble()) is not None:
            raise StoreUnavailable(f"HBase did not start: {why}")
        if time.monotonic() > end:
            raise StoreUnavailable(f"HBase was not ready in time ({missing}):\n{log_end()}")
        time.sleep(PAUSE_S)


def _ask(port: int, method: bytes, arguments: bytes) -> None:
    name = struct.pack(">i", len(method)) + method + bytes(4)
    want = struct.pack(">I", REPLY) + name + LIST_IN_FIELD_0
    got = b""
    with socket.create_connection((HOST, port), timeout=ANSWER_S) as connection:
        connection.sendall(struct.pack(">I", CALL) + name + arguments)
        while len(got) < len(want) and (piece := connection.recv(len(want) - len(got))):
            got += piece
    if got != want:
        raise ValueError(f"{method.decode()} was answered with {got!r}")
