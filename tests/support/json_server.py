"""Servers of a test's own that speak a JSON API over HTTP on a free port."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

__all__ = ["JsonHandler", "served"]


class JsonHandler(BaseHTTPRequestHandler):
    """Answers with bytes or JSON, and keeps the connection."""

    protocol_version = "HTTP/1.1"

    def _answer(self, status, content, headers=None):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": len(body)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


@contextmanager
def served(handler):
    """Serve until the end of the block; give the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
