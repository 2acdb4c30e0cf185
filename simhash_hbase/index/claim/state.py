"""The states of a claim: its steps, what it knows on the way, and the cells of each step."""

from dataclasses import dataclass, field
from enum import Enum, auto
from os import urandom
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from simhash_hbase.errors import ClaimContended
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.timestamps import Timer
from simhash_hbase.index.write import Outcome
from simhash_hbase.rows.documents import DocumentState, State, Text
from simhash_hbase.rows.keys import document_row, id_digest
from simhash_hbase.stores.base import CompareAndSet, Store

TOKEN_BYTES = 8

Claimed: TypeAlias = Decision | ClaimContended
"""What became of one document; of one that others kept winning, the error."""


class SwappingStore(Store, CompareAndSet, Protocol):
    """A store that can compare and set."""


class Step(Enum):
    """What a claim does next.

    A new document goes from `READ_OWN` through `QUERY`, `WRITE` and `QUERY_AGAIN` to `LOOK`, where it is decided or
    waits. A refused compare-and-set sends a claim back to `READ_OWN`.
    """

    READ_OWN = auto()  # Read its own document cell.
    QUERY = auto()  # Look for originals; make its cell pending, or a duplicate.
    HELD = auto()  # Wait for earlier documents of its own batch; its cell is not written.
    WRITE = auto()  # It is pending: write its member and its block rows.
    QUERY_AGAIN = auto()  # Look for everything within reach, claims under way too.
    LOOK = auto()  # Read its neighbours' document cells; decide, give way, or wait.


class Neighbour(NamedTuple):
    """A member within a claim's reach; what it stands for is in its document cell."""

    id: str
    text: Text
    distance: int
    similarity: float | None
    containment: float | None


@dataclass(slots=True, eq=False)
class Claim:
    """One document on its way to a decision."""

    at: int  # Its position in the batch.
    id: str
    text: Text
    order: tuple[int, int]
    """Of two claims in each other's way the one with the smaller order goes on; kept over all attempts."""
    token: bytes = b""  # The attempt, in every cell that it writes.
    step: Step = Step.READ_OWN
    state: DocumentState | None = None  # Its own document cell, as last read or written.
    value: bytes | None = None  # The bytes of it.
    stamp: int = 0  # The highest timestamp that an attempt of this claim used.
    written_s: float = 0.0  # When its own cell was last written, by the timer.
    failed: int = 0  # Attempts that ended because others had changed its cell.
    near: list[Neighbour] = field(default_factory=list)
    is_partial: bool = False  # Whether an original in force was found among these, so that no others were looked for.
    awaited: Neighbour | None = None  # The claim that it gave way to.
    mates: list["Claim"] = field(default_factory=list)  # Earlier documents of its batch that it is held for.
    planned: Outcome | None = None  # What it becomes if the one mate it is held for becomes an original.
    answer: Claimed | None = None
    is_recorded: bool = False  # Whether the answer was there before.

    @property
    def row(self) -> bytes:
        """The row of its document cell."""
        return document_row(id_digest(self.id))

    @property
    def key(self) -> tuple[tuple[int, int], bytes]:
        """What orders it among all claims of all writers."""
        return self.order, id_digest(self.id)

    @property
    def holds_cell(self) -> bool:
        """Whether its own cell says that it is under way."""
        return self.answer is None and self.step in (Step.WRITE, Step.QUERY_AGAIN, Step.LOOK)

    def begin(self) -> None:
        """Start an attempt from the beginning."""
        self.token = urandom(TOKEN_BYTES)
        self.step = Step.READ_OWN


def key_of(state: DocumentState) -> tuple[tuple[int, int], bytes]:
    """Say what orders the claim of a cell among all claims of all writers."""
    return state.order, id_digest(state.id)


class Leases:
    """Since when other writers' cells are as they are, by this process's own clock."""

    def __init__(self, lease_s: float, timer: Timer) -> None:
        self._lease_s = lease_s
        self._timer = timer
        self._seen: dict[str, tuple[bytes, float]] = {}

    def observe(self, name: str, value: bytes) -> bool:
        """Note what a cell holds now; return whether it has held that for a lease."""
        now = self._timer.monotonic()
        held, since = self._seen.get(name, (None, now))
        if held != value:
            self._seen[name] = (value, now)
            return False
        return now - since >= self._lease_s


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
        containment=outcome.containment,
        of_text=outcome.of_text,
    )


def as_original(pending: DocumentState) -> DocumentState:
    """Make the cell of an original."""
    return msgspec.structs.replace(pending, state="original", previous=None)


def give_way(claim: Claim, pending: DocumentState, to: Neighbour) -> DocumentState:
    """Make the cell of a claim that waits for one with a smaller order."""
    claim.awaited = to
    return anew(pending, "yielded")


def anew(state: DocumentState, now: State) -> DocumentState:
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
