"""A client below HTTP's manners: it sends and reads when the test says so."""

import select
import socket
import threading
from contextlib import AbstractContextManager, suppress

from support.patience import END_S


class Duplex(AbstractContextManager):
    """One request on a connection of its own, its body in chunks of any size.

    Small buffers of the socket let what is not read soon stop who sends it.
    """

    def __init__(self, server, path, *, media="application/x-ndjson", buffers=None):
        self._socket = socket.socket()
        if buffers is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffers)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffers)
        self._socket.connect(("127.0.0.1", server.port))
        self._read = self._socket.makefile("rb")
        self._socket.sendall(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.keys['all']}\r\n"
            f"Content-Type: {media}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )

    def send(self, data):
        self._socket.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def send_plain(self, data):
        """Send what is no piece of the body."""
        self._socket.sendall(data)

    def finish(self):
        self._socket.sendall(b"0\r\n\r\n")

    def flood(self, piece, pieces):
        """Send pieces and read nothing, until the other side leaves; yield the number of pieces taken after each.

        No time tells whether it only reads slowly: one that has stopped reading is waited for until it leaves.
        """
        self._socket.settimeout(END_S)
        with suppress(TimeoutError, ConnectionError):
            for number in range(1, pieces + 1):
                self.send(piece)
                yield number
        self._socket.settimeout(None)

    def status(self):
        """Read the header of the answer, and return its status."""
        status = int(self._read.readline().split()[1])
        while self._read.readline().strip():
            pass
        return status

    def lines(self):
        """Read the lines of the answer as they come, to its end or that of the connection."""
        part = b""
        while size := int(self._read.readline().strip() or b"0", 16):
            *whole, part = (part + self._read.read(size)).split(b"\n")
            self._read.readline()
            yield from whole

    def rest(self):
        return self._read.read()

    def wait_until_ended(self, end_s):
        """Wait for the other side's end of the connection, reading nothing; tell whether it came."""
        waiting = select.poll()
        waiting.register(self._socket, select.POLLRDHUP)
        return bool(waiting.poll(end_s * 1000))

    def start(self, produce):
        """Send what a function yields, in a thread, until it ends or the server does."""
        thread = threading.Thread(target=self._send_all, args=(produce,), daemon=True)
        thread.start()
        return thread

    def __exit__(self, *failure):
        self._read.close()
        self._socket.close()

    def _send_all(self, produce):
        try:
            for piece in produce:
                self.send(piece)
            self.finish()
        except OSError:
            # The server has ended the stream; what it says last is in the answer.
            return
