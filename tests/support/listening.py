"""Ports of servers that a test starts: a free one, and when something listens there."""

import socket
import time

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
