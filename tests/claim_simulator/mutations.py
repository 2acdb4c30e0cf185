"""Parts of the protocol that can be taken out, each by replacing functions of the package."""

from collections.abc import Sequence

import msgspec

from simhash_hbase.index import dedup, documentrows, search
from simhash_hbase.index.claim import machine, protocol
from simhash_hbase.index.claim.machine import ClaimBatch, Step, as_duplicate, as_original
from simhash_hbase.index.documentrows import put_first, read_states
from simhash_hbase.index.timestamps import ServerClock
from simhash_hbase.rows.documentcells import DocumentState, Outcome, Text
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.stores.base import Cell

_begun, _put_first = machine._begun, put_first
_decision_time, _entry_rows = ServerClock.decision_time, documentrows.entry_rows
_as_pending, _judge_pending = machine.as_pending, protocol.Verdicts.judge_pending


def take_out(name: str | None) -> None:
    """Take a part out, in this process for good; a key of `MUTATIONS`, or None for nothing."""
    for module, replaced, mutant in MUTATIONS[name] if name else ():
        assert hasattr(module, replaced), f"there is no {replaced} any more"
        setattr(module, replaced, mutant)


def _find_nobody(run, claims) -> None:
    """Leave out the second query."""
    for claim in claims:
        claim.near = []
        claim.step = Step.LOOK


def _become_its_duplicate(claim, pending, to):
    """Do not yield to a claim with a smaller order and wait for what becomes of it: trust that it wins."""
    named = Outcome("duplicate", to.id, to.distance, to.similarity, to.containment, to.text)
    return as_duplicate(claim, named, now=0)


def _start_over_blindly(run, claims) -> None:
    """Do not ask what the own cell says after a compare-and-set that was refused or not answered: just try again."""
    for claim, held in zip(claims, read_states(run.store, [claim.id for claim in claims]), strict=True):
        run.start_over(claim)
        claim.state, claim.value = held or (None, None)
        claim.step = Step.QUERY


def _pass_expired(verdicts, claim, state) -> None:
    """Take expired originals for no obstacle, and leave them as they are."""
    _judge_pending(verdicts, claim, state)
    if verdicts.expired:
        verdicts.expired.clear()
        verdicts.own.append((claim, as_original(state)))


def _block_rows_alone(profile, entries, *, with_blocks=None, with_bands=None):
    """Leave out the rows of sketches that are written; the simulator asks for all rows of a document."""
    if with_blocks is None:
        return _entry_rows(profile, entries)
    return block_rows(profile.blocks, entries.simhashes[with_blocks])


def _put_and_hope(store, cells: Sequence[Cell]) -> list[bool]:
    """Leave out the reading back."""
    if cells:
        store.put("d", cells)
    return [True] * len(cells)


def _put_unstamped(store, cells: Sequence[Cell]) -> list[bool]:
    """Let the server stamp first cells when it writes them."""
    return _put_first(store, [cell._replace(timestamp=None) for cell in cells])


def _below_claims(server_clock) -> int | None:
    """Put the first cells of additions below those of claims."""
    return _decision_time(server_clock) and 1


def _without_previous(claim, **times) -> DocumentState:
    """Forget the decision for another text."""
    return msgspec.structs.replace(_as_pending(claim, **times), previous=None)


def _at_own_time(claim, state, now, previous) -> DocumentState:
    """Stamp members by the writer's clock, wherever those before lie."""
    return msgspec.structs.replace(_begun(claim, state, now, previous), stamp=now)


def _with_equal_bytes(now: int, *stamps: int) -> int:
    """Stamp cells by the writer's clock alone, so that a cell may come to hold what it held before."""
    return now


MUTATIONS = {
    "second-query": [(protocol, "second_query", _find_nobody)],
    "yielding": [(machine, "give_way", _become_its_duplicate)],
    "own-cell": [(ClaimBatch, "look_again", _start_over_blindly)],
    "sketch-rows": [(documentrows, "entry_rows", _block_rows_alone)],
    "copies": [(machine, "document_cells", lambda entries, states: [])],
    "collections": [(search, "collection_of", lambda stored: ""), (dedup, "collection_of", lambda stored: "")],
    "previous": [(machine, "as_pending", _without_previous)],
    "text": [(DocumentState, "found_under", lambda state, text, since=0: state.found(since))],
    "digest": [(Text, "is_same", lambda one, other: one.simhash == other.simhash)],
    "stamps": [(machine, "_begun", _at_own_time)],
    "raising": [(documentrows, "stamp_above", _with_equal_bytes)],
    "refresh": [(ClaimBatch, "refresh", lambda run, named: set())],
    "expiry": [(protocol.Verdicts, "judge_pending", _pass_expired)],
    "below": [(machine, "put_first", _put_unstamped)],
    "placed": [(documentrows, "put_first", _put_unstamped)],
    "above-claims": [(ServerClock, "decision_time", _below_claims)],
    "read-back": [(documentrows, "put_first", _put_and_hope)],
}
