"""Gateways that ask for Kerberos by SASL: an address with ``kerberos=SERVICE`` does everything, encrypted or not."""

from pathlib import Path

import pytest
from stores.test_hbase_tls import use
from support.gates import absent
from support.hbase_server import tables
from support.kdc import kerberos_realm
from support.own_hbase import gateway_of, local_status

from simhash_hbase.errors import StoreRefused, StoreUnavailable
from simhash_hbase.stores.hbase import HBaseStore, parse_url
from simhash_hbase.stores.hbase.launcher.home import site_xml

SITE = """
hadoop.security.authentication kerberos
hbase.security.authentication kerberos
hbase.thrift.security.qop {qop}
hbase.thrift.keytab.file {keytab}
hbase.thrift.kerberos.principal hbase/localhost@EXAMPLE.TEST
hbase.master.kerberos.principal hbase/localhost@EXAMPLE.TEST
hbase.regionserver.kerberos.principal hbase/localhost@EXAMPLE.TEST
hbase.ipc.client.fallback-to-simple-auth-allowed true
"""


@pytest.fixture(scope="module")
def realm(tmp_path_factory):
    try:
        import gssapi  # noqa: F401, PLC0415
    except ImportError:
        absent("gssapi is missing: ./scripts/install kerberos, which needs libkrb5-dev and a compiler")
    with kerberos_realm(tmp_path_factory.mktemp("realm")) as found:
        yield found


@pytest.fixture(scope="module", params=[(1, "auth-conf"), (2, "auth")], ids=["encrypted", "plain"])
def place(request, realm, tmp_path_factory):
    version, qop = request.param
    status, conf = local_status(version), tmp_path_factory.mktemp("gateway")
    added = site_xml(SITE.format(qop=qop, keytab=realm.keytab("hbase/localhost")), {})
    written = Path(status["conf"], "hbase-site.xml").read_text()
    (conf / "hbase-site.xml").write_text(written.replace("</configuration>", added.removeprefix("<configuration>")))
    (conf / "core-site.xml").write_text(added)
    java = [f"-Djava.security.krb5.conf={realm.folder}/krb5.conf"]
    with gateway_of(status, version, conf / "log", conf=conf, java=java) as (port, _):
        yield f"localhost:{port}"


@pytest.fixture
def ticket(realm, monkeypatch):
    monkeypatch.setenv("KRB5_CONFIG", realm.environment["KRB5_CONFIG"])
    monkeypatch.setenv("KRB5CCNAME", str(realm.folder / "tickets"))
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(realm.keytab("crawler")))


@pytest.mark.hbase
@pytest.mark.slow
def test_an_index_works_behind_a_gateway_that_asks_for_kerberos(place, ticket):
    use(f"hbase://{place}/{tables().name()}?kerberos=hbase")


@pytest.mark.hbase
@pytest.mark.slow
def test_without_a_ticket_the_error_names_what_gets_one(place, ticket, realm, monkeypatch):
    monkeypatch.setenv("KRB5CCNAME", str(realm.folder / "no-tickets"))
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(realm.folder / "nothing"))

    with pytest.raises(StoreRefused, match=r"there is no valid ticket of Kerberos .*: kinit gets one"):
        HBaseStore.open(parse_url(f"hbase://{place}/any?kerberos=hbase"))


@pytest.mark.hbase
@pytest.mark.slow
def test_an_address_without_kerberos_is_told_what_it_needs(place):
    with pytest.raises(StoreUnavailable, match=r"it asks for SASL, so the address needs \?kerberos=SERVICE"):
        HBaseStore.open(parse_url(f"hbase://{place}/any"))
