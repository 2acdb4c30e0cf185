"""A ticket of Kerberos for a gateway, shown to it by SASL as thriftpy2's transport does that."""

from typing import Any, TypeAlias

from thriftpy2.transport import TTransportException
from thriftpy2.transport.sasl.cysasl import TCySaslClientTransport

from simhash_hbase.errors import StoreRefused, StoreUnavailable, missing_extra
from simhash_hbase.stores.hbase.options import Gateway

try:
    import gssapi
except ImportError:
    gssapi = None

# The layers of SASL (RFC 4752): authentication alone, with a checksum for each message, encrypted.
PLAIN, SIGNED, ENCRYPTED = 1, 2, 4
MECHANISM = "GSSAPI"
LENGTH_BYTES = 4
# The classes of gssapi are made at run time or have no types.
Transport: TypeAlias = Any


class _Client:
    """A client of SASL for thriftpy2; each method returns whether it worked, and bytes."""

    def __init__(self, service: str, host: str) -> None:
        flags = gssapi.RequirementFlag
        self._context = gssapi.SecurityContext(
            name=gssapi.Name(f"{service}@{host}", gssapi.NameType.hostbased_service),
            usage="initiate",
            flags=[flags.mutual_authentication, flags.integrity, flags.confidentiality],
        )
        self._layer = PLAIN

    def start(self, mechanism: str) -> tuple[bool, str, bytes | None]:
        """Return the first token."""
        return True, mechanism, self._context.step()

    def step(self, token: bytes) -> tuple[bool, bytes | None]:
        """Answer a token; the last one offers layers, of which the strongest is chosen."""
        if not self._context.complete:
            return True, self._context.step(token)
        offered = self._context.unwrap(token).message
        self._layer = next(layer for layer in (ENCRYPTED, SIGNED, PLAIN) if offered[0] & layer)
        most = bytes(3) if self._layer == PLAIN else offered[1:LENGTH_BYTES]
        return True, self._context.wrap(bytes([self._layer]) + most, False).message

    def encode(self, data: bytes) -> tuple[bool, bytes]:
        """Sign or encrypt bytes to send, as agreed."""
        if self._layer == PLAIN:
            return True, data
        sealed = self._context.wrap(data, self._layer == ENCRYPTED).message
        return True, len(sealed).to_bytes(LENGTH_BYTES) + sealed

    def decode(self, data: bytes) -> tuple[bool, bytes]:
        """Check and decrypt received bytes."""
        return True, self._context.unwrap(data[LENGTH_BYTES:]).message


def authenticated(channel: Transport, gateway: Gateway, service: str) -> Transport:
    """Show the ticket; return the transport for all later calls."""
    if gssapi is None:
        raise missing_extra("kerberos= needs gssapi", "kerberos")
    transport = TCySaslClientTransport(lambda: _Client(service, gateway.host), MECHANISM, channel)
    try:
        transport.open()
    except gssapi.exceptions.GSSError as error:
        message = " ".join(str(error).split())
        if isinstance(error, gssapi.exceptions.MissingCredentialsError | gssapi.exceptions.ExpiredCredentialsError):
            raise StoreRefused(
                f"{gateway}: there is no valid ticket of Kerberos ({message}): kinit gets one, or KRB5_CLIENT_KTNAME "
                "names a keytab"
            ) from error
        raise StoreUnavailable(f"{gateway}: Kerberos for {service}/{gateway.host} failed: {message}") from error
    except TTransportException as error:
        raise StoreRefused(f"{gateway} refuses the ticket of Kerberos: {error.message}") from error
    return transport
