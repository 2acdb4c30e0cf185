"""A server that says the same bytes to everybody, and then nothing more."""

import socket
import threading
from contextlib import closing, suppress

from simhash_hbase.stores.hbase import Gateway

RECEIVED_BYTES = 1 << 16


class Talker:
    """Listens at ``gateway`` and says ``data``; one for a process."""

    def __init__(self) -> None:
        self.data = b""
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.gateway = Gateway("127.0.0.1", self._listener.getsockname()[1])
        threading.Thread(target=self._talk, daemon=True).start()

    def _talk(self) -> None:
        while True:
            accepted, _ = self._listener.accept()
            # A client that has heard enough leaves in the middle.
            with closing(accepted), suppress(OSError):
                accepted.sendall(self.data)
                accepted.shutdown(socket.SHUT_WR)
                while accepted.recv(RECEIVED_BYTES):
                    pass
