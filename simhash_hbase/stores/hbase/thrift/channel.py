"""A socket that buffers its output and observes a deadline."""

import socket
import ssl
import time

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions


def connect(gateway: Gateway, options: HBaseOptions, timeout_s: float) -> socket.socket:
    """Connect to a gateway, by TLS if the address asks for it.

    Certificates are checked with the authorities of the system, or those of a file that the address names.
    """
    context = _tls_context(options.ca_file) if options.tls else None
    connected = socket.create_connection(gateway, timeout=timeout_s)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if context is None:
        return connected
    try:
        return context.wrap_socket(connected, server_hostname=gateway.host)
    except BaseException:
        connected.close()
        raise


def _tls_context(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:
        raise InvalidArgument(f"{ca_file}: no certificates of authorities can be read from it: {error}") from error


class Channel:
    """A socket with a deadline, in the form that thriftpy2's transports read from and write to."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._waiting = bytearray()
        # What came while nothing was to be read: TLS has no way to look at bytes and leave them.
        self._ahead = b""
        self._deadline = 0.0
        self._timeout_s: float | None = None

    def allow(self, timeout_s: float) -> None:
        """Set the deadline; a read that has begun before it may take as long again."""
        self._deadline = time.monotonic() + timeout_s
        if timeout_s != self._timeout_s:
            # Each setting is a system call, which costs as much as sending.
            self._socket.settimeout(timeout_s)
            self._timeout_s = timeout_s

    def begin_answer(self) -> None:
        """Do nothing: an answer begins where the one before ends."""

    def read(self, size: int) -> bytes:
        """Read at least one byte before the deadline, after sending what waits."""
        if self._waiting:
            self.push()
        if time.monotonic() >= self._deadline:
            raise TimeoutError
        found, self._ahead = self._ahead or self._socket.recv(size), b""
        if not found:
            raise ConnectionAbortedError("the connection was closed before the whole answer came")
        return found

    def is_open(self) -> bool:
        """Return true: it begins with a socket that is connected."""
        return True

    def write(self, data: bytes) -> None:
        """Keep bytes until `push`."""
        self._waiting += data

    @property
    def waiting(self) -> int:
        """The number of bytes that `push` will send."""
        return len(self._waiting)

    def flush(self) -> None:
        """Do nothing: thriftpy2 flushes every message, `push` sends many at once."""

    def push(self) -> None:
        """Send the buffered bytes before the deadline."""
        self._socket.sendall(self._waiting)
        self._waiting.clear()

    def is_silent_for(self, seconds: float) -> bool:
        """Wait for at most some seconds; return whether nothing came."""
        self._socket.settimeout(seconds)
        try:
            self._ahead = self._ahead or self._socket.recv(1)
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(self._timeout_s)
        return False

    def is_quiet(self) -> bool:
        """Return whether nothing came: neither unexpected bytes nor the end of the connection."""
        self._socket.setblocking(False)
        self._timeout_s = None
        if self._ahead:
            return False
        try:
            self._ahead = self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
