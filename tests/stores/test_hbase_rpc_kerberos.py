"""HBase's own RPC with Kerberos, by a real KDC: before a server of the test, which has GSSAPI, and a real HBase."""

import time
from contextlib import closing
from dataclasses import replace

import pytest
from support.own_hbase import own_server
from support.patience import END_S
from support.region_server import failure, frame, response, serving

from simhash_hbase import create_index, open_index
from simhash_hbase.errors import StoreRefused
from simhash_hbase.stores.hbase import Gateway, HBaseStore, parse_url
from simhash_hbase.stores.hbase.kerberos import ENCRYPTED, PLAIN, SIGNED
from simhash_hbase.stores.hbase.launcher.home import site_xml
from simhash_hbase.stores.hbase.rpc import sasl
from simhash_hbase.stores.hbase.rpc.connection import RpcConnection
from simhash_hbase.stores.hbase.rpc.errors import NotDone, connection_errors
from simhash_hbase.stores.hbase.rpc.messages import CLIENT, RpcCall
from simhash_hbase.stores.hbase.rpc.servers import Servers
from simhash_hbase.stores.hbase.sockets import UnreadableAnswer

MOST = 1 << 16
BLOCK = bytes(range(256)) * 1_000


def token(data):
    return sasl.SUCCESS.to_bytes(4) + frame(data)


class Acceptor:
    """The server's side of Kerberos: it offers layers, and seals with the one that the client chooses."""

    def __init__(self, realm, layers):
        self._keytab = realm.keytab("hbase/localhost")
        self._layers = layers
        self.packets = []

    def login(self, connection):
        import gssapi  # noqa: PLC0415 - an extra

        credentials = gssapi.Credentials(usage="accept", store={"keytab": str(self._keytab)})
        self.context = gssapi.SecurityContext(usage="accept", creds=credentials)
        while not self.context.complete:
            connection.send(token(self.context.step(connection.frame())))
        assert connection.frame() == b""
        offer = bytes([self._layers]) + MOST.to_bytes(3)
        connection.send(token(self.context.wrap(offer, False).message))
        self.chosen = self.context.unwrap(connection.frame()).message[0]
        self.user = str(self.context.initiator_name)
        return None if self.chosen == PLAIN else self

    def wrap(self, data):
        return self.context.wrap(data, self.chosen == ENCRYPTED).message

    def unwrap(self, packet):
        self.packets.append(packet)
        return self.context.unwrap(packet).message


def echo(connection):
    for request in connection:
        connection.send(response(request.number, request.cells))


def to_localhost(options, **changes):
    return replace(options, gateways=(Gateway("localhost", options.gateways[0].port),), kerberos="hbase", **changes)


def echoed(options, block):
    with closing(RpcConnection(options.gateways[0], CLIENT, options)) as connection:
        [number] = connection.send([RpcCall(options.gateways[0], CLIENT, "Get", b"", block)], END_S)
        return connection.answer(number, time.monotonic() + END_S).message


@pytest.mark.server
@pytest.mark.parametrize(
    ("layers", "chosen"), [(PLAIN | SIGNED | ENCRYPTED, ENCRYPTED), (PLAIN | SIGNED, SIGNED), (PLAIN, PLAIN)]
)
def test_the_strongest_layer_of_a_server_seals_everything_behind_the_handshake(layers, chosen, realm, ticket):
    acceptor, greeted = Acceptor(realm, layers), []

    def noted(connection):
        greeted.append((connection.greeting, connection.header.has(1)))
        echo(connection)

    with serving(noted, login=acceptor.login) as options:
        is_equal = echoed(to_localhost(options), BLOCK) == BLOCK

    assert is_equal
    assert (acceptor.chosen, acceptor.user) == (chosen, "crawler@EXAMPLE.TEST")
    # A name in the header would ask for the rights of another user.
    assert greeted == [(b"HBas\0\x51", False)]
    assert max(map(len, acceptor.packets), default=0) <= MOST
    assert any(BLOCK[:999] in packet for packet in acceptor.packets) is (chosen == SIGNED)


@pytest.mark.server
@pytest.mark.parametrize(
    ("seal", "words"),
    [
        (lambda acceptor, data: acceptor.context.wrap(data, True).message[:-1] + b"\0", "was changed or is damaged"),
        (lambda acceptor, data: acceptor.context.wrap(data, False).message, "is not encrypted"),
        (lambda acceptor, data: data, "was changed or is damaged"),
    ],
)
def test_an_answer_that_was_changed_or_not_encrypted_closes_the_connection(seal, words, realm, ticket):
    acceptor = Acceptor(realm, ENCRYPTED)
    acceptor.wrap = lambda data: seal(acceptor, data)

    with serving(echo, login=acceptor.login) as options, pytest.raises(UnreadableAnswer, match=words):
        echoed(to_localhost(options), b"block")


@pytest.mark.server
def test_a_missing_ticket_and_a_service_that_the_realm_does_not_know_are_named(realm, ticket, monkeypatch):
    acceptor = Acceptor(realm, PLAIN)
    with serving(echo, login=acceptor.login) as options:
        with pytest.raises(NotDone, match="Kerberos for other/localhost failed"):
            echoed(replace(to_localhost(options), kerberos="other"), b"")
        monkeypatch.setenv("KRB5CCNAME", str(realm.folder / "no-tickets"))
        monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(realm.folder / "nothing"))
        with pytest.raises(StoreRefused, match=r"there is no valid ticket of Kerberos .*: kinit gets one"):
            echoed(to_localhost(options), b"")


class Endless:
    """A client whose handshake goes on for as long as the server answers."""

    is_complete = False

    def __init__(self, service, server):
        assert service == "hbase"

    def first_token(self):
        return b"first"

    def step(self, received):
        return received


def number(value):
    return value.to_bytes(4, signed=True)


REFUSALS = {
    "the server authenticates nobody": number(sasl.SUCCESS) + number(sasl.SWITCH_TO_SIMPLE),
    "refuses the ticket of Kerberos: GSS initiate failed": (
        number(sasl.ERROR) + frame(b"javax.security.sasl.SaslException") + frame(b"GSS initiate failed\n\tat x")
    ),
    "the server speaks HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}
UNCLEAR = {
    "a status 7 of SASL": number(7),
    "a token of SASL with -1 bytes": number(sasl.SUCCESS) + number(-1),
    "a token of SASL with 2,000,000,000 bytes": number(sasl.SUCCESS) + number(2_000_000_000),
    "the server closed the connection": token(b"token")[:-1],
}


def answering(answer):
    def login(connection):
        assert connection.frame() == b"first"
        connection.send(answer)
        connection.close()

    return login


@pytest.mark.parametrize("words", REFUSALS)
def test_a_server_that_refuses_kerberos_or_asks_for_less_is_refused(words, monkeypatch):
    monkeypatch.setattr(sasl, "KerberosClient", Endless)

    with (
        serving(echo, login=answering(REFUSALS[words])) as options,
        pytest.raises(StoreRefused, match=words) as refused,
    ):
        Servers(to_localhost(options))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("words", UNCLEAR)
def test_a_handshake_with_a_damaged_answer_has_begun_with_no_call(words, monkeypatch):
    monkeypatch.setattr(sasl, "KerberosClient", Endless)

    with serving(echo, login=answering(UNCLEAR[words])) as options:
        secured = to_localhost(options)
        connecting = connection_errors("connecting", secured.gateways[0], 1.0, begun=False)
        with pytest.raises(NotDone, match=words), connecting:
            RpcConnection(secured.gateways[0], CLIENT, secured)


def test_a_server_that_is_silent_in_the_handshake_is_a_timeout(monkeypatch):
    monkeypatch.setattr(sasl, "KerberosClient", Endless)
    with serving(echo, login=lambda connection: connection.frame() and connection.frame()) as options:
        secured = to_localhost(options, connect_timeout_s=0.05)
        with pytest.raises(TimeoutError):
            RpcConnection(secured.gateways[0], CLIENT, secured)


def test_a_server_with_kerberos_tells_an_address_without_it_the_need():
    denied = "org.apache.hadoop.hbase.security.AccessDeniedException"

    def refuse(connection):
        next(iter(connection))
        connection.send(failure(0xFFFFFFFF, denied, f"{denied}: Authentication is required"))

    with serving(refuse) as options, pytest.raises(StoreRefused, match=r"the address needs \?kerberos=SERVICE"):
        Servers(options)


SITE = """
hadoop.security.authentication kerberos
hbase.security.authentication kerberos
hbase.rpc.protection privacy
hbase.thrift.keytab.file {keytab}
hbase.thrift.kerberos.principal hbase/localhost@EXAMPLE.TEST
hbase.master.keytab.file {keytab}
hbase.master.kerberos.principal hbase/localhost@EXAMPLE.TEST
hbase.regionserver.keytab.file {keytab}
hbase.regionserver.kerberos.principal hbase/localhost@EXAMPLE.TEST
"""


@pytest.mark.hbase
@pytest.mark.slow
def test_an_index_works_in_an_hbase_that_asks_for_kerberos_and_encryption(realm, ticket, tmp_path):
    site = SITE.format(keytab=realm.keytab("hbase/localhost"))
    conf = tmp_path / "server" / "conf"
    conf.mkdir(parents=True)
    (conf / "core-site.xml").write_text(site_xml(site, {}))
    # The server lives for seconds, so that compiling its code well does not pay.
    java = {"JAVA_TOOL_OPTIONS": f"-Djava.security.krb5.conf={realm.folder}/krb5.conf -XX:TieredStopAtLevel=1"}
    with own_server(tmp_path / "server", site, java) as status:
        url = f"hbase+rpc://localhost:{status['ports']['regionserver']}/docs"
        with create_index(f"{url}?kerberos=hbase", analyzer="shingle") as index:
            many = {f"made/{at}": f"the text number {at} is about {at * at} of {at**3}" for at in range(300)}
            assert dict(index.claim_many(many.items())).keys() == many.keys()
        with open_index(f"{url}?kerberos=hbase") as index:
            assert index.query(many["made/7"]).matches[0].id == "made/7"
        with pytest.raises(StoreRefused, match=r"the address needs \?kerberos=SERVICE"):
            HBaseStore.open(parse_url(url))
