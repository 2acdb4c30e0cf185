"""The calls of Thrift 2 that make and describe a table."""

from simhash_hbase.rows.table import TABLE_ATTRIBUTES, FamilySchema, TableSchema
from simhash_hbase.stores.hbase.description import Description
from simhash_hbase.stores.hbase.thrift.exchange import Conversation
from simhash_hbase.stores.hbase.thrift.idl import Interface, thrift2
from simhash_hbase.stores.hbase.thrift.wire import Answer, Call


class Admin2:
    """Makes and describes one table."""

    def __init__(self, table: str, *, framed: bool = False) -> None:
        self._idl = thrift2()
        self.makes_everything = not framed
        self._table = table.encode()
        namespace, _, name = table.rpartition(":")
        self._name = self._idl.TableName(ns=(namespace or "default").encode(), qualifier=name.encode())

    def create(self, schema: TableSchema) -> Conversation[None]:
        """Make the table."""
        attributes = {name.encode(): value.encode() for name, value in TABLE_ATTRIBUTES.items()}
        families = [self._family(family) for family in schema.families]
        table = self._idl.Table(tableName=self._name, columns=families, attributes=attributes)
        split_keys = schema.split_keys if self.makes_everything else []
        yield [Call(self._idl.Cells, "createTable", {"desc": table, "splitKeys": split_keys})]

    def describe(self) -> Conversation[Description | None]:
        """Read the table's description and its regions; None where there is no such table."""
        [there] = yield [Call(self._idl.Cells, "tableExists", {"tableName": self._name})]
        if not there:
            return None
        [table] = yield [Call(self._idl.Cells, "getTableDescriptor", {"table": self._name})]
        [regions] = yield [Call(self._idl.Cells, "getAllRegionLocations", {"table": self._table})]
        starts = sorted(region.regionInfo.startKey or b"" for region in regions)
        families = {family.name.decode(): self._settings(family) for family in table.columns}
        return Description(families, _texts(table.attributes), starts[1:])

    def is_disabled(self) -> Conversation[bool]:
        """Ask whether the table is disabled."""
        [disabled] = yield [Call(self._idl.Cells, "isTableDisabled", {"tableName": self._name})]
        return bool(disabled)

    def drop(self) -> Conversation[None]:
        """Disable and delete the table."""
        yield [Call(self._idl.Cells, "disableTable", {"tableName": self._name})]
        yield [Call(self._idl.Cells, "deleteTable", {"tableName": self._name})]

    def _family(self, family: FamilySchema) -> Interface:
        settings = family.settings
        return self._idl.Family(
            name=family.name.encode(),
            configuration=dict(family.configuration),
            bloomnFilterType=getattr(self._idl.BloomFilter, settings["BLOOMFILTER"]),
            compressionType=getattr(self._idl.Compression, settings["COMPRESSION"]),
            dataBlockEncoding=getattr(self._idl.Encoding, settings["DATA_BLOCK_ENCODING"]),
            maxVersions=int(settings["VERSIONS"]),
            timeToLive=int(settings["TTL"]),
            blockCacheEnabled=settings["BLOCKCACHE"] == "true",
        )

    def _settings(self, family: Answer) -> dict[str, str]:
        names = {
            "BLOOMFILTER": self._idl.BloomFilter._VALUES_TO_NAMES.get(family.bloomnFilterType),
            "COMPRESSION": self._idl.Compression._VALUES_TO_NAMES.get(family.compressionType),
            "DATA_BLOCK_ENCODING": self._idl.Encoding._VALUES_TO_NAMES.get(family.dataBlockEncoding),
            "VERSIONS": family.maxVersions,
            "TTL": family.timeToLive,
            "BLOCKCACHE": "true" if family.blockCacheEnabled else "false",
        }
        return {**{name: str(value) for name, value in names.items()}, **_texts(family.configuration)}


def _texts(pairs: dict[bytes | str, bytes | str] | None) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in (pairs or {}).items()}


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
