"""The Kerberos handshake with a Thrift gateway, by SASL as thriftpy2's transport wants it."""

from typing import Any, TypeAlias

from thriftpy2.transport import TTransportException
from thriftpy2.transport.sasl.cysasl import TCySaslClientTransport

from simhash_hbase.errors import StoreRefused
from simhash_hbase.stores.hbase.kerberos import MECHANISM, PLAIN, KerberosClient
from simhash_hbase.stores.hbase.options import Gateway

LENGTH_BYTES = 4
# The class is made at run time.
Transport: TypeAlias = Any


class _Client:
    """A SASL client in the form that thriftpy2 calls; each method returns whether it worked, and bytes."""

    def __init__(self, client: KerberosClient) -> None:
        self._client = client

    def start(self, mechanism: str) -> tuple[bool, str, bytes]:
        """Return True, the mechanism, and the first token to send."""
        return True, mechanism, self._client.first_token()

    def step(self, token: bytes) -> tuple[bool, bytes]:
        """Return True, and the answer to a token of the server."""
        return True, self._client.step(token)

    def encode(self, data: bytes) -> tuple[bool, bytes]:
        """Return True, and bytes to send, signed or encrypted as the handshake agreed."""
        if self._client.layer == PLAIN:
            return True, data
        sealed = self._client.wrap(data)
        return True, len(sealed).to_bytes(LENGTH_BYTES) + sealed

    def decode(self, data: bytes) -> tuple[bool, bytes]:
        """Return True, and the content of received bytes, checked and decrypted."""
        return True, self._client.unwrap(data[LENGTH_BYTES:])


def authenticated(channel: Transport, gateway: Gateway, service: str) -> Transport:
    """Show a Kerberos ticket to a gateway, and return the transport for all later calls."""
    client = KerberosClient(service, gateway)
    transport = TCySaslClientTransport(lambda: _Client(client), MECHANISM, channel)
    try:
        transport.open()
    except TTransportException as error:
        raise StoreRefused(f"{gateway} refuses the ticket of Kerberos: {error.message}") from error
    return transport
