"""Making claims of new ids pending: many document cells at the price of a put; see `simhash_hbase.index.placing`.

A claim is pending when it has read its value back, and a later compare-and-set that finds the value there proves that
everybody saw it in between.
"""

from collections.abc import Sequence

from simhash_hbase.index.claim.batch import Claim, Run, SwappingStore
from simhash_hbase.index.placing import of_token
from simhash_hbase.index.placing import place as place_cells
from simhash_hbase.rows.documents import DocumentState, encode
from simhash_hbase.rows.layout import STATE_QUALIFIER
from simhash_hbase.stores.base import Cell


def can_be_placed(run: Run, claim: Claim, new: DocumentState) -> bool:
    """Tell whether a cell may be written that way.

    A family with a time to live takes so old a cell for expired. A delete that `vacuum` made hides it: then the second
    attempt compares and sets.
    """
    return new.state == "pending" and claim.value is None and not claim.failed and run.profile.ttl_ms is None


def place(store: SwappingStore, wanted: Sequence[tuple[Claim, DocumentState]]) -> list[bool]:
    """Write pending cells into empty ones and read them back; tell whether each one stands."""
    return place_cells(
        store, [Cell(claim.row, STATE_QUALIFIER, encode(new), of_token(new.token)) for claim, new in wanted]
    )
