"""Progress of a walk through an index, by its keys: these spread evenly, so nothing has to be counted first."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from simhash_hbase.rows.keys import ALL_PREFIXES, BlockRows, row_prefix
from simhash_hbase.stores.base import Cell

PAGE = 10_000  # Cells or rows that are read at a time.

T = TypeVar("T")

Watch = Callable[[int, float], None]
"""Called with the number of cells and rows that are done with, and with the share of the work that is, 0 to 1."""


class Progress:
    """Reports to a watcher after every page."""

    def __init__(self, watch: Watch | None, *, passes: int = 2) -> None:
        self._watch = watch
        self._passes = passes
        self._count = 0

    def cells(self, pages: Iterable[list[Cell]], *, before: int = 0) -> Iterator[list[Cell]]:
        """Hand on pages of cells; so many passes were made before."""
        return self.pages(pages, lambda page: (len(page), row_prefix(page[-1].row)), before=before)

    def rows(self, pages: Iterable[BlockRows], *, before: int = 0) -> Iterator[BlockRows]:
        """Hand on pages of block rows; so many passes were made before."""
        return self.pages(pages, lambda page: (len(page.prefixes), int(page.prefixes[-1])), before=before)

    def pages(self, pages: Iterable[T], last: Callable[[T], tuple[int, int]], *, before: int = 0) -> Iterator[T]:
        """Hand on pages in the order of their keys; `last` gives a page's size and the prefix of its last row."""
        for page in pages:
            yield page
            count, prefix = last(page)
            self._count += count
            if self._watch is not None:
                self._watch(self._count, (before + prefix / ALL_PREFIXES) / self._passes)
