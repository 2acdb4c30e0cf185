"""The document cells that claims write: what to, and nothing of how."""

import msgspec

from simhash_hbase.index.claim.machine import Claim, Neighbour
from simhash_hbase.index.write import Outcome
from simhash_hbase.rows.documents import DocumentState, State


def as_pending(claim: Claim, *, now: int, oldest: int) -> DocumentState:
    """Make the cell of a claim that begins; a decision for another text stays in force beside it."""
    previous = claim.state and claim.state.shown(oldest)
    if previous and previous.text == claim.text:
        previous = None
    if previous and previous.is_found:
        # An original that is offered again, if only to be replaced, does not expire on the way. A duplicate may:
        # its original was not named.
        previous = msgspec.structs.replace(previous, seen=max(now, previous.seen))
    return _begun(claim, "pending", now, previous)


def as_duplicate(claim: Claim, outcome: Outcome, *, now: int) -> DocumentState:
    """Make the cell of a duplicate, whatever stands there now."""
    new = claim.state if claim.holds_cell else None
    return msgspec.structs.replace(
        new or _begun(claim, "duplicate", now, None),
        state="duplicate",
        previous=None,
        of=outcome.of,
        distance=outcome.distance,
        similarity=outcome.similarity,
        of_text=outcome.of_text,
    )


def as_pending_again(yielded: DocumentState) -> DocumentState:
    """Make the cell of a claim that had given way."""
    return _anew(yielded, "pending")


def as_original(pending: DocumentState) -> DocumentState:
    """Make the cell of an original."""
    return msgspec.structs.replace(pending, state="original", previous=None)


def give_way(claim: Claim, pending: DocumentState, to: Neighbour) -> DocumentState:
    """Make the cell of a claim that waits for one with a smaller order."""
    claim.awaited = to
    return _anew(pending, "yielded")


def _anew(state: DocumentState, now: State) -> DocumentState:
    """Change the state to bytes that the cell never held.

    A compare-and-set that was not answered may be executed long after: it must not find what it expects again.
    """
    return msgspec.structs.replace(state, state=now, seen=state.seen + 1)


def renewed(state: DocumentState, *, now: int) -> DocumentState:
    """Change an undecided cell and nothing of what it means: its writer is alive."""
    return msgspec.structs.replace(state, seen=max(now, state.seen + 1))


def _begun(claim: Claim, state: State, now: int, previous: DocumentState | None) -> DocumentState:
    below = max(claim.stamp, claim.state.stamp if claim.state is not None else 0)
    return DocumentState(
        id=claim.id,
        simhash=claim.text.simhash,
        state=state,
        seen=now,
        stamp=max(now, below + 1),
        order=claim.order,
        token=claim.token,
        previous=previous,
        digest=claim.text.digest,
    )
