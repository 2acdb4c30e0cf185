"""HBase's own Thrift servers in HTTP mode: an index works through them, and through TLS; an address is told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from articles import COPY, HEAT, METRO
from stores.test_hbase_tls import stunnel, use
from support.fresh_clone import blocks, split
from support.hbase_server import address, tables
from support.own_hbase import http_address, http_gateway

from simhash_hbase import create_index
from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.stores.hbase import HBaseStore, parse_url

pytestmark = pytest.mark.hbase
VERSIONS = pytest.mark.parametrize("version", [1, 2], ids=["thrift1", "thrift2"])


@pytest.fixture
def gateway(version, tmp_path):
    return http_address(version, tmp_path)


@VERSIONS
def test_an_index_works_through_http(gateway):
    use(f"hbase+http://{gateway}/{tables().name()}")


@VERSIONS
def test_an_index_works_through_https_with_a_file_of_authorities(gateway, tmp_path):
    with stunnel(tmp_path, gateway) as (place, certificate):
        use(f"hbase+https://{place}/{tables().name()}?ca={certificate}")
        with pytest.raises(StoreUnavailable, match="certificate verify failed"):
            HBaseStore.open(parse_url(f"hbase+https://{place}/any"))
        with pytest.raises(StoreUnavailable, match=r"it speaks TLS, so the address begins with hbase\+https://"):
            HBaseStore.open(parse_url(f"hbase+http://{place}/any"))


@VERSIONS
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
    lines = "\n".join(split(blocks()["cloud"]))
    for one, other in words.items():
        assert one in lines
        lines = lines.replace(one, other)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "news": ""}

    done = subprocess.run(["bash", "-e", "-c", lines], capture_output=True, text=True, env=environment, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["status"] == "original"
    assert "s3cr3t" not in done.stdout + done.stderr
