"""How far a walk through an index is: told by the keys, which spread evenly, so that nothing is counted first."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from simhash_hbase.rows.keys import BlockRows
from simhash_hbase.rows.layout import FLAG_BITS, PREFIX_BITS, SEGMENT_BITS, SEGMENT_BYTES
from simhash_hbase.stores.base import Cell

PAGE = 10_000
"""Cells or rows that are read at a time."""
ALL_PREFIXES = 1 << PREFIX_BITS

T = TypeVar("T")

Watch = Callable[[int, float], None]
"""Called with the number of cells and rows that are done with, and with the share of the work that is, 0 to 1."""


class Walk:
    """Tells a watcher how far it is after every page."""

    def __init__(self, watch: Watch | None, *, passes: int = 2) -> None:
        self._watch = watch
        self._passes = passes
        self._count = 0

    def cells(self, pages: Iterable[list[Cell]], *, before: int = 0) -> Iterator[list[Cell]]:
        """Hand on pages of cells; so many passes were made before."""
        return self.pages(pages, lambda page: (len(page), page[-1].row), before=before)

    def rows(self, pages: Iterable[BlockRows], *, before: int = 0) -> Iterator[BlockRows]:
        """Hand on pages of block rows; so many passes were made before."""
        return self.pages(pages, _last_row, before=before)

    def pages(self, pages: Iterable[T], last: Callable[[T], tuple[int, bytes]], *, before: int = 0) -> Iterator[T]:
        """Hand on pages in the order of their keys."""
        for page in pages:
            yield page
            count, key = last(page)
            self._count += count
            if self._watch is not None:
                passed = int.from_bytes(key[:SEGMENT_BYTES], "big") / (1 << SEGMENT_BITS)
                self._watch(self._count, (before + passed) / self._passes)


def _last_row(page: BlockRows) -> tuple[int, bytes]:
    return len(page.prefixes), (int(page.prefixes[-1]) >> FLAG_BITS).to_bytes(SEGMENT_BYTES, "big")
