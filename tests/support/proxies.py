"""Proxies before the gateways of the HBase under test, and options that lead through them."""

from simhash_hbase.stores.hbase import Gateway
from support.faulty_proxy import FaultyProxy
from support.hbase_server import address, hbase_options

__all__ = ["proxied_options", "proxy_to"]


def proxy_to(version):
    """Start a proxy before the gateway of a Thrift version."""
    host, _, port = address(version).rpartition(":")
    return FaultyProxy(host, int(port))


def proxied_options(version, table, /, *proxies, **options):
    """Return options for a table that is reached through proxies."""
    gateways = tuple(Gateway("127.0.0.1", proxy.port) for proxy in proxies)
    return hbase_options(version, table, gateways=gateways, **options)
