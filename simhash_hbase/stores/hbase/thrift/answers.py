"""Parts of the answers of either Thrift interface, checked and decoded."""

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from simhash_hbase.rows.layout import BLOCK_ROW_BYTES
from simhash_hbase.stores.base import Cell, RegionPlace
from simhash_hbase.stores.hbase.sockets import UnreadableAnswer

T = TypeVar("T")


def after_qualifier(qualifier: bytes) -> bytes:
    """Return a filter, in HBase's filter language, for the cells of a row whose qualifiers come after this one.

    Examples
    --------
    >>> after_qualifier(b"it's")
    b"ColumnRangeFilter ('it''s', false, '', false)"
    """
    return b"ColumnRangeFilter ('" + qualifier.replace(b"'", b"''") + b"', false, '', false)"


def region_place(start: bytes | None, host: bytes | None, port: int | None) -> RegionPlace:
    """Return a `RegionPlace` from a region's first key, host and port in an answer, each of which may be None.

    Examples
    --------
    >>> region_place(None, b"node7", 16020)
    RegionPlace(start=b'', server='node7:16020')
    """
    return RegionPlace(start or b"", f"{host.decode()}:{port}" if host else "")


def present(values: list[T | None]) -> list[T]:
    """Return values of an answer, all of which must be there; raise `UnreadableAnswer` if one is None."""
    if None in values:
        raise UnreadableAnswer("a part of an answer is absent")
    return cast(list[T], values)


def whole(cells: list[Cell]) -> list[Cell]:
    """Return cells of an answer; raise `UnreadableAnswer` if one lacks its row, qualifier, value or timestamp."""
    if any(None in cell for cell in cells):
        raise UnreadableAnswer("a part of a cell is absent")
    return cells


def block_keys(results: Sequence[Any]) -> list[bytes]:
    """Return the keys of block rows (prefix and fingerprint) in an answer.

    Raises `UnreadableAnswer` for keys of another length than 13 bytes.
    """
    keys = present([result.row for result in results])
    if keys and set(map(len, keys)) != {BLOCK_ROW_BYTES}:
        raise UnreadableAnswer("a key of a block row has another length")
    return keys


def decoded(value: bytes | str) -> str:
    """Return a name or a setting as text; a gateway may send it as bytes or as text."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def boolean(value: object) -> str:
    """Return ``true`` or ``false`` for a setting, as the HBase shell writes it."""
    return "true" if value else "false"
