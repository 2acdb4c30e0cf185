"""The table of an index: making it and comparing its description, or finding it."""

from collections.abc import Iterator, Mapping
from functools import partial

from simhash_hbase.errors import IndexExists, IndexMissing, NotAnIndex, Retryable, StoreRefused
from simhash_hbase.rows.layout import FAMILIES, FAMILY_INDEX
from simhash_hbase.rows.table import TABLE_ATTRIBUTES, TableSchema
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.thrift.driver import Description
from simhash_hbase.stores.hbase.thrift.translate import AccessDenied

# No row of an index has this key, and reading it needs only the permission that every reader has.
NO_ROW = b"\0"


def create_table(gateways: Gateways, schema: TableSchema) -> tuple[str, ...]:
    """Make the table, or take over one that an operator made and nobody has used."""
    try:
        found = _describe(gateways)
    except AccessDenied:
        return _take_over_unread(gateways)
    driver = gateways.driver
    if found is not None:
        _check_families(gateways, [family for family in FAMILIES if family not in found.families])
        _check_unused(gateways)
        return differences(schema, found, unknown=driver.makes_everything)
    _make(gateways, schema)
    made = _describe(gateways)
    if made is None:
        raise StoreRefused(f"table {gateways.options.table} is not there after it was made")
    wrong = differences(schema, made)
    if wrong and driver.makes_everything:
        raise StoreRefused(f"table {gateways.options.table} was made, but not as asked: {'; '.join(wrong)}")
    return wrong


def find_table(gateways: Gateways) -> tuple[str, ...]:
    """Check that there is a table for an index, and that it can be used; nothing is known to be missing in it.

    HBase shows a table's description only to users with permission to make or change it, so only `create_table` reads
    the description.
    """
    if gateways.exchange.one(gateways.driver.is_disabled):
        raise StoreRefused(f"table {gateways.options.table} is disabled: enable it in the HBase shell")
    _check_families(gateways, [family for family in FAMILIES if _lacks(gateways, family)])
    return ()


def _describe(gateways: Gateways) -> Description | None:
    try:
        return gateways.exchange.one(gateways.driver.describe)
    except IndexMissing:
        return None


def _make(gateways: Gateways, schema: TableSchema) -> None:
    """Make the table; when the answer is lost, check whether the table is there."""
    try:
        gateways.exchange.one(
            partial(gateways.driver.create, schema), repeat=False, timeout_s=gateways.options.deadline_s
        )
    except Retryable:
        if _describe(gateways) is None:
            raise


def _take_over_unread(gateways: Gateways) -> tuple[str, ...]:
    """Take over an operator's table whose description the gateway's user may not read."""
    find_table(gateways)
    _check_unused(gateways)
    return ("its settings are not known: reading them needs the permission C or A on the table",)


def _lacks(gateways: Gateways, family: str) -> bool:
    try:
        gateways.exchange.one(partial(gateways.driver.get, family, [(NO_ROW, b"")]))
    except NotAnIndex:
        return True
    return False


def _check_families(gateways: Gateways, missing: list[str]) -> None:
    if missing:
        raise NotAnIndex(
            f"table {gateways.options.table} was made for other data: it lacks the families {', '.join(missing)}"
        )


def _check_unused(gateways: Gateways) -> None:
    """Refuse a table with an index: its profile is in family ``m``."""
    if gateways.exchange.one(partial(gateways.driver.scan_cells, FAMILY_INDEX, b"", b"", 1, 1)):
        raise IndexExists(f"there is an index in table {gateways.options.table} already")


def differences(schema: TableSchema, found: Description, *, unknown: bool = True) -> tuple[str, ...]:
    """List the settings of a table that are not as they should be."""
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
