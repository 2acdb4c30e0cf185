"""An index in HBase, reached through its Thrift gateways."""

from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions, format_url, parse_url
from simhash_hbase.stores.hbase.store import HBaseStore

__all__ = ["Gateway", "HBaseOptions", "HBaseStore", "format_url", "parse_url"]
