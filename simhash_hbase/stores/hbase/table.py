"""The table of an index in HBase: its families, their settings, and where its regions begin.

Settings have the names that the HBase shell gives them. The same table stands in the folder ``schema/`` as a script for
that shell and as calls of Thrift 2; a test compares the three.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows import clock, layout

COMPRESSIONS = ("NONE", "SNAPPY", "LZ4", "ZSTD", "GZ")
FOREVER_S = 2**31 - 1
MOST_REGIONS = 10_000
# A search reads a few rows at each of many places, and the server reads and decodes a block from its beginning to the
# row. HBase's own 65,536 bytes made batches in ten million documents cost four times as much; these take 2 % more disk.
BLOCK_BYTES = "8192"
_PREFIX_LENGTH = "RowPrefixBloomFilter.prefix_length"

TABLE_ATTRIBUTES: Mapping[str, str] = {
    # One prefix stays in one region when HBase splits regions by itself.
    "hbase.regionserver.region.split_restriction.type": "KeyPrefix",
    "hbase.regionserver.region.split_restriction.prefix_length": str(layout.PREFIX_BYTES),
}


@dataclass(frozen=True, kw_only=True)
class FamilySchema:
    """The settings with which one column family of the table is made."""

    name: str  # A single letter.
    settings: Mapping[str, str]  # As in the HBase shell.
    configuration: Mapping[str, str]  # Settings that the shell puts under ``CONFIGURATION``.


@dataclass(frozen=True, kw_only=True)
class TableSchema:
    """What may differ between the tables of two indexes: the first regions, compression and time to live.

    Examples
    --------
    >>> schema = TableSchema(regions=4, ttl_ms=864_000_000)
    >>> [key.hex() for key in schema.split_keys]
    ['40000000', '80000000', 'c0000000']
    >>> [(family.name, family.settings["TTL"]) for family in schema.families]
    [('b', '950400'), ('d', '950400'), ('m', '2147483647')]
    """

    regions: int = 4  # Regions at the beginning, all of one size; HBase splits them when they grow.
    compression: str = "NONE"
    """Codec of the files: ``NONE``, ``SNAPPY``, ``LZ4``, ``ZSTD`` or ``GZ``; the servers must have it."""
    ttl_ms: int | None = None  # Milliseconds after which a document that was not seen again expires; None: never.

    def __post_init__(self) -> None:
        if not 1 <= self.regions <= MOST_REGIONS:
            raise InvalidArgument(f"regions is {self.regions}: wanted 1 to {MOST_REGIONS}", parameter="regions")
        if self.compression not in COMPRESSIONS:
            raise InvalidArgument(
                f"compression is {self.compression!r}: wanted {', '.join(COMPRESSIONS)}", parameter="compression"
            )
        if self.ttl_ms is not None and self.ttl_ms < 1:
            raise InvalidArgument(f"ttl_ms is {self.ttl_ms}: wanted at least 1, or None")

    @property
    def families(self) -> tuple[FamilySchema, ...]:
        """The schemas of the three column families, in order of their names."""
        ttl_s = FOREVER_S
        if self.ttl_ms is not None:
            # Expiry itself is decided by the time a document was last seen; HBase only collects the garbage. The margin
            # is for the refresh, which is left out while a document was seen less than ttl / 10 ago, and for clocks
            # that differ.
            ttl_s = min(FOREVER_S - 1, -(-(self.ttl_ms + max(clock.MS_A_DAY, self.ttl_ms // 10)) // 1000))
        return (
            self._family(
                layout.FAMILY_BLOCKS, ttl_s, "ROWPREFIX_FIXED_LENGTH", {_PREFIX_LENGTH: str(layout.PREFIX_BYTES)}
            ),
            self._family(layout.FAMILY_DOCUMENTS, ttl_s, "ROW", {}),
            # The profile lives here: it must never expire.
            self._family(layout.FAMILY_INDEX, FOREVER_S, "ROW", {}),
        )

    @property
    def split_keys(self) -> list[bytes]:
        """The first keys of all regions but the first, at which the new table is split."""
        return [
            ((number << layout.SEGMENT_BITS) // self.regions).to_bytes(layout.SEGMENT_BYTES, "big")
            for number in range(1, self.regions)
        ]

    def _family(self, name: str, ttl_s: int, bloom: str, configuration: Mapping[str, str]) -> FamilySchema:
        settings = {
            "VERSIONS": "1",
            "BLOOMFILTER": bloom,
            "DATA_BLOCK_ENCODING": "FAST_DIFF",
            "COMPRESSION": self.compression,
            "TTL": str(ttl_s),
            "BLOCKCACHE": "true",
            "BLOCKSIZE": BLOCK_BYTES,
        }
        return FamilySchema(name=name, settings=settings, configuration=configuration)


def shell_script(schema: TableSchema, table: str) -> str:
    """Return a script for the HBase shell, with which an operator makes the table."""
    families = ""
    for family in schema.families:
        words = ", ".join(f"{name} => '{value}'" for name, value in {"NAME": family.name, **family.settings}.items())
        if family.configuration:
            words += f",\n   CONFIGURATION => {{{_words(family.configuration)}}}"
        families += f"  {{{words}}},\n"
    splits = ", ".join('"' + "".join(f"\\x{byte:02x}" for byte in key) + '"' for key in schema.split_keys)
    ending = f"  {{CONFIGURATION => {{{_words(TABLE_ATTRIBUTES)}}}"
    ending += f",\n   SPLITS => [{splits}]}}\n" if splits else "}\n"
    return f"create '{table}',\n{families}{ending}"


def thrift2_script(schema: TableSchema, table: str) -> str:
    """Return the Thrift 2 call that makes the table, as text for an operator."""
    namespace, _, name = table.rpartition(":")
    families = "".join(
        f"    TColumnFamilyDescriptor(name={family.name.encode()!r}, maxVersions={family.settings['VERSIONS']},"
        f" bloomnFilterType=TBloomFilterType.{family.settings['BLOOMFILTER']},"
        f" dataBlockEncoding=TDataBlockEncoding.{family.settings['DATA_BLOCK_ENCODING']},"
        f" compressionType=TCompressionAlgorithm.{family.settings['COMPRESSION']},"
        f" timeToLive={family.settings['TTL']}, blockCacheEnabled={family.settings['BLOCKCACHE'] == 'true'},"
        f" blockSize={family.settings['BLOCKSIZE']}, configuration={dict(family.configuration)!r}),\n"
        for family in schema.families
    )
    attributes = {key.encode(): value.encode() for key, value in TABLE_ATTRIBUTES.items()}
    return (
        "THBaseService.createTable(\n  TTableDescriptor(\n"
        f"    tableName=TTableName(ns={(namespace or 'default').encode()!r}, qualifier={name.encode()!r}),\n"
        f"    columns=[\n{families}    ],\n"
        f"    attributes={attributes!r},\n  ),\n  splitKeys={schema.split_keys!r},\n)\n"
    )


def _words(values: Mapping[str, str]) -> str:
    return ", ".join(f"'{name}' => '{value}'" for name, value in values.items())
