"""The table of an index: made, read back and compared, or found."""

from functools import partial

from simhash_hbase.errors import IndexExists, IndexMissing, NotAnIndex, Retryable, StoreRefused
from simhash_hbase.layout import FAMILIES, FAMILY_INDEX
from simhash_hbase.schema import TableSchema
from simhash_hbase.stores.hbase.admin1 import Admin1
from simhash_hbase.stores.hbase.admin2 import Admin2
from simhash_hbase.stores.hbase.description import Description, differences
from simhash_hbase.stores.hbase.gateways import Gateways

__all__ = ["create_table", "find_table"]


def create_table(gateways: Gateways, schema: TableSchema) -> tuple[str, ...]:
    """Make the table, or take over one that an operator made and nobody has used.

    Parameters
    ----------
    gateways : Gateways
        Connected.
    schema : TableSchema
        What it is to be.

    Returns
    -------
    tuple of str
        What is not as it should be, a clause each: with Thrift 1, or in an operator's table.

    Raises
    ------
    IndexExists
        When there is a table with an index.
    StoreRefused
        When the server made another table than it was asked for.
    """
    admin = gateways.admin
    found = _describe(gateways)
    if found is not None:
        _check_families(gateways, found)
        _check_unused(gateways)
        return differences(schema, found, unknown=admin.makes_everything)
    _make(gateways, admin, schema)
    made = _describe(gateways)
    if made is None:
        raise StoreRefused(f"table {gateways.options.table} is not there after it was made")
    wrong = differences(schema, made)
    if wrong and admin.makes_everything:
        raise StoreRefused(f"table {gateways.options.table} was made, but not as asked: {'; '.join(wrong)}")
    return wrong


def find_table(gateways: Gateways) -> None:
    """Check that there is a table for an index, and that it can be used.

    Raises
    ------
    IndexMissing
        When there is none.
    NotAnIndex
        When it lacks a family.
    StoreRefused
        When it is disabled.
    """
    found = _describe(gateways)
    if found is None:
        raise IndexMissing(f"there is no table {gateways.options.table}: simhash-hbase create makes one")
    _check_families(gateways, found)
    if gateways.exchange.one(gateways.admin.is_disabled):
        raise StoreRefused(f"table {gateways.options.table} is disabled: enable it in the HBase shell")


def _describe(gateways: Gateways) -> Description | None:
    try:
        return gateways.exchange.one(gateways.admin.describe)
    except IndexMissing:
        return None


def _make(gateways: Gateways, admin: Admin1 | Admin2, schema: TableSchema) -> None:
    """Make the table; when the answer is lost, see whether it was made."""
    try:
        gateways.exchange.one(partial(admin.create, schema), repeat=False, timeout_s=gateways.options.deadline_s)
    except Retryable:
        if _describe(gateways) is None:
            raise


def _check_families(gateways: Gateways, found: Description) -> None:
    missing = [family for family in FAMILIES if family not in found.families]
    if missing:
        raise NotAnIndex(
            f"table {gateways.options.table} was made for other data: it lacks the families {', '.join(missing)}"
        )


def _check_unused(gateways: Gateways) -> None:
    """Refuse a table with an index: its profile is in family ``m``."""
    if gateways.exchange.one(partial(gateways.driver.scan_cells, FAMILY_INDEX, b"", b"", 1, 1)):
        raise IndexExists(f"there is an index in table {gateways.options.table} already")
