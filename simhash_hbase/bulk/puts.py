"""Sorted puts through the seam: for stores without a bulk load, and for an HBase behind a gateway alone."""

from collections.abc import Iterable
from itertools import islice

from simhash_hbase.bulk.cells import CellBlock
from simhash_hbase.rows.keys import BlockRows
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Store

CELLS_A_CALL = 20_000
ROWS_A_CALL = 1 << 20


class StoreWriter:
    """Writes a load by puts."""

    way = "sorted puts"

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, cells: Iterable[CellBlock], rows: Iterable[BlockRows], *, timestamp: int) -> None:
        """Write sorted cells, then sorted block rows; see `Writer.write`."""
        for block in cells:
            single = block.cells(timestamp)
            while call := list(islice(single, CELLS_A_CALL)):
                self._store.put(FAMILY_DOCUMENTS, call)
        for some in rows:
            for first in range(0, len(some.prefixes), ROWS_A_CALL):
                part = slice(first, first + ROWS_A_CALL)
                self._store.put_rows(BlockRows(some.prefixes[part], some.simhashes[part]), timestamp=timestamp)
