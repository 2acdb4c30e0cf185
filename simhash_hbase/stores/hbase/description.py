"""A table as a gateway describes it, compared with what it should be."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from simhash_hbase.schema import TABLE_ATTRIBUTES, TableSchema

__all__ = ["Description", "differences"]


class Description(NamedTuple):
    """What a gateway tells of a table; with Thrift 1, less than everything."""

    families: Mapping[str, Mapping[str, str]]
    """Family to settings and configuration, by the names of the HBase shell."""
    attributes: Mapping[str, str]
    """The table's own."""
    split_keys: list[bytes]
    """First keys of the regions but the first."""


def differences(schema: TableSchema, found: Description) -> tuple[str, ...]:
    """List where a table is not as it should be.

    Parameters
    ----------
    schema : TableSchema
        As it should be.
    found : Description
        As it is.

    Returns
    -------
    tuple of str
        A clause each.
    """
    return tuple(_differences(schema, found))


def _differences(schema: TableSchema, found: Description) -> Iterator[str]:
    for family in schema.families:
        held = found.families.get(family.name, {})
        for name, value in {**family.settings, **family.configuration}.items():
            if held.get(name) != value:
                yield f"family {family.name} has {name} {held.get(name, 'not known')} instead of {value}"
    for name, value in TABLE_ATTRIBUTES.items():
        if found.attributes.get(name) != value:
            yield f"the table has {name} {found.attributes.get(name, 'not known')} instead of {value}"
    if found.split_keys != schema.split_keys:
        yield f"the table has {len(found.split_keys) + 1} regions instead of {schema.regions}, or at other keys"
