"""Checks of arguments that every store makes alike."""

from collections.abc import Iterable

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FAMILY_INDEX
from simhash_hbase.stores.base import Cell

CELL_FAMILIES = (FAMILY_DOCUMENTS, FAMILY_INDEX)


def check_positive(name: str, value: int) -> None:
    """Refuse a limit or a page size below one."""
    if value < 1:
        raise InvalidArgument(f"{name} is {value}: wanted at least 1")


def check_cell_family(family: str, **sizes: int) -> None:
    """Refuse a family that holds no cells, and limits and page sizes below one."""
    if family not in CELL_FAMILIES:
        raise InvalidArgument(f"family {family!r}: cells are kept in {' and '.join(CELL_FAMILIES)}")
    for name, value in sizes.items():
        check_positive(name, value)


def check_deletions(family: str, cells: Iterable[Cell]) -> None:
    """Refuse deletions without a timestamp."""
    check_cell_family(family)
    for cell in cells:
        if cell.timestamp is None:
            raise InvalidArgument(f"deleting a cell of row {cell.row.hex()} needs a timestamp up to which to delete")
