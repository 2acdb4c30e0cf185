"""Clients that each wait for an answer before they ask again, all in one process that costs little."""

import json
import re
import selectors
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter

from simhash_hbase.errors import SimhashError

__all__ = ["Load", "ask_for", "request_of"]

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
RECEIVED_BYTES = 256 << 10


@dataclass(frozen=True, kw_only=True)
class Load:
    """What some clients got in some seconds."""

    seconds: float
    ascending: list[float]
    """How long each answer took."""

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.ascending) / self.seconds


class _Client:
    """One connection, which is kept."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answer = b""
        self.asked = 0.0

    def ask(self, request: bytes) -> None:
        self.asked = perf_counter()
        self.socket.sendall(request)

    def is_answered(self) -> bool:
        """Read what has arrived; tell whether the answer is whole."""
        self._answer += self.socket.recv(RECEIVED_BYTES)
        head, end, body = self._answer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not self._answer or (end and (length is None or b" 200 " not in head[:16])):
            raise SimhashError(f"the service answered {self._answer[:300]!r}")
        if not end or length is None or len(body) < int(length.group(1)):
            return False
        self._answer = b""
        return True


def ask_for(seconds: float, port: int, clients: int, requests: Iterator[bytes]) -> Load:
    """Let clients ask for so long; each sends the next request when it has its answer."""
    taken = []
    with ExitStack() as opened, selectors.DefaultSelector() as selector:
        started = perf_counter()
        for _ in range(clients):
            client = _Client(port)
            opened.enter_context(client.socket)
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.ask(next(requests))
        waiting = clients
        while waiting:
            for key, _ in selector.select():
                client = key.data
                if not client.is_answered():
                    continue
                now = perf_counter()
                taken.append(now - client.asked)
                if now - started < seconds:
                    client.ask(next(requests))
                else:
                    waiting -= 1
        took = perf_counter() - started
    return Load(seconds=took, ascending=sorted(taken))


def request_of(path: str, record: dict[str, str]) -> bytes:
    """Write a request with a JSON body."""
    body = json.dumps(record, ensure_ascii=False).encode()
    head = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "\r\n"]).encode() + body
