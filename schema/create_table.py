"""Make the table of an index through a Thrift 2 gateway: python schema/create_table.py HOST:PORT [TABLE].

``create_table.rb`` does the same in the HBase shell. ``simhash-hbase create`` makes the table by itself, and takes over
a table that was made by hand.
"""

import sys

from simhash_hbase.stores.hbase import parse_url
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.thrift.wire import Call, interface

FOREVER_S = 2147483647
SPLIT_KEYS = [b"\x40\x00\x00\x00", b"\x80\x00\x00\x00", b"\xc0\x00\x00\x00"]


def table_descriptor(namespace: str, name: str) -> object:
    """Describe the table in the types of Thrift 2.

    Parameters
    ----------
    namespace, name : str
        Names of the table.

    Returns
    -------
    Table
        The argument of ``createTable``.
    """
    idl = interface("thrift2")
    common = {
        "maxVersions": 1,
        "dataBlockEncoding": idl.Encoding.FAST_DIFF,
        "compressionType": idl.Compression.NONE,
        "blockCacheEnabled": True,
        "blockSize": 8192,
        "timeToLive": FOREVER_S,
    }
    blocks = idl.Family(
        name=b"b",
        bloomnFilterType=idl.BloomFilter.ROWPREFIX_FIXED_LENGTH,
        configuration={"RowPrefixBloomFilter.prefix_length": "5"},
        **common,
    )
    documents = idl.Family(name=b"d", bloomnFilterType=idl.BloomFilter.ROW, configuration={}, **common)
    index = idl.Family(name=b"m", bloomnFilterType=idl.BloomFilter.ROW, configuration={}, **common)
    return idl.Table(
        tableName=idl.TableName(ns=namespace.encode(), qualifier=name.encode()),
        columns=[blocks, documents, index],
        attributes={
            b"hbase.regionserver.region.split_restriction.type": b"KeyPrefix",
            b"hbase.regionserver.region.split_restriction.prefix_length": b"5",
        },
    )


def main() -> None:
    """Make the table."""
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python schema/create_table.py HOST:PORT [[NAMESPACE:]TABLE]")
    address, table = (*sys.argv[1:], "simhash")[:2]
    namespace, _, name = table.rpartition(":")
    descriptor = table_descriptor(namespace or "default", name)
    gateways = Gateways(parse_url(f"hbase://{address}/{table}?version=2"))

    def create():  # noqa: ANN202
        yield [Call(interface("thrift2").Cells, "createTable", {"desc": descriptor, "splitKeys": SPLIT_KEYS})]

    gateways.exchange.one(create, repeat=False)
    gateways.close()


if __name__ == "__main__":
    main()
