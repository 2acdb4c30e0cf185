"""A region server of a test: it speaks HBase's RPC on a real socket, and answers as a test says."""

import socket
import threading
from contextlib import closing, contextmanager, suppress
from typing import NamedTuple

from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.hbase import Gateway, HBaseOptions
from simhash_hbase.stores.hbase.protobuf import Message, bytes_field, number_field, read_varint, varint
from simhash_hbase.stores.hbase.rpc.cells import PUT, pack_cells

PREAMBLE_BYTES = 6


class Request(NamedTuple):
    number: int
    method: str
    parameter: Message
    cells: bytes
    header: Message


def response(number, message=b"", cells=b""):
    """Return the frame of an answer."""
    header = number_field(1, number) + (bytes_field(3, number_field(1, len(cells))) if cells else b"")
    return frame(_delimited(header) + _delimited(message) + cells)


def failure(number, java_class, trace="", *, final=False):
    """Return the frame of an answer with an exception of Java."""
    thrown = bytes_field(1, java_class.encode()) + bytes_field(2, trace.encode()) + number_field(5, final)
    return frame(_delimited(number_field(1, number) + bytes_field(2, thrown)))


def frame(body):
    return len(body).to_bytes(4) + body


def _delimited(message):
    return varint(len(message)) + message


class Connection:
    """One accepted connection, behind its greeting."""

    def __init__(self, accepted):
        self._socket = accepted
        self._stream = accepted.makefile("rb")
        self._opened = b""
        self.seal = None

    def greet(self, login=None):
        self.greeting = self._stream.read(PREAMBLE_BYTES)
        if login is not None:
            self.seal = login(self)
        self.header = Message(self.frame())

    def __iter__(self):
        while body := self.frame():
            size, at = read_varint(body, 0)
            header = Message(body[at : at + size])
            size, at = read_varint(body, at + size)
            assert header.number(4) == 1
            assert len(body) - at - size == header.message(5).number(1)
            yield Request(header.number(1), header.text(3), Message(body[at : at + size]), body[at + size :], header)

    def send(self, data):
        self._socket.sendall(data if self.seal is None else frame(self.seal.wrap(data)))

    def close(self):
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._stream.close()
        self._socket.close()

    def frame(self):
        """Return the next frame, b"" where the client has left before its end."""
        size = int.from_bytes(self._read(4))
        body = self._read(size)
        return body if len(body) == size else b""

    def _read(self, size):
        if self.seal is None:
            return self._stream.read(size)
        while len(self._opened) < size:
            packet = self._stream.read(int.from_bytes(self._stream.read(4)))
            if not packet:
                break
            self._opened += self.seal.unwrap(packet)
        taken, self._opened = self._opened[:size], self._opened[size:]
        return taken


@contextmanager
def serving(handle, *, tls=None, login=None, **options):
    """Give each connection to `handle`, in a thread of its own; give the options to reach the server.

    `tls` is the context of a server that speaks TLS. `login` is what a server with SASL does behind the preamble: it
    takes the connection, and returns what seals the rest, or None.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    accepted = []

    def talk(connected):
        with suppress(OSError, ValueError, StopIteration):
            if tls is not None:
                connected = tls.wrap_socket(connected, server_side=True)
            with closing(Connection(connected)) as connection:
                connection.greet(login)
                handle(connection)

    def accept():
        with suppress(OSError):
            while True:
                accepted.append(listener.accept()[0])
                threading.Thread(target=talk, args=accepted[-1:], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    patience = {"timeout_s": 5.0, "deadline_s": 5.0, **options}
    try:
        yield HBaseOptions(
            gateways=(Gateway("127.0.0.1", listener.getsockname()[1]),), table="t", rpc=True, user="me", **patience
        )
    finally:
        for end in (listener, *accepted):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Cluster:
    """One server with all regions of table ``t``; a test answers the calls of them by `answer`.

    `answer` takes a request and returns the frame of the answer, or None for no answer; `calls` are the requests of
    the table's regions so far.
    """

    def __init__(self, answer, ends=(b"",)):
        self.answer = answer
        self.ends = list(ends)
        self.calls = []
        self.maps = 0
        self.port = 0

    @contextmanager
    def up(self, **options):
        with serving(self._handle, **options) as found:
            self.port = found.gateways[0].port
            yield found

    def _handle(self, connection):
        for request in connection:
            answer = self._system(request)
            if answer is None:
                self.calls.append(request)
                answer = self.answer(request)
            if answer == b"":
                return
            if answer is not None:
                connection.send(answer)

    def _system(self, request):
        region = request.parameter.message(1)
        if request.method == "GetMetaRegionLocations":
            server = bytes_field(1, b"127.0.0.1") + number_field(2, self.port)
            return response(request.number, bytes_field(1, bytes_field(2, server)))
        if request.method == "Multi" and region.message(1).content(2) == b"hbase:meta,,1":
            cell = pack_cells("table", [Cell(b"t", b"state", number_field(1, 0), 1)], PUT)
            result = bytes_field(1, number_field(1, 0) + bytes_field(2, number_field(2, 1)))
            return response(request.number, bytes_field(1, result), cell)
        if request.method == "Scan" and region.content(2) == b"hbase:meta,,1":
            self.maps += 1
            cells = []
            for start, end in zip([b"", *self.ends[:-1]], self.ends, strict=True):
                name = bytes_field(1, b"default") + bytes_field(2, b"t")
                info = number_field(1, 1) + bytes_field(2, name) + bytes_field(3, start) + bytes_field(4, end)
                row = b"t," + start + b",1.x."
                cells += [
                    Cell(row, b"regioninfo", b"PBUF" + info, 1),
                    Cell(row, b"server", b"127.0.0.1:%d" % self.port, 1),
                ]
            counts = number_field(1, 2) * len(self.ends)
            return response(request.number, counts + number_field(8, 0), pack_cells("info", cells, PUT))
        return None
