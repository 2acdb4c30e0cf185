"""A proxy that does what networks do, before a gateway of the HBase under test if need be."""

import random
import socket
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

from simhash_hbase.stores.hbase import Gateway
from simhash_hbase.stores.hbase.rpc import connection
from support.hbase_server import address, hbase_options, region_server
from support.patience import END_S

PIECE = 1 << 16
EXECUTION_S = 120.0


class HeldRequest:
    """A request that a gateway has received and executes only when it is let go: the first piece that is meant."""

    def __init__(self, is_meant):
        self._is_meant = is_meant
        self._go = threading.Event()
        self.answered = threading.Event()
        self.ended = threading.Event()  # The gateway has done all that it was sent.
        self.gateway = None

    def holds(self, piece, gateway):
        """Keep the request until it is let go; then it is all that the gateway gets, whoever waits for an answer."""
        if self.gateway is not None or not self._is_meant(piece):
            return False
        self.gateway = gateway
        self._go.wait()
        gateway.sendall(piece)
        # A region server does not begin with a call whose connection is closed.
        self.answered.wait()
        gateway.shutdown(socket.SHUT_WR)
        self.ended.wait()
        return True

    def execute(self):
        assert self.gateway is not None, "there was no such request"
        self._go.set()
        assert self.ended.wait(EXECUTION_S)


class FaultyProxy:
    """Passes bytes on, and misbehaves when told to.

    What is set holds for the connections that are there and for later ones. `close` ends everything.
    """

    def __init__(self, host, port):
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs, self._kills = [], 0
        self._lock = threading.Lock()
        self._closed = False
        self.delay_s, self.stalled, self.refusing = 0.0, False, False
        # Reply bytes that still pass before the connection that carries them is closed; None: all.
        self.cut_after, self._has_cut = None, threading.Event()
        # Called with each piece of a reply; True closes its connection instead of passing the piece on.
        self.chaos = None
        # Bytes of a reply that are passed on; a larger one stays away from there on. None: all.
        self.largest_reply = None
        # A request that a gateway is to stand still over.
        self.held = None
        self.attempts = self.connections = self.replies = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self):
        return self._listener.getsockname()[1]

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def kill_connections(self):
        """Close all connections, those being made too, as a gateway that dies or that finds them idle."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
            self._kills += 1
        for pair in pairs:
            _close(*pair)

    def cut_for(self, seconds, *, passing=3):
        """Cut replies until so long after the first one was cut, however late that is; return a thread to join."""

        def heal():
            self._has_cut.wait(END_S)
            time.sleep(seconds)
            self.cut_after = None

        self._has_cut.clear()
        self.cut_after = passing
        healing = threading.Thread(target=heal, daemon=True)
        healing.start()
        return healing

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
            self.attempts += 1
            kills = self._kills
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
                killed = self._kills != kills
                if not killed:
                    self._pairs.append((client, server))
            if killed:
                _close(client, server)
                continue
            size = SimpleNamespace(reply=0)
            for source, sink, is_reply in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pass_on, args=(source, sink, is_reply, size), daemon=True).start()

    def _pass_on(self, source, sink, is_reply, size):
        with suppress(OSError):
            while piece := source.recv(PIECE):
                if not is_reply:
                    size.reply = 0
                    if self.held is None or not self.held.holds(piece, sink):
                        sink.sendall(piece)
                    continue
                size.reply += len(piece)
                while self.largest_reply is not None and size.reply > self.largest_reply and not self._closed:
                    time.sleep(0.005)
                if not self._let_pass(piece, source, sink):
                    break
        if self._is_held(source):
            self.held.ended.set()
        _close(source, sink)

    def _is_held(self, gateway):
        return self.held is not None and self.held.gateway is gateway

    def _let_pass(self, piece, source, sink):
        """Send a piece of a reply as far as it may go; tell whether the connection goes on."""
        self.replies += 1
        if self._is_held(source):
            # Nobody waits for it any more.
            self.held.answered.set()
            return True
        time.sleep(self.delay_s)
        while self.stalled and not self._closed:
            time.sleep(0.005)
        if self.chaos is not None and self.chaos():
            sink.sendall(piece[: len(piece) // 2])
            return False
        if self.cut_after is not None:
            sink.sendall(piece[: self.cut_after])
            self.cut_after = max(0, self.cut_after - len(piece))
            if self.cut_after == 0:
                self._has_cut.set()
            return self.cut_after > 0
        sink.sendall(piece)
        return True


class Chaos:
    """Random faults from a seed: a reply is cut, or held back past the time-out."""

    def __init__(self, seed, *, cut=0.003, hold=0.0005, hold_s=1.0):
        self._random, self.faults = random.Random(seed), 0
        self._cut, self._hold, self._hold_s = cut, hold, hold_s

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


def proxy_to(version):
    host, _, port = (region_server() if version == "rpc" else address(version)).rpartition(":")
    return FaultyProxy(host, int(port))


def lead_through(proxy, monkeypatch):
    """Let all connections to the region server go through a proxy before it, whatever names ``hbase:meta`` has."""
    connect, port = connection.connect, int(region_server().rpartition(":")[2])

    def through(server, options, timeout_s):
        return connect(Gateway("127.0.0.1", proxy.port) if server.port == port else server, options, timeout_s)

    monkeypatch.setattr(connection, "connect", through)


def proxied_options(version, table, /, *proxies, **options):
    gateways = tuple(Gateway("127.0.0.1", proxy.port) for proxy in proxies)
    return hbase_options(version, table, gateways=gateways, **options)
