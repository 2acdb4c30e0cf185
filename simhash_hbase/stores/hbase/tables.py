"""The table of an index: made, read back and compared, or found."""

from functools import partial

from simhash_hbase.errors import IndexExists, IndexMissing, NotAnIndex, Retryable, StoreRefused
from simhash_hbase.rows.layout import FAMILIES, FAMILY_INDEX
from simhash_hbase.rows.table import TableSchema
from simhash_hbase.stores.hbase.description import Description, differences
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.thrift.admin1 import Admin1
from simhash_hbase.stores.hbase.thrift.admin2 import Admin2
from simhash_hbase.stores.hbase.thrift.translate import AccessDenied

# No row of an index has it, and reading it needs just the permission that every reader has.
NO_ROW = b"\0"


def create_table(gateways: Gateways, schema: TableSchema) -> tuple[str, ...]:
    """Make the table, or take over one that an operator made and nobody has used."""
    try:
        found = _describe(gateways)
    except AccessDenied:
        return _take_over_unread(gateways)
    admin = gateways.admin
    if found is not None:
        _check_families(gateways, [family for family in FAMILIES if family not in found.families])
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

    To read a table's description, HBase asks for the permission to make or change it, so that is left to
    `create_table`.
    """
    if gateways.exchange.one(gateways.admin.is_disabled):
        raise StoreRefused(f"table {gateways.options.table} is disabled: enable it in the HBase shell")
    _check_families(gateways, [family for family in FAMILIES if _lacks(gateways, family)])


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
