"""An index in HBase, reached through its Thrift gateways; the launcher starts an HBase on this machine."""

from typing import TYPE_CHECKING

from simhash_hbase.lazy import handing_on

if TYPE_CHECKING:
    from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions, format_url, parse_url
    from simhash_hbase.stores.hbase.store import HBaseStore

__all__ = ["Gateway", "HBaseOptions", "HBaseStore", "format_url", "parse_url"]

# The launcher runs without the packages that a store needs.
__getattr__ = handing_on(
    __name__, {"options": ["Gateway", "HBaseOptions", "format_url", "parse_url"], "store": ["HBaseStore"]}
)
