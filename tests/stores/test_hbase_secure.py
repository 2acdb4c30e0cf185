"""Gateways that are reached by TLS, by HTTP or with Kerberos: an index works through them, and an address is told."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from articles import COPY, HEAT, METRO
from support.certificates import make_certificate
from support.fresh_clone import blocks, split, with_names
from support.gates import absent
from support.hbase_server import address, tables
from support.listening import free_port, listening
from support.own_hbase import gateway_of, http_address, http_gateway, local_status

from simhash_hbase import create_index, open_index
from simhash_hbase.errors import StoreRefused, StoreUnavailable
from simhash_hbase.stores.hbase import HBaseStore, parse_url
from simhash_hbase.stores.hbase.launcher.home import site_xml

pytestmark = pytest.mark.hbase


@contextmanager
def stunnel(folder, to):
    """Run stunnel with the configuration of the page; give its address and its certificate."""
    program = shutil.which("stunnel") or absent("stunnel is missing: apt-get install stunnel4")
    certificate, key = make_certificate(folder)
    port = free_port()
    place = f"127.0.0.1:{port}"
    shown = {"10.0.0.5:9443": place, "127.0.0.1:9091": to, "/etc/stunnel/gateway.pem": str(certificate),
             "/etc/stunnel/gateway.key": str(key)}  # fmt: skip
    settings = with_names(blocks("ini")["stunnel"], shown)
    (folder / "stunnel.conf").write_text(f"foreground = yes\npid =\n{settings}")
    with listening([program, folder / "stunnel.conf"], port, folder / "log"):
        yield place, certificate


def use(url):
    """Make an index, write to it, open it again and ask it."""
    with create_index(url, analyzer="shingle") as index:
        assert index.claim("wire/1", METRO).is_original
        simhashes = np.random.default_rng(5).integers(0, 1 << 64, 300, dtype=np.uint64).tolist()
        assert all(not index.query_simhash(simhash).matches for simhash in simhashes[:3])
        many = dict(index.add_many((f"made/{at}", f"{HEAT} {simhash}") for at, simhash in enumerate(simhashes)))
    with open_index(url) as index:
        assert index.claim("paper/7", COPY).of == "wire/1"
        assert dict(index.remove_many(["wire/1", "made/7", "none"])) == {"wire/1": True, "made/7": True, "none": False}
        assert len(index.query(f"{HEAT} {simhashes[0]}").matches) <= len(many) == 300
        assert index.query(f"{HEAT} {simhashes[0]}").matches[0].id == "made/0"
        assert index.store.url == url


@pytest.fixture(scope="module", params=[1, 2], ids=["thrift1", "thrift2"])
def encrypted(request, tmp_path_factory):
    with stunnel(tmp_path_factory.mktemp("tls"), address(request.param)) as found:
        yield found


def test_an_index_works_through_tls(encrypted, monkeypatch):
    place, certificate = encrypted
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    use(f"hbase://{place}/{tables().name()}?tls=1")


def test_an_unknown_certificate_and_an_address_without_tls_are_refused(encrypted):
    for setting, words in (
        ("?tls=1", "certificate verify failed"),
        ("", r"it speaks TLS, so the address needs \?tls=1"),
    ):
        with pytest.raises(StoreUnavailable, match=words):
            HBaseStore.open(parse_url(f"hbase://{encrypted[0]}/any{setting}"))


@pytest.fixture
def gateway(version, tmp_path):
    return http_address(version, tmp_path)


def test_an_index_works_through_http(gateway):
    use(f"hbase+http://{gateway}/{tables().name()}")


def test_an_index_works_through_https_with_a_file_of_authorities(gateway, tmp_path):
    with stunnel(tmp_path, gateway) as (place, certificate):
        use(f"hbase+https://{place}/{tables().name()}?ca={certificate}")
        with pytest.raises(StoreUnavailable, match="certificate verify failed"):
            HBaseStore.open(parse_url(f"hbase+https://{place}/any"))
        with pytest.raises(StoreUnavailable, match=r"it speaks TLS, so the address begins with hbase\+https://"):
            HBaseStore.open(parse_url(f"hbase+http://{place}/any"))


def test_an_address_is_told_whether_it_needs_http(version, gateway):
    with pytest.raises(StoreUnavailable, match=r"in HTTP mode begins with hbase\+http://"):
        HBaseStore.open(parse_url(f"hbase://{gateway}/any"))
    with pytest.raises(StoreUnavailable, match="it is a gateway without HTTP, so the address begins with hbase://"):
        HBaseStore.open(parse_url(f"hbase+http://{address(version)}/any"))


def test_calls_go_to_the_other_gateways_when_one_ends(tmp_path):
    url = f"hbase+http://{{}}/{tables().name()}"
    second = http_address(2, tmp_path)
    with (
        http_gateway(2, tmp_path) as (port, process),
        create_index(url.format(f"127.0.0.1:{port},{second}"), analyzer="shingle") as index,
    ):
        assert index.claim("wire/1", METRO).is_original
        process.kill()
        process.wait()
        assert index.claim("paper/7", COPY).of == "wire/1"
        assert len(dict(index.add_many((f"made/{at}", f"{HEAT} {at}") for at in range(9)))) == 9


def test_the_commands_of_the_page_work(tmp_path):
    (tmp_path / "access-key").write_text("s3cr3t\n")
    name = tables().name()
    words = {"/etc/simhash-hbase/access-key": str(tmp_path / "access-key"),
             "hbase.example:9190/news": f"{http_address(2, tmp_path)}/{name}"}  # fmt: skip
    lines = with_names("\n".join(split(blocks()["cloud"])), words)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "news": ""}

    done = subprocess.run(["bash", "-e", "-c", lines], capture_output=True, text=True, env=environment, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["status"] == "original"
    assert "s3cr3t" not in done.stdout + done.stderr


# Debian keeps them where only root looks.
PLACES = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin"


class Realm:
    """The files of a KDC for EXAMPLE.TEST on the loopback address."""

    def __init__(self, folder, port):
        self.folder = folder
        self.environment = {
            "KRB5_CONFIG": f"{folder}/krb5.conf",
            "KRB5_KDC_PROFILE": f"{folder}/kdc.conf",
            "PATH": PLACES,
        }
        (folder / "krb5.conf").write_text(
            "[libdefaults]\n default_realm = EXAMPLE.TEST\n dns_lookup_kdc = false\n"
            " dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
            f"[realms]\n EXAMPLE.TEST = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
        )
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n[realms]\n"
            f" EXAMPLE.TEST = {{\n  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n }}\n"
        )
        self.run("kdb5_util", "create", "-s", "-P", "a word", "-r", "EXAMPLE.TEST")

    def run(self, *command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def keytab(self, principal):
        """Return the file with the key of a principal, which is made at the first call."""
        file = self.folder / f"{principal.replace('/', '-')}.keytab"
        if not file.exists():
            for question in (f"addprinc -randkey {principal}", f"ktadd -k {file} {principal}"):
                self.run("kadmin.local", "-q", question)
        return file


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
    kdc = shutil.which("krb5kdc", path=PLACES) or absent("krb5kdc is missing: apt-get install krb5-kdc")
    if shutil.which("kadmin.local", path=PLACES) is None:
        absent("kadmin.local is missing: apt-get install krb5-admin-server")
    folder, port = tmp_path_factory.mktemp("realm"), free_port()
    made = Realm(folder, port)
    with listening([kdc, "-n", "-P", folder / "pid"], port, folder / "kdc.log", env=made.environment):
        yield made


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


@pytest.mark.slow
def test_an_index_works_behind_a_gateway_that_asks_for_kerberos(place, ticket):
    use(f"hbase://{place}/{tables().name()}?kerberos=hbase")


@pytest.mark.slow
def test_an_address_without_kerberos_and_a_user_without_a_ticket_are_told_what_they_need(
    place, ticket, realm, monkeypatch
):
    with pytest.raises(StoreUnavailable, match=r"it asks for SASL, so the address needs \?kerberos=SERVICE"):
        HBaseStore.open(parse_url(f"hbase://{place}/any"))
    monkeypatch.setenv("KRB5CCNAME", str(realm.folder / "no-tickets"))
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(realm.folder / "nothing"))
    with pytest.raises(StoreRefused, match=r"there is no valid ticket of Kerberos .*: kinit gets one"):
        HBaseStore.open(parse_url(f"hbase://{place}/any?kerberos=hbase"))
