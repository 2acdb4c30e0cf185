"""The SASL handshake that begins a connection to a server of HBase with Kerberos (HBaseSaslRpcClient.java)."""

import socket
import time

from simhash_hbase.errors import StoreRefused, StoreUnavailable
from simhash_hbase.stores.hbase.kerberos import PLAIN, KerberosClient
from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions
from simhash_hbase.stores.hbase.rpc.errors import NotDone, ServerException
from simhash_hbase.stores.hbase.sockets import OtherServer, UnreadableAnswer

LENGTH_BYTES = 4
SUCCESS, ERROR = 0, 1  # SaslStatus.java
# The length of a token by which a server without Kerberos asks for calls without any authentication (SaslUtil.java).
SWITCH_TO_SIMPLE = -88
_MOST_BYTES = 1 << 20
_HTTP = int.from_bytes(b"HTTP")


def authenticate(connected: socket.socket, server: Gateway, options: HBaseOptions) -> KerberosClient | None:
    """Show a Kerberos ticket to a server; return the client that signs or encrypts all that follows, None for neither.

    Raises `StoreRefused` where the server or Kerberos refuses, `OtherServer` for a server that authenticates nobody,
    and `NotDone` where Kerberos fails otherwise.
    """
    handshake = _Handshake(connected, server, time.monotonic() + options.connect_timeout_s)
    try:
        client = KerberosClient(options.kerberos, server)
        handshake.send(client.first_token())
        while not client.is_complete:
            handshake.send(client.step(handshake.receive()))
    except StoreUnavailable as error:
        raise NotDone(str(error)) from error
    finally:
        connected.settimeout(options.connect_timeout_s)
    return None if client.layer == PLAIN else client


class _Handshake:
    """The exchange of SASL's tokens with a server.

    Each comes after its length, and the server's after a status, too.
    """

    def __init__(self, connected: socket.socket, server: Gateway, deadline: float) -> None:
        self._socket = connected
        self._server = server
        self._deadline = deadline

    def send(self, token: bytes) -> None:
        """Send a token of the client to the server; it may be empty."""
        self._socket.sendall(len(token).to_bytes(LENGTH_BYTES) + token)

    def receive(self) -> bytes:
        """Return the next token of the server; raise `StoreRefused` if it refuses the ticket."""
        status = self._number()
        if status == ERROR:
            java_class, message = (self._bytes().decode("utf-8", "replace") for _ in range(2))
            refusal = ServerException(java_class, message)
            raise StoreRefused(f"{self._server} refuses the ticket of Kerberos: {refusal.line}")
        if status == _HTTP:
            raise OtherServer("the server speaks HTTP, which is not HBase's own RPC")
        if status != SUCCESS:
            raise UnreadableAnswer(f"a status {status} of SASL came, which nobody knows")
        return self._bytes()

    def _bytes(self) -> bytes:
        size = self._number()
        if size == SWITCH_TO_SIMPLE:
            raise OtherServer("the server authenticates nobody, so the address must not ask for kerberos=")
        if not 0 <= size <= _MOST_BYTES:
            raise UnreadableAnswer(f"a token of SASL with {size:,} bytes was announced")
        return self._read(size)

    def _number(self) -> int:
        return int.from_bytes(self._read(LENGTH_BYTES), signed=True)

    def _read(self, size: int) -> bytes:
        """Return exactly `size` bytes from the socket; raise `TimeoutError` at the deadline."""
        read = bytearray()
        while len(read) < size:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            if not (part := self._socket.recv(size - len(read))):
                raise ConnectionAbortedError("the server closed the connection")
            read += part
        return bytes(read)
