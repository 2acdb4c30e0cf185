"""The calls of Thrift 1 that make and describe a table, as far as it can."""

from simhash_hbase.rows.layout import FAMILY_BLOCKS
from simhash_hbase.rows.table import TableSchema
from simhash_hbase.stores.hbase.description import Description
from simhash_hbase.stores.hbase.thrift.exchange import Conversation
from simhash_hbase.stores.hbase.thrift.idl import thrift1
from simhash_hbase.stores.hbase.thrift.wire import Answer, Call


class Admin1:
    """Makes and describes one table.

    Thrift 1 knows neither encodings, nor the length of a bloom filter's prefix, nor attributes of the table, nor where
    its regions are to begin.
    """

    makes_everything = False

    def __init__(self, table: str) -> None:
        self._idl = thrift1()
        self._table = table.encode()

    def create(self, schema: TableSchema) -> Conversation[None]:
        """Make the table."""
        families = [
            self._idl.ColumnDescriptor(
                name=family.name.encode() + b":",
                maxVersions=int(family.settings["VERSIONS"]),
                compression=family.settings["COMPRESSION"],
                # A filter over prefixes needs their length, which cannot be said here; one over rows serves only gets.
                bloomFilterType="NONE" if family.name == FAMILY_BLOCKS else family.settings["BLOOMFILTER"],
                blockCacheEnabled=family.settings["BLOCKCACHE"] == "true",
                timeToLive=int(family.settings["TTL"]),
            )
            for family in schema.families
        ]
        yield [self._call("createTable", columnFamilies=families)]

    def describe(self) -> Conversation[Description | None]:
        """Read what there is to read; None where there is no such table."""
        [families] = yield [self._call("getColumnDescriptors")]
        [regions] = yield [self._call("getTableRegions")]
        starts = sorted(region.startKey for region in regions)
        settings = {name.rstrip(b":").decode(): _settings(family) for name, family in families.items()}
        return Description(settings, {}, starts[1:])

    def is_disabled(self) -> Conversation[bool]:
        """Ask whether the table is disabled."""
        [enabled] = yield [self._call("isTableEnabled")]
        return not enabled

    def drop(self) -> Conversation[None]:
        """Disable and delete the table."""
        yield [self._call("disableTable")]
        yield [self._call("deleteTable")]

    def _call(self, method: str, **arguments: object) -> Call:
        return Call(self._idl.Hbase, method, {"tableName": self._table, **arguments})


def _settings(family: Answer) -> dict[str, str]:
    return {
        "VERSIONS": str(family.maxVersions),
        "COMPRESSION": _text(family.compression),
        "BLOOMFILTER": _text(family.bloomFilterType),
        "BLOCKCACHE": "true" if family.blockCacheEnabled else "false",
        "TTL": str(family.timeToLive),
    }


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
