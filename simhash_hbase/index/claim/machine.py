"""A batch of claims under way: their steps, their document cells and how these change, and their answers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from os import urandom
from typing import NamedTuple, TypeAlias

import msgspec

from simhash_hbase.errors import ClaimContended, StoreTimeout, StoreUnavailable
from simhash_hbase.index import documentrows
from simhash_hbase.index.answers import Decision, as_decision
from simhash_hbase.index.documentrows import document_cells, put_first, read_states
from simhash_hbase.index.timestamps import Timer, claim_time, stamp_above
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.collections import own_id
from simhash_hbase.rows.documentcells import Change, DocumentState, Outcome, State, StoredState, Text, encode, removal
from simhash_hbase.rows.keys import id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell, Store, Swap

ATTEMPTS = 5
TOKEN_BYTES = 8
UNANSWERED = (StoreTimeout, StoreUnavailable)

Claimed: TypeAlias = Decision | ClaimContended
"""The decision about a document, or the error for a document that stayed contested."""


class Step(Enum):
    """The next step of a claim.

    A new document goes from `READ_OWN` through `QUERY`, `WRITE` and `QUERY_AGAIN` to `LOOK`, where it is decided or
    waits. A refused compare-and-set sends a claim back to `READ_OWN`.
    """

    READ_OWN = auto()  # Read its own document cell.
    QUERY = auto()  # Look for originals; make its cell pending, or a duplicate.
    HELD = auto()  # Wait for earlier documents of its own batch; its cell is not written.
    WRITE = auto()  # The cell is pending: write the claim's member and block rows.
    QUERY_AGAIN = auto()  # Look for everything within reach, claims under way too.
    LOOK = auto()  # Read its neighbours' document cells; decide, give way, or wait.


class Neighbour(NamedTuple):
    """A member within a claim's reach; its document cell says whether it counts, and as what."""

    id: str
    text: Text
    distance: int
    similarity: float | None
    containment: float | None


@dataclass(slots=True, eq=False)
class Claim:
    """The claim of one document, on its way to a decision."""

    at: int  # Position of the document in the batch.
    id: str
    text: Text
    order: tuple[int, int]
    """Of two claims within each other's reach the one with the smaller order goes on; kept over all attempts."""
    batch: str | None = None  # The batch that the document comes in.
    token: bytes = b""  # Identifies the attempt, in every cell that it writes.
    step: Step = Step.READ_OWN
    state: DocumentState | None = None  # The claim's own document cell, as last read or written.
    value: bytes | None = None  # The bytes of the cell.
    standing: Text | None = None  # The text by which queries found the id before this claim; None: they did not.
    stamp: int = 0  # The highest timestamp that an attempt of this claim used.
    written_s: float = 0.0  # When the cell was last written, by the timer.
    failed: int = 0  # Attempts that ended because others had changed the cell.
    near: list[Neighbour] = field(default_factory=list)
    is_partial: bool = False  # Whether an original in force is among `near`, so that no others were looked for.
    awaited: Neighbour | None = None  # The claim that this one gave way to.
    mates: list["Claim"] = field(default_factory=list)  # Earlier documents of the batch that this one is held for.
    planned: Outcome | None = None  # The decision if its only mate becomes an original.
    answer: Claimed | None = None
    is_recorded: bool = False  # Whether the answer is a decision that the index had before.

    @property
    def key(self) -> tuple[tuple[int, int], bytes]:
        """The key that orders the claim among all claims of all writers."""
        return self.order, id_digest(self.id)

    @property
    def holds_cell(self) -> bool:
        """Whether the claim's own document cell says that the claim is under way."""
        return self.answer is None and self.step in (Step.WRITE, Step.QUERY_AGAIN, Step.LOOK)

    def begin(self) -> None:
        """Start an attempt, with a new token and from the first step."""
        self.token = urandom(TOKEN_BYTES)
        self.step = Step.READ_OWN


def key_of(state: DocumentState) -> tuple[tuple[int, int], bytes]:
    """Return the key that orders the claim of a cell among all claims of all writers."""
    return state.order, id_digest(state.id)


class Watched:
    """The times for which other writers' cells have been unchanged, by this process's own clock."""

    def __init__(self, lease_s: float, timer: Timer) -> None:
        self._lease_s = lease_s
        self._timer = timer
        self._seen: dict[str, tuple[bytes, float]] = {}

    def observe(self, name: str, value: bytes) -> bool:
        """Note the value of an id's cell; return whether the cell has had this value for a lease."""
        now = self._timer.monotonic()
        held, since = self._seen.get(name, (None, now))
        if held != value:
            self._seen[name] = (value, now)
            return False
        return now - since >= self._lease_s


def as_pending(claim: Claim, *, now: int, oldest: int) -> DocumentState:
    """Return the pending cell of a claim that begins; a decision for another text stays in force in it."""
    previous = claim.state and claim.state.shown(oldest)
    if previous and previous.text == claim.text:
        previous = None
    if previous and previous.is_found:
        # An original that is offered again, if only to be replaced, does not expire on the way. A duplicate may:
        # its original was not named.
        previous = msgspec.structs.replace(previous, seen=max(now, previous.seen))
    return _begun(claim, "pending", now, previous)


def as_duplicate(claim: Claim, outcome: Outcome, *, now: int) -> DocumentState:
    """Return the cell of a claim that is decided a duplicate, whether or not the claim holds its cell."""
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
    """Return the cell of a pending claim that is decided an original."""
    return msgspec.structs.replace(pending, state="original", previous=None)


def give_way(claim: Claim, pending: DocumentState, to: Neighbour) -> DocumentState:
    """Return the cell of a claim that waits for a neighbour with a smaller order; note which one it is."""
    claim.awaited = to
    return anew(pending, "yielded")


def anew(state: DocumentState, now: State) -> DocumentState:
    """Return a claim's cell in another state, with bytes that the cell never had.

    A compare-and-set that was not answered may be executed long after: it must not find its expected bytes again.
    """
    return msgspec.structs.replace(state, state=now, seen=state.seen + 1)


def renewed(state: DocumentState, *, now: int) -> DocumentState:
    """Return an undecided cell with a later time and the same meaning, which shows that its writer is alive."""
    return msgspec.structs.replace(state, seen=max(now, state.seen + 1))


def _begun(claim: Claim, state: State, now: int, previous: DocumentState | None) -> DocumentState:
    return DocumentState(
        id=claim.id,
        simhash=claim.text.simhash,
        state=state,
        seen=now,
        stamp=stamp_above(now, claim.stamp, claim.state.stamp if claim.state is not None else 0),
        order=claim.order,
        token=claim.token,
        previous=previous,
        digest=claim.text.digest,
        batch=claim.batch,
    )


STEPS = {"pending": Step.WRITE, "yielded": Step.LOOK}

ClaimStates: TypeAlias = Sequence[tuple[Claim, DocumentState]]
"""Claims, each with the new content of its own document cell."""


@dataclass(slots=True, eq=False)
class ClaimBatch:
    """A batch of claims under way; all changes of document cells, its claims' and others', go through it."""

    store: Store
    profile: Profile
    entries: Entries
    clock: Callable[[], int]  # Milliseconds since 1970; may be wrong.
    timer: Timer
    leases: Watched
    claims: list[Claim]

    def undecided(self) -> list[Claim]:
        """Return the claims that have no answer yet."""
        return [claim for claim in self.claims if claim.answer is None]

    def change(self, claim: Claim, new: DocumentState, stored: StoredState | None = None) -> Change:
        """Return the change of a claim's own cell to `new`; `stored` is the decision that it replaces."""
        return Change.of(claim.at, self.entries.id_digests[claim.at], stored, new, checksum=self.profile.checksums)

    def answer(self, claim: Claim, state: DocumentState) -> None:
        """Set the answer of a claim from its decided cell."""
        short = self.profile.is_short(int(self.entries.features[claim.at]), int(self.entries.lengths[claim.at]))
        claim.answer = as_decision(claim.id, state, short=short)
        claim.near = []

    def start_over(self, claim: Claim) -> None:
        """Begin another attempt of a claim; after too many its answer is `ClaimContended`."""
        claim.failed += 1
        claim.begin()
        if claim.failed >= ATTEMPTS:
            claim.answer = ClaimContended(
                f"{own_id(claim.id)!r}: other writers kept changing it, {ATTEMPTS} attempts failed"
            )

    def commit(self, cells: ClaimStates) -> None:
        """Write the claims' own cells anew, each with the content given for it, all in one round of calls."""
        put, swapped = [], []
        for claim, new in cells:
            claim.stamp = max(claim.stamp, new.stamp)
            # To put a pending cell is cheaper than to compare and set it. A family with a time to live takes so old a
            # cell for expired. A delete that `vacuum` made hides it: then the second attempt compares and sets.
            if new.state == "pending" and claim.value is None and not claim.failed and self.profile.ttl_ms is None:
                put.append((claim, new))
            else:
                swapped.append((claim, new))
        self._write(put, is_first=True)
        self._write(swapped, is_first=False)

    def _write(self, cells: ClaimStates, *, is_first: bool) -> None:
        """Put first cells, or compare and set cells; note in claims which were written, and read the others again."""
        if not cells:
            return
        changes = [self.change(claim, new) for claim, new in cells]
        values = [change.value for change in changes]
        try:
            if is_first:
                # A later compare-and-set that finds the value there proves that everybody saw it in between.
                pairs = zip(changes, values, strict=True)
                first = [Cell(*change.key, value, claim_time(change.new.token)) for change, value in pairs]
                written = put_first(self.store, first)
            else:
                # Before a document is decided a duplicate, its original lists it as a copy.
                if copies := [change for change in changes if change.new.is_duplicate]:
                    entries = self.entries.take([change.at for change in copies])
                    self.store.put(FAMILY_DOCUMENTS, document_cells(entries, copies))
                columns = zip(cells, changes, values, strict=True)
                swaps = [Swap(*change.key, claim.value, value) for (claim, _), change, value in columns]
                written = self.store.compare_and_set(swaps)
        except UNANSWERED:
            written = [False] * len(cells)
        results = list(zip(cells, values, written, strict=True))
        self._arrive([(claim, new, value) for (claim, new), value, stands in results if stands])
        self.look_again([claim for (claim, _), _, stands in results if not stands])

    def look_again(self, claims: Sequence[Claim]) -> None:
        """Read the cells of claims whose write was refused or not answered; answer, go on, or start over by these."""
        if not claims:
            return
        arrived = []
        for claim, stored in zip(claims, read_states(self.store, [claim.id for claim in claims]), strict=True):
            cell, value = stored or (None, b"")
            # Another writer may have begun to move a document that was decided here.
            states = [state for state in (cell, cell and cell.previous) if state is not None]
            ours = [state for state in states if state.token == claim.token]
            decided = [state for state in ours if not state.is_undecided and state.state != "aborted"]
            if decided or (cell is not None and cell in ours and cell.is_undecided):
                arrived.append((claim, *((decided[0], value) if decided else (ours[0], value))))
            else:
                self.start_over(claim)
        self._arrive(arrived)

    def _arrive(self, claims: Sequence[tuple[Claim, DocumentState, bytes]]) -> None:
        """Note in each claim its new cell, answer decided claims, and delete the members of outdated cells."""
        changes = []
        for claim, new, value in claims:
            # When a claim is decided, the member or copy of the decision before it goes. The member of a claim that
            # ends as a duplicate is left to `vacuum`: that saves a call.
            before = claim.state and claim.state.shown()
            stored = (before, claim.value) if before and claim.value else None
            changes.append(self.change(claim, new, stored))
            claim.state, claim.value, claim.written_s = new, value, self.timer.monotonic()
            if new.is_undecided:
                claim.step = STEPS[new.state]
            else:
                self.answer(claim, new)
        documentrows.drop_members(self.store, changes)

    def renew(self) -> None:
        """Renew the leases of the claims that hold their cells, each after a third of a lease."""
        due = self.timer.monotonic() - self.profile.lease_s / 3
        holders = [claim for claim in self.claims if claim.holds_cell and claim.written_s <= due]
        steps = [claim.step for claim in holders]
        self.commit([(claim, renewed(claim.state, now=self.clock())) for claim in holders if claim.state is not None])
        for claim, step in zip(holders, steps, strict=True):
            # A slow store must not send a claim back to the step that it is just doing.
            if claim.holds_cell:
                claim.step = step

    def give_up(self, cells: Iterable[StoredState]) -> None:
        """Give up undecided claims, as of crashed writers: in their cells the decision before returns.

        The next look sees whether that was done.
        """
        swaps = [
            Swap(*state.key, value, encode(state.abandoned(), checksum=self.profile.checksums))
            for state, value in {state.id: (state, value) for state, value in cells}.values()
        ]
        self._swap(swaps)

    def bury(self, cells: Iterable[StoredState]) -> None:
        """Remove originals that have expired, so that claims near them can become originals.

        Of a document that is claimed anew only its expired decision goes. Cells that others have changed stay.
        """
        changes, checksum = [], self.profile.checksums
        for at, stored in enumerate({cell[0].id: cell for cell in cells}.values()):
            state, _ = stored
            if state.is_undecided:
                # Only the decision before the claim has expired; the claim goes on.
                going_on = msgspec.structs.replace(state, previous=None)
                changes.append(Change.of(at, id_digest(state.id), stored, going_on, checksum=checksum))
            else:
                changes.append(removal(at, stored, checksum=checksum))
        swapped = self._swap([Swap(*change.key, change.old_value, change.value) for change in changes])
        buried = [change for change, done in zip(changes, swapped, strict=True) if done]
        self._follow(buried)
        documentrows.drop_members(self.store, buried)

    def _follow(self, changes: Sequence[Change]) -> None:
        """Note in undecided claims of this batch the cells that a burial or a refresh wrote.

        A claim that missed it would start over, and be decided after later documents of the input.
        """
        claims = {(claim.id, claim.value): claim for claim in self.undecided()}
        for change in changes:
            if claim := claims.get((change.new.id, change.old_value)):
                claim.state, claim.value = change.new, change.value

    def refresh(self, originals: Iterable[str | None]) -> set[str]:
        """Note that originals were named, so were seen; return the ids of those that have to be looked at again."""
        named = sorted({name for name in originals if name is not None})
        if not named:
            return set()
        try:
            made, refused = documentrows.refresh_within(self.store, self.profile, named, now=self.clock())
        except UNANSWERED:
            return set(named)
        self._follow(made)
        return {change.new.id for change in refused}

    def _swap(self, swaps: Sequence[Swap]) -> list[bool]:
        """Change other writers' cells by compare-and-set; return which were changed: none if the store is silent."""
        try:
            return self.store.compare_and_set(swaps) if swaps else []
        except UNANSWERED:
            return [False] * len(swaps)
