"""Servers that a test starts: a free port, when something listens there, and how it ends."""

import socket
import subprocess
import time
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from support.patience import END_S


def free_port():
    """Return a port of this machine that nothing listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def wait_for_port(port, started, log):
    """Wait until a process that was started accepts connections; its log says why it does not."""
    end = time.monotonic() + END_S
    while started.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text()[-2000:])


@contextmanager
def listening(words, port, log, **options):
    """Run a program until the end of the block, which begins when it accepts connections; its output is in a log."""
    with log.open("wb") as output, subprocess.Popen(words, stdout=output, stderr=output, **options) as started:
        try:
            wait_for_port(port, started, log)
            yield started
        finally:
            started.terminate()


@contextmanager
def served(handler, context=None):
    """Serve by HTTP until the end of the block; give the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http{'s' if context else ''}://127.0.0.1:{server.server_port}"
        server.shutdown()


class Silent(BaseHTTPRequestHandler):
    """Writes no log."""

    def log_message(self, *words):
        pass


class Files(Silent, SimpleHTTPRequestHandler):
    """Serves a folder."""


def folder_served(folder):
    return served(partial(Files, directory=folder))
