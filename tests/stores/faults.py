"""A loopback TCP proxy between a store and its gateway that does what networks do."""

import random
import socket
import threading
import time
from contextlib import suppress

__all__ = ["FaultyProxy"]

PIECE = 1 << 16


class FaultyProxy:
    """Passes bytes on, and misbehaves when told to.

    What is set holds for the connections that are there and for later ones. `close` ends everything.
    """

    def __init__(self, host, port):
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs = []
        self._lock = threading.Lock()
        self._closed = False
        self.delay_s = 0.0
        self.stalled = False
        # Reply bytes that still pass before the connection that carries them is closed; None: all.
        self.cut_after = None
        # Called with each piece of a reply; True closes its connection instead of passing the piece on.
        self.chaos = None
        self.refusing = False
        self.connections = 0
        self.replies = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self):
        return self._listener.getsockname()[1]

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def kill_connections(self):
        """Close all connections, as a gateway that dies or that finds them idle."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _close(*pair)

    def close(self):
        """Stop listening and close all connections."""
        self._closed = True
        # Closing a listener does not wake a thread that waits in accept.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.kill_connections()

    def _accept(self):
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refusing:
                client.close()
                continue
            self.connections += 1
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            for end in (client, server):
                # Or Nagle's algorithm holds back small pieces until earlier ones are acknowledged, 40 ms later.
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._pairs.append((client, server))
            for source, sink, is_reply in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pass_on, args=(source, sink, is_reply), daemon=True).start()

    def _pass_on(self, source, sink, is_reply):
        with suppress(OSError):
            while piece := source.recv(PIECE):
                if is_reply and not self._let_pass(piece, sink):
                    break
                if not is_reply:
                    sink.sendall(piece)
        _close(source, sink)

    def _let_pass(self, piece, sink):
        """Send a piece of a reply as far as it may go; tell whether the connection goes on."""
        self.replies += 1
        time.sleep(self.delay_s)
        while self.stalled and not self._closed:
            time.sleep(0.005)
        if self.chaos is not None and self.chaos():
            sink.sendall(piece[: len(piece) // 2])
            return False
        if self.cut_after is not None:
            sink.sendall(piece[: self.cut_after])
            self.cut_after = max(0, self.cut_after - len(piece))
            return self.cut_after > 0
        sink.sendall(piece)
        return True


class Chaos:
    """Random faults from a seed: a reply is cut, or held back past the time-out."""

    def __init__(self, seed, *, cut=0.003, hold=0.0005, hold_s=1.0):
        self._random = random.Random(seed)
        self._cut = cut
        self._hold = hold
        self._hold_s = hold_s
        self.faults = 0

    def __call__(self):
        drawn = self._random.random()
        if drawn >= self._cut + self._hold:
            return False
        self.faults += 1
        if drawn < self._cut:
            return True
        time.sleep(self._hold_s)
        return False


def _close(*ends):
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
