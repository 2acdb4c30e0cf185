"""Ports of HBase that are no gateway's: what is there is said, and not asked again."""

from contextlib import contextmanager, suppress
from dataclasses import replace
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest
from support.hbase_server import address, launcher_status

from simhash_hbase.errors import IndexMissing, Permanent, StoreUnavailable
from simhash_hbase.stores.hbase import HBaseStore, parse_url
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.thrift.wire import NoGateway

WAYS = ["", "?transport=framed&protocol=binary", "?transport=framed&protocol=compact", "?protocol=compact"]
# What HBase 2.6 answers to a question of Thrift and to one of HTTP, before it closes the connection.
REFUSED_THRIFT = (
    b"\x00\x00\x00\x93\x91\x01\x08\xff\xff\xff\xff\x0f\x12\x88\x01\n4org.apache.hadoop.hbase.ipc.FatalConnectionException"
    b"\x12NExpected HEADER=HBas but received HEADER=\\x80\\x01\\x00\\x01 from 127.0.0.1:46752(\x01"
)
REFUSED_HTTP = (
    b"\x00\x00\x00\x86\x84\x01\x08\xff\xff\xff\xff\x0f\x12|\n4org.apache.hadoop.hbase.ipc.FatalConnectionException"
    b"\x12BExpected HEADER=HBas but received HEADER=POST from 127.0.0.1:46794(\x01"
)
PAGE = b'<meta HTTP-EQUIV="REFRESH" content="0;url=/%b"/>\n'


def rpc(asked):
    """Answer as a master or a region server."""
    return REFUSED_HTTP if asked.startswith(b"POST") else REFUSED_THRIFT


def zookeeper(asked):
    return b"Zookeeper version: 3.8.4-9316c2a7, built on 2024-02-12 22:16 UTC\n" if asked == b"srvr\n" else b""


def guarded_zookeeper(asked):
    return b"srvr is not executed because it is not in the whitelist.\n" if asked == b"srvr\n" else b""


def web_page(name, asked):
    """Answer as the web server of a master or of a region server."""
    if not asked.startswith(b"POST / HTTP/1.1\r\n"):
        body = b"<h1>Bad Message 400</h1><pre>reason: Illegal character OTEXT=0x80</pre>"
        return b"HTTP/1.1 400 Illegal character\r\nContent-Type: text/html\r\nContent-Length: 71\r\n\r\n" + body
    body = b"<!-- " + b"licence " * 90 + b"-->" + PAGE % name
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def hadoop(asked):
    sentence = b"It looks like you are making an HTTP request to a Hadoop IPC port. This is not the correct port."
    page = b"HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n" + sentence
    return page if asked.startswith(b"POST") else b""


SERVERS = [
    (rpc, "HBase's own RPC"),
    (zookeeper, "this is ZooKeeper"),
    (guarded_zookeeper, "this is ZooKeeper"),
    (lambda asked: web_page(b"master-status", asked), "a web page of HBase's master or of a region server"),
    (lambda asked: web_page(b"rs-status", asked), "a web page of HBase's master or of a region server"),
    (hadoop, "an RPC port of Hadoop"),
]


class Closing(BaseRequestHandler):
    """Answers once, and closes the connection."""

    def handle(self):
        with suppress(OSError):
            self.request.sendall(self.server.answer(self.request.recv(1 << 16)))


@contextmanager
def server(answer):
    """Start a server; give its host and port."""
    with ThreadingTCPServer(("127.0.0.1", 0), Closing) as started:
        started.daemon_threads, started.answer = True, answer
        Thread(target=started.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"127.0.0.1:{started.server_address[1]}"
        started.shutdown()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("answer", "words"), SERVERS)
def test_another_server_of_hbase_is_named_for_good(answer, words, way):
    with server(answer) as there, pytest.raises(NoGateway, match=f"{words}.*; give the port of a Thrift gateway"):
        HBaseStore.open(parse_url(f"hbase://{there}/t{way}"))


@pytest.mark.parametrize("settings", ["", "?version=1", "?version=2"])
@pytest.mark.parametrize(("answer", "words"), [SERVERS[0], *SERVERS[3:5]])
def test_so_it_is_where_a_gateway_in_http_mode_is_expected(answer, words, settings):
    with server(answer) as there, pytest.raises(Permanent, match=f"{words}.*give the port of a"):
        HBaseStore.open(parse_url(f"hbase+http://{there}/t{settings}"))


def test_a_wrong_port_is_one_of_the_reasons_why_no_gateway_answers():
    with server(rpc) as wrong, server(lambda asked: b"") as silent, pytest.raises(StoreUnavailable, match="own RPC"):
        Gateways(replace(parse_url(f"hbase://{wrong},{silent}/t"), connect_timeout_s=1))


@pytest.mark.hbase
@pytest.mark.parametrize(("scheme", "way"), [*(("hbase", way) for way in WAYS), ("hbase+http", "")])
@pytest.mark.parametrize(
    ("name", "words"), [("master", "own RPC"), ("regionserver", "own RPC"), ("zookeeper", "this is ZooKeeper")]
)
def test_the_ports_of_a_real_hbase_are_named(name, words, scheme, way):
    address(2)
    if name not in launcher_status().get("ports", ()):
        pytest.skip("the ports of this HBase are not known")
    there = f"127.0.0.1:{launcher_status()['ports'][name]}"

    with pytest.raises(NoGateway, match=words):
        HBaseStore.open(parse_url(f"{scheme}://{there}/t{way}"))
    with pytest.raises(IndexMissing):
        HBaseStore.open(parse_url(f"hbase://{there},{address(2)}/simhash_test_none"))
