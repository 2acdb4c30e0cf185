"""Parts of the protocol that can be taken out: those of the search, and more."""

from collections.abc import Sequence

import msgspec
from claim_search import mutations as search
from claim_search.mutations import TRANSACTION

from simhash_hbase.index import dedup, write
from simhash_hbase.index import search as found
from simhash_hbase.index.claim import commit as commits
from simhash_hbase.index.claim import state, steps, verdict
from simhash_hbase.rows.documents import DocumentState, Text
from simhash_hbase.stores.base import Cell

_as_pending, _begun, _next_state, _put_first = steps.as_pending, state._begun, write._next_state, write.put_first


def take_out(name: str) -> None:
    """Take a part out, in this process for good; a key of `MUTATIONS`."""
    for module, replaced, mutant in MUTATIONS[name]:
        assert hasattr(module, replaced), f"there is no {replaced} any more"
        setattr(module, replaced, mutant)


def _put_and_hope(store, cells: Sequence[Cell]) -> list[bool]:
    """Leave out the reading back."""
    if cells:
        store.put("d", cells)
    return [True] * len(cells)


def _put_unstamped(store, cells: Sequence[Cell]) -> list[bool]:
    """Let the server stamp first cells when it writes them."""
    return _put_first(store, [cell._replace(timestamp=None) for cell in cells])


def _without_previous(claim, **times) -> DocumentState:
    """Forget the decision for another text."""
    return msgspec.structs.replace(_as_pending(claim, **times), previous=None)


def _at_own_time(claim, state, now, previous) -> DocumentState:
    """Stamp members by the writer's clock, wherever those before lie."""
    return msgspec.structs.replace(_begun(claim, state, now, previous), stamp=now)


def _with_equal_bytes(name: str, text: Text, order: tuple[int, int], *given) -> DocumentState:
    """Stamp cells by the writer's clock alone, so that a cell may come to hold what it held before."""
    now, _ = order
    return msgspec.structs.replace(_next_state(name, text, order, *given), stamp=now)


MUTATIONS = {
    **{name: [mutation] for name, mutation in search.MUTATIONS.items() if name != TRANSACTION},
    "collections": [(found, "collection_of", lambda stored: ""), (dedup, "collection_of", lambda stored: "")],
    "previous": [(steps, "as_pending", _without_previous)],
    "text": [(DocumentState, "found_under", lambda state, text, since=0: state.found(since))],
    "digest": [(Text, "is_same", lambda one, other: one.simhash == other.simhash)],
    "stamps": [(state, "_begun", _at_own_time), (write, "_next_state", _with_equal_bytes)],
    "refresh": [(module, "refresh", lambda run, named: set()) for module in (steps, verdict)],
    "below": [(commits, "put_first", _put_unstamped)],
    "placed": [(write, "put_first", _put_unstamped)],
    "read-back": [(write, "put_first", _put_and_hope)],
}
