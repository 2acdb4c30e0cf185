"""Scans through all cells and search rows of an index, a page at a time, which report their progress.

Progress is computed from the position in the key space: keys spread evenly, so nothing has to be counted first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.profile import Profile
from simhash_hbase.rows import checksums, documentcells, keys, layout
from simhash_hbase.stores.base import Cell, Store, Transactional

PAGE = 10_000  # Cells or rows that are read at a time.
PASSAGE_ROWS = 1 << 19
"""Rows that are checked at a time in an index that keeps passages. A member is read once for all of its rows among
them: of a book of 100,000 passages, page by page, its 800 kB would be read for nearly every row."""

T = TypeVar("T")

ProgressCallback = Callable[[int, float], None]
"""Called with the number of cells and rows done so far, and with the share of the work that is done, 0 to 1."""


DamageCallback = Callable[[bytes, CorruptIndex], None]
"""Called with the row of each damaged cell, and with the error that says what is wrong."""


class DocumentPage(NamedTuple):
    """The decoded document cells among one page of cells, and where the next page begins.

    A document cell has the decision about one document, in the row of its id.
    """

    states: list[documentcells.DocumentState]
    after: bytes  # The row at which a later walk continues after this page.


def pass_of(watch: ProgressCallback | None, number: int, *, passes: int) -> ProgressCallback | None:
    """Return the progress callback for scan `number`, from 0, of several scans that count as one task.

    `passes` is the number of scans. None if `watch` is None.
    """
    return watch and (lambda count, share: watch(count, (number + share) / passes))


class Walk:
    """A scan through pages of cells and search rows, which calls a `ProgressCallback` after every page.

    Search rows lead from hashes (of blocks of a fingerprint, bands of a sketch, passages) to fingerprints.
    """

    def __init__(self, watch: ProgressCallback | None = None, *, passes: int = 2) -> None:
        self._watch = watch
        self._passes = passes
        self._count = 0

    def cells(self, pages: Iterable[list[Cell]], *, before: int = 0) -> Iterator[list[Cell]]:
        """Yield these pages of cells, and report the progress after each page.

        `before` is the number of scans of the same task that were finished before this one.
        """
        return self.pages(pages, lambda page: (len(page), keys.row_prefix(page[-1].row)), before=before)

    def rows(self, pages: Iterable[keys.BlockRows], *, before: int = 0) -> Iterator[keys.BlockRows]:
        """Yield these pages of search rows, and report the progress after each page; `before` is as for `cells`."""
        return self.pages(pages, lambda page: (len(page.prefixes), int(page.prefixes[-1])), before=before)

    def pages(self, pages: Iterable[T], last: Callable[[T], tuple[int, int]], *, before: int = 0) -> Iterator[T]:
        """Yield these pages, and report the progress after each; `before` is as for `cells`.

        `last` returns the number of items on a page, and the prefix of its last row.
        """
        for page in pages:
            yield page
            count, prefix = last(page)
            self._count += count
            if self._watch is not None:
                self._watch(self._count, (before + prefix / keys.ALL_PREFIXES) / self._passes)


def all_rows(store: Store, profile: Profile) -> Iterator[keys.BlockRows]:
    """Yield all search rows of an index in pages, or in groups of many pages if the index keeps passages."""
    pages = iter(store.scan_range(0, keys.ALL_PREFIXES, page=PAGE))
    if profile.passages is None:
        yield from pages
    while held := list(islice(pages, PASSAGE_ROWS // PAGE)):
        yield keys.BlockRows(*map(np.concatenate, zip(*held, strict=True)))


def scan_documents(
    store: Store, watch: ProgressCallback | None = None, on_damage: DamageCallback | None = None, *, start: bytes = b""
) -> Iterator[DocumentPage]:
    """Yield all document cells, decoded, or those from row `start` on, a page at a time, ordered by the digests of ids.

    A damaged cell is skipped and reported to `on_damage`; without `on_damage` it raises `CorruptIndex`.
    """
    walk = Walk(watch, passes=1)
    for cells in walk.cells(store.scan_cells(layout.FAMILY_DOCUMENTS, start, None, page=PAGE)):
        states = []
        for cell in cells:
            if keys.row_flag(cell.row) != layout.FLAG_DOCUMENT:
                continue
            try:
                states.append(documentcells.document_at((cell.row, cell.qualifier), cell.value))
            except CorruptIndex as error:
                if on_damage is None:
                    raise
                on_damage(cell.row, error)
        # The rest of a row that the page has cut is no document: a document's row has one cell.
        yield DocumentPage(states, cells[-1].row + b"\0")


def decode_cells(
    cells: Sequence[Cell], bands: int, on_damage: DamageCallback | None = None
) -> tuple[list[tuple[Cell, documentcells.DocumentState]], list[Cell]]:
    """Return the document cells with their decoded content, and, as a second list, all damaged cells of any kind.

    A damaged cell does not decode or is in another row than its id's. `on_damage` is called with the row of each.
    """
    decoded, damaged = [], []
    for cell in cells:
        try:
            key, flag = (cell.row, cell.qualifier), keys.row_flag(cell.row)
            if flag == layout.FLAG_DOCUMENT:
                decoded.append((cell, documentcells.document_at(key, cell.value)))
                continue
            member = documentcells.decode_member(cell.value, bands=bands)
            is_member = flag == layout.FLAG_MEMBERS and documentcells.is_member_of(key, member)
            is_copy = flag == layout.FLAG_COPIES and documentcells.is_copy_of(key, member)
            if not (is_member or is_copy):
                raise CorruptIndex("a cell is not in the row of its id")  # noqa: TRY301
        except CorruptIndex as error:
            damaged.append(cell)
            if on_damage is not None:
                on_damage(cell.row, error)
    return decoded, damaged


def with_wrong_checksum(profile: Profile, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells whose checksum does not fit their bytes; none in an index without checksums."""
    return [cell for cell in cells if profile.checksums and not checksums.is_sealed(cell.value)]


def with_sound_document(store: Store, profile: Profile, cells: Sequence[Cell]) -> list[Cell]:
    """Return the member cells and entries of copies whose id has an intact document cell or none.

    A member cell stands for one document, in the row of its fingerprint; its document cell, in the row of its id, has
    the decision about it. An entry of a list of copies names a duplicate, in the row of its original.
    """
    digests = [cell.qualifier[: layout.ID_DIGEST_BYTES] for cell in cells]
    documents = store.get(layout.FAMILY_DOCUMENTS, list(map(keys.document_key, digests)))
    pairs = zip(cells, documents, strict=True)
    return [cell for cell, document in pairs if document is None or not with_wrong_checksum(profile, [document])]


def up_to_date(store: Store, cells: Sequence[Cell]) -> list[Cell]:
    """Return cells as they are in the store by now, without those deleted since, to be used in a transaction.

    In a store without transactions, where others write all the time, return the cells as given.
    """
    # Without a transaction others write all the time: to read again would be no fresher.
    if not isinstance(store, Transactional):
        return list(cells)
    again = store.get(layout.FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [cell for cell in again if cell is not None]
