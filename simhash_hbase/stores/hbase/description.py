"""A table as a gateway describes it, compared with what it should be."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from simhash_hbase.rows.table import TABLE_ATTRIBUTES, TableSchema


class Description(NamedTuple):
    """What a gateway tells of a table; with Thrift 1, less than everything."""

    families: Mapping[str, Mapping[str, str]]
    """Family to settings and configuration, by the names of the HBase shell."""
    attributes: Mapping[str, str]
    """The table's own."""
    split_keys: list[bytes]
    """First keys of the regions but the first."""


def differences(schema: TableSchema, found: Description, *, unknown: bool = True) -> tuple[str, ...]:
    """List where a table is not as it should be."""
    return tuple(_differences(schema, found, unknown))


def _differences(schema: TableSchema, found: Description, unknown: bool) -> Iterator[str]:
    for family in schema.families:
        wanted = {**family.settings, **family.configuration}
        yield from _wrong(f"family {family.name}", wanted, found.families.get(family.name, {}), unknown)
    yield from _wrong("the table", TABLE_ATTRIBUTES, found.attributes, unknown)
    if found.split_keys != schema.split_keys:
        yield f"the table has {len(found.split_keys) + 1} regions instead of {schema.regions}, or at other keys"


def _wrong(what: str, wanted: Mapping[str, str], held: Mapping[str, str], unknown: bool) -> Iterator[str]:
    for name, value in wanted.items():
        if held.get(name) != value and (unknown or name in held):
            yield f"{what} has {name} {held.get(name, 'not known')} instead of {value}"
