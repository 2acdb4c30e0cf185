"""A web server of a test's own: it breaks connections, changes its file, redirects and refuses."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from support.corpus import near_copies

__all__ = ["RECORDS", "WEB", "web"]

RECORDS = near_copies(40, 3)
WEB = b"".join(json.dumps(record).encode() + b"\n" for record in RECORDS)


class Web(BaseHTTPRequestHandler):
    """Serves `data`, and ends an answer after so many bytes, as networks do."""

    data, ranges, cut, asked = WEB, True, None, ()
    said = ({},)  # Headers: of the first answer with the file, of the second; the last of all further ones.
    grown = None  # After so many answers the file is a byte longer.
    reads = None  # The status of any answer to GET, where it is not that of HEAD.
    compared = True  # Whether it knows If-Range.
    conditions = ()

    def do_HEAD(self):
        self._head(200, len(self.data))

    def do_GET(self):
        wanted = self.headers.get("Range", "")
        type(self).asked += (wanted,)
        type(self).conditions += (self.headers.get("If-Range", ""),)
        said = self.said[min(len(self.asked), len(self.said)) - 1]
        same = not self.compared or self.headers.get("If-Range", said.get("ETag")) == said.get("ETag")
        first, _, last = wanted[6:].partition("-") if self.ranges and same else ("", "", "")
        part = self.data[int(first or 0) :][: int(last) + 1 - int(first) if last else None]
        length = len(self.data) + (self.grown is not None and len(self.asked) > self.grown)
        whole = {"Content-Range": f"bytes {first}-{int(first) + len(part) - 1}/{length}"} if first else {}
        self._head(self.reads or (206 if first else 200), len(part), said | whole)
        if not self.path.startswith("/moved"):
            self.wfile.write(part[: self.cut])
        self.close_connection = True

    def _head(self, code, length, said=None):
        status = self.path.removeprefix("/")[:3]
        if self.path.startswith("/moved"):
            code, length, said = 302, 0, {"Location": "/403.jsonl?X-Amz-Signature=topsecret"}
        self.send_response(404 if self.path.startswith("/none") else int(status) if status.isdigit() else code)
        for name, value in (said or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, *words):
        pass


@contextmanager
def web(*, context=None, **settings):
    """Serve on a free port; give the address and the handler, which knows what was asked."""
    handler = type("Handler", (Web,), settings)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http{'s' if context else ''}://127.0.0.1:{server.server_port}/news.jsonl?key=secret", handler
        server.shutdown()
