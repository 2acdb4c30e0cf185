"""Gateways behind stunnel: an address with ``tls=1`` does everything, and checks certificates."""

import shutil
import subprocess
from contextlib import contextmanager

import numpy as np
import pytest
from articles import COPY, HEAT, METRO
from support.certificates import make_certificate
from support.fresh_clone import blocks
from support.gates import absent
from support.hbase_server import address, tables
from support.listening import free_port, wait_for_port

from simhash_hbase import create_index, open_index
from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.stores.hbase import HBaseStore, parse_url


@contextmanager
def stunnel(folder, to):
    """Run stunnel with the configuration of the page; give its address and its certificate."""
    program = shutil.which("stunnel") or absent("stunnel is missing: apt-get install stunnel4")
    certificate, key = make_certificate(folder)
    port = free_port()
    place = f"127.0.0.1:{port}"
    shown = {"10.0.0.5:9443": place, "127.0.0.1:9091": to, "/etc/stunnel/gateway.pem": str(certificate),
             "/etc/stunnel/gateway.key": str(key)}  # fmt: skip
    settings = blocks("ini")["stunnel"]
    for one, other in shown.items():
        assert one in settings
        settings = settings.replace(one, other)
    (folder / "stunnel.conf").write_text(f"foreground = yes\npid =\n{settings}")
    with (folder / "log").open("wb") as log:
        started = subprocess.Popen([program, folder / "stunnel.conf"], stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for_port(port, started, folder / "log")
        yield place, certificate
    finally:
        started.terminate()
        started.wait()


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


@pytest.mark.hbase
def test_an_index_works_through_tls(encrypted, monkeypatch):
    place, certificate = encrypted
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    use(f"hbase://{place}/{tables().name()}?tls=1")


@pytest.mark.hbase
def test_an_unknown_certificate_is_refused(encrypted):
    options = parse_url(f"hbase://{encrypted[0]}/any?tls=1")

    with pytest.raises(StoreUnavailable, match="certificate verify failed"):
        HBaseStore.open(options)


@pytest.mark.hbase
def test_an_address_without_tls_is_told_what_it_needs(encrypted):
    with pytest.raises(StoreUnavailable, match=r"it speaks TLS, so the address needs \?tls=1"):
        HBaseStore.open(parse_url(f"hbase://{encrypted[0]}/any"))
