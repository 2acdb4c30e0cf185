"""Gateways of HBase in HTTP mode, beside those of the server here."""

from contextlib import ExitStack, contextmanager
from pathlib import Path

from simhash_hbase.stores.hbase import HBaseStore, parse_url
from support.hbase_server import tables
from support.own_gateway import gateway_of, local_status

__all__ = ["HTTP_MAKERS", "http_address", "http_gateway", "stop_http_gateways"]

SITE = "hbase-site.xml"
HTTP_MODE = "<property><name>hbase.regionserver.thrift.http</name><value>true</value></property>\n</configuration>"
_running = ExitStack()
_addresses = {}


@contextmanager
def http_gateway(version, folder):
    """Start a gateway in HTTP mode, with its configuration and its log in a folder; give its port and its process."""
    status = local_status(version)
    site = Path(status["conf"], SITE).read_text()
    (folder / SITE).write_text(site.replace("</configuration>", HTTP_MODE))
    with gateway_of(status, version, folder / "gateway.log", conf=folder) as started:
        yield started


def http_address(version, folder):
    """Return ``host:port`` of the gateway that all tests of this process share; the first one starts it."""
    if version not in _addresses:
        own = folder / f"http{version}"
        own.mkdir()
        port, _ = _running.enter_context(http_gateway(version, own))
        _addresses[version] = f"127.0.0.1:{port}"
    return _addresses[version]


def stop_http_gateways():
    """Stop the shared gateways."""
    _addresses.clear()
    _running.close()


def _make(version):
    def make(folder, clock):
        return HBaseStore.open(parse_url(f"hbase+http://{http_address(version, folder)}/{tables().take()}"))

    return make


HTTP_MAKERS = {"thrift1-http": _make(1), "thrift2-http": _make(2)}
