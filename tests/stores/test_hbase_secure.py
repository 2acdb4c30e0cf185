"""Gateways of framed transport, TLS, HTTP, Kerberos and permissions: an index works there; what they need is told."""

import getpass
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from articles import COPY, HEAT, METRO
from support.bruteforce import entries
from support.certificates import make_certificate
from support.fresh_clone import blocks, split, with_names
from support.gates import absent
from support.hbase_server import address, tables
from support.listening import free_port, listening
from support.own_hbase import gateway_of, http_address, local_status, own_gateway, own_server
from support.serving import wait_for
from support.shell_lines import shell_lines

from simhash_hbase import LocalIndex, create_index, open_index
from simhash_hbase.errors import IndexExists, InvalidArgument, Permanent, StoreRefused, StoreUnavailable
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.hbase import HBaseStore, parse_url
from simhash_hbase.stores.hbase.launcher.home import site_xml
from simhash_hbase.stores.hbase.table import TableSchema
from simhash_hbase.stores.hbase.thrift.wire import FRAME_BYTES
from simhash_hbase.testing.rows import all_cells, all_pairs, found_by, pairs_of

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module", params=[1, 2], ids=["thrift1", "thrift2"])
def framed(request, tmp_path_factory):
    """Start a gateway like the one that runs, but framed and compact; return its address."""
    with own_gateway(request.param, tmp_path_factory.mktemp("gateway") / "log", "-f", "-c") as (port, _):
        yield f"127.0.0.1:{port}"


def test_rows_and_cells_are_written_and_read_through_framed_transport(framed):
    options = parse_url(f"hbase://{framed}/{tables().name()}?transport=framed&protocol=compact")
    store = HBaseStore.create(options, TableSchema(regions=4))
    simhashes = np.random.default_rng(3).integers(0, 1 << 64, 300, dtype=np.uint64)
    rows = block_rows(Scheme(5, 2), simhashes)
    store.put_rows(rows, timestamp=1)
    cells = [Cell(f"row{n % 3}".encode(), f"q{n:03}".encode(), bytes(n), 5) for n in range(1, 90)]
    store.put("d", cells)

    for few in (np.unique(rows.prefixes)[:10], np.unique(rows.prefixes)):
        assert found_by(store, *few) == [pair for pair in pairs_of(rows) if pair[0] in set(few.tolist())]
    assert all_pairs(store, page=700) == pairs_of(rows)
    assert all_cells(store, page=7) == sorted(cells)
    assert store.get("d", [(b"row1", b"q001"), (b"row1", b"q002")]) == [cells[0], None]
    assert store.compare_and_set([Swap(b"row9", b"q", None, b"v"), Swap(b"row9", b"q", b"w", b"x")]) == [True, False]
    store.delete("d", cells[1:])
    assert store.get_rows("d", [b"row1", b"row2"], limit=9) == [cells[:1], []]
    # Neither Thrift 1 nor a framed gateway can make regions.
    assert any("1 regions instead of 4" in shortfall for shortfall in store.shortfalls)
    store.close()


def test_addresses_without_framed_transport_and_compact_protocol_are_told_the_need(framed):
    for given in ("", "?transport=framed", "?protocol=compact"):
        with pytest.raises(StoreUnavailable, match=r"the address needs \?transport=framed&protocol=compact"):
            HBaseStore.open(parse_url(f"hbase://{framed}/any{given}"))


@pytest.fixture
def framed_store(framed):
    options = parse_url(f"hbase://{framed}/{tables().take()}?transport=framed&protocol=compact")
    with closing(HBaseStore.open(options)) as made:
        yield made


def test_a_call_of_more_bytes_than_a_frame_is_refused(framed_store, calls):
    # One byte less than a frame, so that the number of its bytes is as long as that of a value that fits.
    too_large = Cell(b"row", b"q", bytes(FRAME_BYTES - 1), 5)
    for write in (
        lambda: framed_store.compare_and_set([Swap(b"row", b"q", None, too_large.value)]),
        lambda: framed_store.put("d", [too_large]),
    ):
        with pytest.raises(InvalidArgument, match=r"a call of \d+ bytes is too large for framed transport") as refused:
            write()
    assert len(calls) == 2
    excess = int(re.search(r"a call of (\d+) bytes", str(refused.value))[1]) - FRAME_BYTES
    largest = too_large._replace(value=too_large.value[excess:])

    framed_store.put("d", [largest])

    assert framed_store.get("d", [(b"row", b"q")]) == [largest]
    with pytest.raises(InvalidArgument, match=f"a call of {FRAME_BYTES + 1} bytes"):
        framed_store.put("d", [largest._replace(value=largest.value + b"x")])


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


@pytest.mark.slow
def test_an_index_works_behind_a_gateway_that_asks_for_kerberos(place, ticket):
    use(f"hbase://{place}/{tables().name()}?kerberos=hbase")


@pytest.mark.slow
def test_an_address_without_kerberos_and_a_user_without_a_ticket_get_advice(place, ticket, realm, monkeypatch):
    with pytest.raises(StoreUnavailable, match=r"it asks for SASL, so the address needs \?kerberos=SERVICE"):
        HBaseStore.open(parse_url(f"hbase://{place}/any"))
    monkeypatch.setenv("KRB5CCNAME", str(realm.folder / "no-tickets"))
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(realm.folder / "nothing"))
    with pytest.raises(StoreRefused, match=r"there is no valid ticket of Kerberos .*: kinit gets one"):
        HBaseStore.open(parse_url(f"hbase://{place}/any?kerberos=hbase"))


# an HBase that asks for permissions: a reader needs R, a writer RW

CONTROLLER = "org.apache.hadoop.hbase.security.access.AccessController"
PERMISSIONS = f"""
hbase.security.authorization true
hbase.security.authentication simple
hbase.superuser {getpass.getuser()}
hbase.coprocessor.master.classes {CONTROLLER}
hbase.coprocessor.region.classes {CONTROLLER}
hbase.coprocessor.regionserver.classes {CONTROLLER}
"""
# Table "none" is not granted.
GRANTS = {"reader": "R", "writer": "RW", "unused1": "RW", "unused2": "RW", "used": "RW"}
GATEWAYS = {"thrift1": (1,), "thrift2": (2,), "readonly": (2, "--readonly")}
SIMHASHES = np.random.default_rng(4).integers(0, 1 << 64, 40, dtype=np.uint64).tolist()
KNOWN = entries([(f"known {number}", simhash) for number, simhash in enumerate(SIMHASHES)])
USER = "editor"


@pytest.fixture(scope="module")
def urls(tmp_path_factory):
    """Return a function from a gateway and a table to an address; the gateways' user may do less than the server's."""
    folder = tmp_path_factory.mktemp("secured")
    with own_server(folder / "server", PERMISSIONS) as status, ExitStack() as stack:
        for table in ("none", "reader", "writer", "used"):
            with create_index(f"hbase://{status['thrift2']}/{table}", analyzer="shingle", match="distance") as index:
                index.add_entries(KNOWN)
        for version in (1, 2):
            HBaseStore.create(parse_url(f"hbase://{status['thrift2']}/unused{version}"), TableSchema()).close()
        run = stack.enter_context(shell_lines(status, folder))
        for table, actions in GRANTS.items():
            run(f"grant '{USER}', '{actions}', '{table}'")

        def start(name):
            version, *options = GATEWAYS[name]
            return stack.enter_context(gateway_of(status, version, folder / f"{name}.log", *options, user=USER))[0]

        with ThreadPoolExecutor() as threads:
            ports = dict(zip(GATEWAYS, threads.map(start, GATEWAYS), strict=True))
        wait_for(lambda: is_granted(f"hbase://127.0.0.1:{ports['thrift2']}/used"))
        yield lambda gateway, table: f"hbase://127.0.0.1:{ports[gateway]}/{table}"


def is_granted(url):
    try:
        open_index(url).close()
    except StoreRefused:
        return False
    return True


def ids_found(index):
    return [match.id for match in index.query_simhash(SIMHASHES[7]).matches]


@pytest.mark.slow
@pytest.mark.parametrize("gateway", GATEWAYS)
def test_a_reader_needs_the_permission_to_read_alone(urls, gateway):
    with open_index(urls(gateway, "reader")) as index:
        assert ids_found(index) == ["known 7"]
        assert len(list(index.export())) == len(SIMHASHES)
        assert index.get("known 3").simhash == SIMHASHES[3]
        assert index.verify().wrong == 0
        assert index.stats().documents == len(SIMHASHES)


@pytest.mark.slow
@pytest.mark.parametrize("gateway", ["thrift1", "thrift2"])
def test_a_writer_needs_the_permissions_to_read_and_write_alone(urls, gateway):
    with open_index(urls(gateway, "writer")) as index:
        index.add_entries(entries({f"by {gateway}": SIMHASHES[7] ^ 1}))
        assert f"by {gateway}" in ids_found(index)
        list(index.remove_many([f"by {gateway}"]))
        assert ids_found(index) == ["known 7"]
        assert index.verify(repair=True).wrong == 0


@pytest.mark.slow
@pytest.mark.parametrize("gateway", GATEWAYS)
def test_who_may_not_even_read_is_told_at_once_who_lacks_what(urls, gateway):
    with pytest.raises(StoreRefused, match=f"user {USER} of the gateway has no permission READ on table none: an adm"):
        open_index(urls(gateway, "none"))


@pytest.mark.slow
@pytest.mark.parametrize("gateway", ["thrift1", "thrift2"])
def test_a_writer_without_permission_is_told_at_once_who_lacks_what(urls, gateway):
    lacks = f"user {USER} of the gateway has no permission "
    with open_index(urls(gateway, "reader")) as index, pytest.raises(Permanent, match=f"{lacks}WRITE on table reader"):
        index.add_entries(entries({"new": 1}))
    with pytest.raises(StoreRefused, match=f"{lacks}CREATE on table missing"):
        create_index(urls(gateway, "missing"), analyzer="shingle")
    # Who may not describe a table does not take it over.
    with pytest.raises(IndexExists, match=r"there is an index at .*used already"):
        create_index(urls(gateway, "used"), analyzer="shingle")


@pytest.mark.slow
def test_a_gateway_for_readers_says_so_to_a_writer(urls):
    with open_index(urls("readonly", "writer")) as index, pytest.raises(Permanent, match="started with --readonly"):
        index.add_entries(entries({"new": 1}))


@pytest.mark.slow
@pytest.mark.parametrize("gateway", ["thrift1", "thrift2"])
def test_an_operators_table_is_taken_over_by_who_may_write_it(urls, gateway):
    url = urls(gateway, f"unused{gateway[-1]}")

    with create_index(url, analyzer="shingle", match="distance") as index:
        index.add_entries(KNOWN)
        [shortfall] = index.store.shortfalls
    with LocalIndex(HBaseStore.open(parse_url(url))) as index:
        assert ids_found(index) == ["known 7"]
    assert "its settings are not known" in shortfall
