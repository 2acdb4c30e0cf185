"""A ticket of Kerberos for a server of HBase, shown to it by SASL's mechanism GSSAPI (RFC 4752)."""

from collections.abc import Iterator
from contextlib import contextmanager

from simhash_hbase.errors import StoreRefused, StoreUnavailable, missing_extra
from simhash_hbase.stores.hbase.options import Gateway
from simhash_hbase.stores.hbase.sockets import UnreadableAnswer

try:
    import gssapi
except ImportError:
    gssapi = None

MECHANISM = "GSSAPI"
# The layers of SASL: authentication alone (auth), with a checksum for each message (auth-int), encrypted (auth-conf).
PLAIN, SIGNED, ENCRYPTED = 1, 2, 4
_SIZE_BYTES = 3
# The largest message that a server without a limit gets: RFC 4752 has three bytes for the size.
_MOST_BYTES = (1 << 8 * _SIZE_BYTES) - 1


class KerberosClient:
    """The client's side of a Kerberos handshake with one server; raises `MissingExtra` without gssapi.

    Without a valid ticket it raises `StoreRefused`, and for other errors of Kerberos `StoreUnavailable`.
    """

    def __init__(self, service: str, server: Gateway) -> None:
        if gssapi is None:
            raise missing_extra("kerberos= needs gssapi", "kerberos")
        self._service, self._server = service, server
        flags = gssapi.RequirementFlag
        with self._ticket_errors():
            self._context = gssapi.SecurityContext(
                name=gssapi.Name(f"{service}@{server.host}", gssapi.NameType.hostbased_service),
                usage="initiate",
                flags=[flags.mutual_authentication, flags.integrity, flags.confidentiality],
            )
        self.layer = PLAIN
        self.is_complete = False
        """Whether a layer was agreed on, after which nothing more comes from the server."""
        self.most_bytes = 0
        """The most bytes that `wrap` takes."""

    def first_token(self) -> bytes:
        """Return the token with which the client begins the handshake."""
        with self._ticket_errors():
            return self._context.step() or b""

    def step(self, token: bytes) -> bytes:
        """Return the answer to a token of the server.

        The last token offers security layers, none, signing or encryption; the strongest one is chosen.
        """
        with self._ticket_errors():
            if not self._context.complete:
                return self._context.step(token) or b""
            offered = self._context.unwrap(token).message
            layers = [layer for layer in (ENCRYPTED, SIGNED, PLAIN) if offered[:1] and offered[0] & layer]
            if len(offered) != 1 + _SIZE_BYTES or not layers:
                raise UnreadableAnswer("the server offers no layer of SASL")
            self.layer = layers[0]
            size = bytes(_SIZE_BYTES) if self.layer == PLAIN else offered[1:]
            if self.layer != PLAIN:
                most = int.from_bytes(size) or _MOST_BYTES
                self.most_bytes = self._context.get_wrap_size_limit(most, self.layer == ENCRYPTED)
            answer: bytes = self._context.wrap(bytes([self.layer]) + size, False).message
            self.is_complete = True
            return answer

    def wrap(self, data: bytes) -> bytes:
        """Return bytes signed or encrypted, as the handshake agreed."""
        sealed: bytes = self._context.wrap(data, self.layer == ENCRYPTED).message
        return sealed

    def unwrap(self, data: bytes) -> bytes:
        """Return received bytes, checked and decrypted.

        Raises `UnreadableAnswer` for changed bytes, or for ones that are not encrypted although that was agreed.
        """
        try:
            opened = self._context.unwrap(data)
        except gssapi.exceptions.GSSError as error:
            raise UnreadableAnswer(f"a message of SASL was changed or is damaged: {_line(error)}") from error
        if self.layer == ENCRYPTED and not opened.encrypted:
            raise UnreadableAnswer("a message of SASL came that is not encrypted")
        message: bytes = opened.message
        return message

    @contextmanager
    def _ticket_errors(self) -> Iterator[None]:
        """Raise `StoreRefused` inside the block for lack of a valid ticket.

        Other errors of Kerberos become `StoreUnavailable`.
        """
        try:
            yield
        except gssapi.exceptions.GSSError as error:
            wrong = gssapi.exceptions.MissingCredentialsError | gssapi.exceptions.ExpiredCredentialsError
            if isinstance(error, wrong):
                raise StoreRefused(
                    f"{self._server}: there is no valid ticket of Kerberos ({_line(error)}): kinit gets one, or "
                    "KRB5_CLIENT_KTNAME names a keytab"
                ) from error
            raise StoreUnavailable(
                f"{self._server}: Kerberos for {self._service}/{self._server.host} failed: {_line(error)}"
            ) from error


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
