"""Making claims of new ids pending: many document cells at the price of a put.

A compare-and-set costs a server as much as thirty cells of a put, and becoming pending in an empty cell needs less
than one. The cell is put at a timestamp below every clock, so it never covers what a compare-and-set or a plain put
wrote, however late it arrives. Of several that are put into one cell the highest timestamp stands, in whatever order
and however often they arrive: what was covered once does not come back. A claim is pending when it has read its value
back, and a later compare-and-set that finds the value there proves that everybody saw it in between.
"""

from collections.abc import Sequence

from simhash_hbase.claim.run import Claim, Run, SwappingStore
from simhash_hbase.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.records import DocumentState, encode
from simhash_hbase.stores.base import Cell

__all__ = ["can_be_placed", "place"]

# As milliseconds these timestamps end in 2004.
RANK_BYTES = 5


def can_be_placed(run: Run, claim: Claim, new: DocumentState) -> bool:
    """Tell whether a cell may be written that way.

    A family with a time to live takes so old a cell for expired. A delete that `vacuum` made hides it: then the second
    attempt compares and sets.
    """
    return new.state == "pending" and claim.value is None and not claim.failed and run.profile.ttl_ms is None


def place(store: SwappingStore, wanted: Sequence[tuple[Claim, DocumentState]]) -> list[bool]:
    """Write pending cells and read them back.

    Parameters
    ----------
    store : SwappingStore
        Holds the index.
    wanted : sequence of (Claim, DocumentState)
        Claims whose cells were empty, and what to write.

    Returns
    -------
    list of bool
        Whether each one stands.
    """
    cells = [Cell(claim.row, STATE_QUALIFIER, encode(new), _rank(new.token)) for claim, new in wanted]
    store.put(FAMILY_DOCUMENTS, cells)
    found = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [held is not None and held.value == cell.value for held, cell in zip(found, cells, strict=True)]


def _rank(token: bytes) -> int:
    """Choose a timestamp that no other attempt has."""
    return 1 + int.from_bytes(token[:RANK_BYTES], "big")
