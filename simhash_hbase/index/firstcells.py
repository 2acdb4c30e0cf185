"""Writing the first document cells of many ids at the price of a put, so that no late request undoes a later change.

A compare-and-set costs a server as much as thirty cells of a put, and an empty cell needs less than one. A put that is
stamped when it is executed may be executed late, by a gateway that stood still, and cover what was changed and
acknowledged meanwhile. So a first cell carries a timestamp below all that the server's clock still gives: it never
covers what a compare-and-set wrote, however late or often it arrives. Of several that are put into one cell the highest
timestamp stands, in whatever order they arrive: what was covered once does not come back. A writer counts its cell as
written once it has read it back; every other change of a document cell is a compare-and-set.

A claim's first cell decides nothing yet, so its timestamp is below those of all decisions, `claim_time`. That of a
decision, `time_below`, is above what `vacuum` has deleted.
"""

from collections.abc import Sequence

from simhash_hbase.index.servertime import time_below
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell, CompareAndSet, Store, Transactional

TOKEN_BYTES = 5
# As a time of day it is in 2004.
ABOVE_TOKENS = 1 + 256**TOKEN_BYTES
# One compare-and-set takes less time than a put and a second read; several take more.
FEW = 1


def put_first(store: Store, cells: Sequence[Cell]) -> list[bool]:
    """Write cells into empty ones and read them back."""
    if not cells:
        return []
    store.put(FAMILY_DOCUMENTS, cells)
    found = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [held is not None and held.value == cell.value for held, cell in zip(found, cells, strict=True)]


def claim_time(token: bytes) -> int:
    """Choose the timestamp of a claim's first cell: below all decisions, and another one for every attempt."""
    return 1 + int.from_bytes(token[:TOKEN_BYTES], "big")


def decision_time(store: Store, count: int) -> int | None:
    """Choose the timestamp of first cells that hold decisions; to be called before the cells are read."""
    if count <= FEW or isinstance(store, Transactional) or not isinstance(store, CompareAndSet):
        return None
    below = time_below(store)
    return below if below >= ABOVE_TOKENS else None
