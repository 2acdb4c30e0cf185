"""A small HTTP server that answers calls of Thrift as a test says."""

import struct
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer_to(call):
    """Return a message that answers any call with ``success = 2``, and the name of the call."""
    size = struct.unpack(">i", call[4:8])[0]
    name, number = call[8 : 8 + size], call[8 + size : 12 + size]
    success = b"\x02\x00\x00\x01" if name.startswith(b"is") else b"\x08\x00\x00\x00\x00\x00\x02"
    return struct.pack(">Ii", 0x80010002, size) + name + number + success + b"\x00", name.decode()


class HttpServer(ThreadingHTTPServer):
    """Its `answer` makes a status, headers and a body from the number of a request and a good answer."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = lambda number, good: (200, {}, good)
        self.connections = 0
        self.requests = []

    @property
    def address(self):
        return f"127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Keep silent: clients hang up on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.server.connections += 1
        super().setup()

    def do_POST(self):
        message = self.rfile.read(int(self.headers["Content-Length"]))
        if not message:
            self.send_error(500)
            return
        good, name = answer_to(message)
        self.server.requests.append((name, dict(self.headers)))
        status, headers, body = self.server.answer(len(self.server.requests), good)
        self.send_response(status)
        for field, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(field, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Write no log."""


@contextmanager
def http_server():
    """Run a server."""
    with HttpServer() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
