"""A batch of undecided claims: their steps, the changes of their document cells, and their answers.

A claim is the wish of a writer to have one document decided. The document cell holds how far it has come. *Pending*:
the claim is visible to all writers. *Yielded*: it waits for a pending claim near it that is earlier in the common
order. A claim whose cell stays unchanged for a lease, a time of the profile, counts as left by a crashed writer.
"""

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
    """The step that a claim has to do next.

    The claim of a new document goes from `READ_OWN` through `QUERY`, `WRITE` and `QUERY_AGAIN` to `LOOK`, where it is
    decided or waits. If its document cell was changed by another writer, it begins again with `READ_OWN`.
    """

    READ_OWN = auto()  # Read its own document cell.
    QUERY = auto()  # Look for originals; make its cell pending, or a duplicate.
    HELD = auto()  # Wait for earlier documents of its own batch; its cell is not written.
    WRITE = auto()  # The cell is pending: write the claim's member and block rows.
    QUERY_AGAIN = auto()  # Look for everything within reach, claims under way too.
    LOOK = auto()  # Read its neighbours' document cells; decide, give way, or wait.


class Neighbour(NamedTuple):
    """A document in the index that is near a claimed one; its document cell, read later, says whether it counts."""

    id: str
    text: Text
    distance: int
    similarity: float | None
    containment: float | None


@dataclass(slots=True, eq=False)
class Claim:
    """The claim of one document: its next step, its document cell as last read or written, and at last its answer."""

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
        """The key by which all claims of all writers are ordered; of two near ones the later one waits."""
        return self.order, id_digest(self.id)

    @property
    def holds_cell(self) -> bool:
        """Whether the claim's own document cell says that this claim is under way, so that other writers see it."""
        return self.answer is None and self.step in (Step.WRITE, Step.QUERY_AGAIN, Step.LOOK)

    def begin(self) -> None:
        """Begin an attempt to decide the claim, from the first step, with a new token to mark its cells."""
        self.token = urandom(TOKEN_BYTES)
        self.step = Step.READ_OWN


def key_of(state: DocumentState) -> tuple[tuple[int, int], bytes]:
    """Return the key by which all claims of all writers are ordered, for the claim that a document cell holds."""
    return state.order, id_digest(state.id)


class Watched:
    """Remembers since when the document cells of other writers are unchanged, to notice writers that have crashed."""

    def __init__(self, lease_s: float, timer: Timer) -> None:
        self._lease_s = lease_s
        self._timer = timer
        self._seen: dict[str, tuple[bytes, float]] = {}

    def observe(self, name: str, value: bytes) -> bool:
        """Note the value of an id's document cell as seen now; return whether it has been the same for a lease."""
        now = self._timer.monotonic()
        held, since = self._seen.get(name, (None, now))
        if held != value:
            self._seen[name] = (value, now)
            return False
        return now - since >= self._lease_s


def as_pending(claim: Claim, *, now: int, oldest: int) -> DocumentState:
    """Return the document cell that makes a claim pending; a decision for the id's former text stays in force in it.

    `now` is the time in ms since 1970; decisions of documents last seen before `oldest` have expired.
    """
    previous = claim.state and claim.state.shown(oldest)
    if previous and previous.text == claim.text:
        previous = None
    if previous and previous.is_found:
        # An original that is offered again, if only to be replaced, does not expire on the way. A duplicate may:
        # its original was not named.
        previous = msgspec.structs.replace(previous, seen=max(now, previous.seen))
    return _begun(claim, "pending", now, previous)


def as_duplicate(claim: Claim, outcome: Outcome, *, now: int) -> DocumentState:
    """Return the new document cell of a claim that is decided a duplicate of the original that `outcome` names."""
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
    """Return the new document cell of a claim that is decided an original; `pending` is its cell before."""
    return msgspec.structs.replace(pending, state="original", previous=None)


def give_way(claim: Claim, pending: DocumentState, to: Neighbour) -> DocumentState:
    """Return the new document cell, *yielded*, of a claim that waits for the earlier claim `to`; `claim` notes that."""
    claim.awaited = to
    return anew(pending, "yielded")


def anew(state: DocumentState, now: State) -> DocumentState:
    """Return a claim's document cell with another state, `now`, and with bytes that the cell never had.

    A compare-and-set that was not answered may be executed long after: it must not find its expected bytes again.
    """
    return msgspec.structs.replace(state, state=now, seen=state.seen + 1)


def renewed(state: DocumentState, *, now: int) -> DocumentState:
    """Return an undecided claim's document cell with a later time, which shows other writers that this one is alive."""
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
    """A batch of claims that are decided together; its methods make all changes of document cells.

    These are the cells of its own claims, and those of other writers that have crashed or of originals that expired.
    """

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
        """Return the change of a claim's document cell to `new`; `stored` is the decision that it replaces, or None."""
        return Change.of(claim.at, self.entries.id_digests[claim.at], stored, new, checksum=self.profile.checksums)

    def answer(self, claim: Claim, state: DocumentState) -> None:
        """Set the answer of a claim to the decision in `state`, its document cell."""
        short = self.profile.is_short(int(self.entries.features[claim.at]), int(self.entries.lengths[claim.at]))
        claim.answer = as_decision(claim.id, state, short=short)
        claim.near = []

    def start_over(self, claim: Claim) -> None:
        """Begin another attempt of a claim whose cell others have changed; after 5 its answer is `ClaimContended`."""
        claim.failed += 1
        claim.begin()
        if claim.failed >= ATTEMPTS:
            claim.answer = ClaimContended(
                f"{own_id(claim.id)!r}: other writers kept changing it, {ATTEMPTS} attempts failed"
            )

    def commit(self, cells: ClaimStates) -> None:
        """Write new content into the claims' own document cells, all in one round of calls, and move the claims on."""
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
        """Write claims' document cells: by a put if `is_first`, since they had none, else by compare-and-set.

        Claims whose cells were written move on; the cells of the others are read again.
        """
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
        """Read the document cells of claims whose write was refused or not answered.

        A claim whose own attempt stands in its cell moves on or is answered; another one starts over.
        """
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
        """Note in each claim its document cell as it was written, with its bytes, and answer the decided claims.

        Member cells and copies' entries that belong to earlier decisions are deleted.
        """
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
        """Write a later time into the cells of undecided claims, every third of a lease, so that nobody ends them."""
        due = self.timer.monotonic() - self.profile.lease_s / 3
        holders = [claim for claim in self.claims if claim.holds_cell and claim.written_s <= due]
        steps = [claim.step for claim in holders]
        self.commit([(claim, renewed(claim.state, now=self.clock())) for claim in holders if claim.state is not None])
        for claim, step in zip(holders, steps, strict=True):
            # A slow store must not send a claim back to the step that it is just doing.
            if claim.holds_cell:
                claim.step = step

    def give_up(self, cells: Iterable[StoredState]) -> None:
        """End undecided claims, such as those of crashed writers: put the decision before them back into their cells.

        A cell that was changed meanwhile stays; the next read of the cells shows which were changed.
        """
        swaps = [
            Swap(*state.key, value, encode(state.abandoned(), checksum=self.profile.checksums))
            for state, value in {state.id: (state, value) for state, value in cells}.values()
        ]
        self._swap(swaps)

    def bury(self, cells: Iterable[StoredState]) -> None:
        """Remove expired originals, given by their document cells, so that claims near them become originals.

        If the document is being claimed again, only its expired decision is removed. Cells that others have changed
        stay.
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
        """Note in undecided claims of this batch that `bury` or `refresh` has changed their document cells.

        Otherwise such a claim would start over, and be decided after later documents of the input.
        """
        claims = {(claim.id, claim.value): claim for claim in self.undecided()}
        for change in changes:
            if claim := claims.get((change.new.id, change.old_value)):
                claim.state, claim.value = change.new, change.value

    def refresh(self, originals: Iterable[str | None]) -> set[str]:
        """Write the time into the document cells of originals that decisions are about to name, so they do not expire.

        Return the ids of those whose cells could not be changed: they have to be read again first.
        """
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
        """Change document cells by compare-and-set; return which were changed, none if the store does not answer."""
        try:
            return self.store.compare_and_set(swaps) if swaps else []
        except UNANSWERED:
            return [False] * len(swaps)
