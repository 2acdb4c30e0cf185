"""Sockets to the servers of HBase, by TCP or TLS, and the limit of an answer's size."""

import socket
import ssl

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions

# Most bytes of an answer, and so of each part: a server of HBase sends 100 MB, unless it is set up otherwise.
MOST_BYTES = 256 << 20


class UnreadableAnswer(Exception):
    """The bytes received are no answer to the call that was made."""


class OtherServer(Exception):
    """The server is of another kind than the address says, such as a web server, so no retry helps."""


def too_large(size: int) -> UnreadableAnswer:
    """Return the error for an answer, or a part of one, of `size` bytes, above the limit."""
    return UnreadableAnswer(f"an answer with {size:,} bytes came or was announced, above the limit of {MOST_BYTES:,}")


def connect(gateway: Gateway, options: HBaseOptions, timeout_s: float) -> socket.socket:
    """Return a socket that is connected to a server, by TLS if the address asks for it.

    Certificates are checked with the authorities of the system, or those of a file that the address names.
    """
    context = None
    if options.tls:
        try:
            context = ssl.create_default_context(cafile=options.ca_file or None)
        except OSError as error:
            sentence = f"{options.ca_file}: no certificates of authorities can be read from it: {error}"
            raise InvalidArgument(sentence) from error
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
