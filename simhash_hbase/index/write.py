"""Writing: add, move and remove documents so that what was acknowledged is findable, whoever else writes.

Every batch is written members first, then block rows, then the document cells: the document cell is the commit point,
so at every moment a document that `get` shows can be found. A crash before it leaves rows that no answer counts and
`vacuum` deletes.
"""

import random
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Self

import msgspec
import numpy as np

from simhash_hbase.errors import StoreBusy, StoreTimeout, StoreUnavailable
from simhash_hbase.index.copies import delete_copies
from simhash_hbase.index.documentrows import StoredState, document_cells, entry_rows, read_states, stored_rows
from simhash_hbase.index.timestamps import decision_time, writing_time
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.collections import own_id
from simhash_hbase.rows.documentcells import DocumentState, Outcome, decode_member, encode
from simhash_hbase.rows.keys import id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell, CompareAndSet, Store, Swap, Transactional, atomically

# A refused compare-and-set means that another writer changed the same document in the same moment.
ATTEMPTS = 8
FIRST_PAUSE_S = 0.01
# How long writes that time out are looked for and retried.
LOOK_S = 20.0


class Written(NamedTuple):
    """What a batch did, a flag a document."""

    known: list[bool]  # The id was in the index before.
    moved: list[bool]  # It was there with another text.


class Change(NamedTuple):
    """One document of a batch on its way into the store."""

    at: int  # Its position in the batch.
    old: DocumentState | None
    old_value: bytes | None
    new: DocumentState

    @property
    def before(self) -> DocumentState | None:
        """The decision that the change replaces."""
        return self.old and self.old.in_force()

    @property
    def moves(self) -> bool:
        """Whether the document was there with another text."""
        return self.before is not None and not self.before.text.is_same(self.new.text)

    @property
    def is_known(self) -> bool:
        """Whether the index held the id."""
        return self.before is not None and not self.before.is_gone

    @property
    def has_rows(self) -> bool:
        """Whether the block rows stand already, because the document counts under this fingerprint."""
        return self.before is not None and self.before.is_found and self.before.simhash == self.new.simhash

    def cell(self, timestamp: int | None = None) -> Cell:
        """Return the new document cell."""
        return Cell(*self.new.key, encode(self.new), timestamp)

    def swap(self) -> Swap:
        """Return the change as a compare-and-set of the document cell."""
        return Swap(*self.new.key, self.old_value, encode(self.new))


class ReadCells(NamedTuple):
    """Document cells that were read for a write."""

    states: Sequence[StoredState | None]
    below: int | None
    """The timestamp at which first cells may be put instead of compared, `decision_time`; None: they may not."""


ADDED = Outcome()


def write_documents(
    store: Store,
    profile: Profile,
    entries: Entries,
    outcomes: Sequence[Outcome] | None,
    *,
    now: int,
    cells: ReadCells | None = None,
) -> Written:
    """Write documents with the states decided for them.

    The store is called seven times at most, whatever the size of the batch, and twice more each minute for the server's
    time; more often where other writers change the same documents meanwhile. In a store with transactions it is six
    calls, in one transaction. With `cells`, the document cells as they were read before, it is a call less; a
    transaction reads them again.
    """
    now = writing_time(store, now)
    batch = WriteBatch(store, profile, entries)
    outcomes = [ADDED] * len(entries) if outcomes is None else outcomes
    first: dict[int, Change] = {}
    pending: list[int] = list(range(len(entries)))
    if cells is None or isinstance(store, Transactional):
        states, below = None, decision_time(store, len(entries))
    else:
        states, below = cells
    for attempt in attempts(store):
        with attempt, atomically(store):
            if states is None:
                states = read_states(store, [entries.ids[at] for at in pending])
            attempt.cells_were_read()
            changes = batch.plan(outcomes, pending, states, now=now)
            # A later attempt may find what this one wrote: what was known is what the first one found.
            first = {**{change.at: change for change in changes}, **first}
            pending = [change.at for change in batch.apply(changes, below=below)]
        # A delete may hide what is placed in an empty cell: only a compare-and-set says so.
        states = below = None
        if not pending:
            plans = [first[at] for at in range(len(entries))]
            return Written([plan.is_known for plan in plans], [plan.moves for plan in plans])
    raise _lost(len(pending), entries.ids[pending[0]])


class WriteBatch(NamedTuple):
    """Documents on their way into the store of an index."""

    store: Store
    profile: Profile  # That of the index.
    entries: Entries

    def plan(
        self, outcomes: Sequence[Outcome], places: Sequence[int], states: Sequence[StoredState | None], *, now: int
    ) -> list[Change]:
        """Say what the documents at these places change in the cells that were read of them.

        Adding a known original again leaves it one, unless it has expired.
        """
        oldest = self.profile.oldest(now)
        changes = []
        for at, stored in zip(places, states, strict=True):
            old, old_value = stored or (None, None)
            text, outcome = self.entries.texts[at], outcomes[at]
            known = old and old.found(oldest)
            if known and not known.text.is_same(text):
                known = None
            new = DocumentState(
                id=self.entries.ids[at],
                simhash=text.simhash,
                state=known.state if known and outcome.state == "added" else outcome.state,
                seen=now,
                stamp=now if old is None else max(now, old.stamp + 1),
                order=known.order if known else (now, at),
                of=outcome.of,
                distance=outcome.distance,
                similarity=outcome.similarity,
                containment=outcome.containment,
                digest=text.digest,
                of_text=outcome.of_text,
            )
            changes.append(Change(at, old, old_value, new))
        return changes

    def apply(self, changes: Sequence[Change], *, below: int | None = None) -> list[Change]:
        """Write planned changes in the order that keeps documents findable; return what other writers got ahead of."""
        self.put_rows_and_members(changes)
        refused = commit(self.store, changes, below=below)
        lost = {change.at for change in refused}
        drop_members(self.store, [change for change in changes if change.at not in lost])
        return refused

    def put_rows_and_members(self, changes: Sequence[Change]) -> None:
        """Write what makes documents findable: members and entries among copies, then the rows that are not there."""
        if not changes:
            return
        places = [change.at for change in changes]
        entries = self.entries if places == list(range(len(self.entries))) else self.entries.take(places)
        found = np.array([not change.new.is_duplicate for change in changes])
        # Where HBase collects what is old, a refresh rewrites all cells of a document.
        all_again = self.profile.ttl_ms is not None
        lacking = np.array([all_again or not change.has_rows for change in changes])
        # Another text may have the same fingerprint, so sketch rows are written whatever stands there.
        rows = entry_rows(self.profile, entries, with_blocks=found & lacking, with_bands=found)
        self.store.put(FAMILY_DOCUMENTS, document_cells(entries, [change.new for change in changes]))
        if len(rows.prefixes):
            seen = max(change.new.seen for change in changes if not change.new.is_duplicate)
            self.store.put_rows(rows, timestamp=seen)


def commit(store: Store, changes: Sequence[Change], *, below: int | None = None) -> list[Change]:
    """Write the document cells so that no late request of it does harm; return what other writers got ahead of.

    Without transactions first cells are put at the timestamp `below`, `decision_time`, or compared and set without it.
    """
    first = [change for change in changes if change.old is None]
    compared = [change for change in changes if change.old is not None]
    refused: list[Change] = []
    if not isinstance(store, CompareAndSet):
        # Nothing can be compared: the later of two writers wins.
        first, compared = list(changes), []
    if isinstance(store, Transactional) or not isinstance(store, CompareAndSet):
        if first:
            store.put(FAMILY_DOCUMENTS, [change.cell() for change in first])
    elif below is None:
        compared = list(changes)
    else:
        stand = put_first(store, [change.cell(below) for change in first])
        refused = [change for change, stands in zip(first, stand, strict=True) if not stands]
    if compared and isinstance(store, CompareAndSet):
        swapped = store.compare_and_set([change.swap() for change in compared])
        refused += [change for change, done in zip(compared, swapped, strict=True) if not done]
    return refused


def put_first(store: Store, cells: Sequence[Cell]) -> list[bool]:
    """Write cells into empty ones and read them back; return whether each stands."""
    if not cells:
        return []
    store.put(FAMILY_DOCUMENTS, cells)
    stored = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [now is not None and now.value == cell.value for now, cell in zip(stored, cells, strict=True)]


def drop_members(store: Store, changes: Sequence[Change]) -> None:
    """Delete members and entries among copies that no document cell names any more, up to the stamps of their ids."""
    cells = [
        Cell(*key, b"", change.old.stamp)
        for change in changes
        if change.old is not None
        for key in change.old.outdated_keys(change.new)
    ]
    if cells:
        store.delete(FAMILY_DOCUMENTS, cells)


def remove_documents(store: Store, ids: Sequence[str], *, oldest: int = 0) -> list[bool]:
    """Remove documents, and tell which were there.

    The document cell says ``removed`` first, so no answer counts the document from then on; then its member goes, and
    of an original the list of its copies. Block rows stay until `vacuum`.
    """
    first: dict[int, Change] = {}
    latest: dict[int, Change] = {}
    pending = list({name: at for at, name in reversed(list(enumerate(ids)))}.values())
    for attempt in attempts(store):
        with attempt, atomically(store):
            states = read_states(store, [ids[at] for at in pending])
            attempt.cells_were_read()
            changes = [
                removal(at, *stored)
                for at, stored in zip(pending, states, strict=True)
                if stored is not None and stored[0].state != "removed"
            ]
            latest.update((change.at, change) for change in changes)
            first = {**latest, **first}
            refused = {change.at for change in commit(store, changes)}
            # Of what an attempt before this one marked without an answer, the member may still be there.
            removed = [latest[at] for at in pending if at in latest and at not in refused]
            drop_members(store, removed)
            originals = [change for change in removed if change.before and change.before.is_found]
            delete_copies(store, [id_digest(change.new.id) for change in originals])
            pending = sorted(refused)
        if not pending:
            shown = {at for at, change in first.items() if change.old and change.old.shown(oldest)}
            return [at in shown for at in range(len(ids))]
    raise _lost(len(pending), ids[pending[0]])


def removal(at: int, old: DocumentState, value: bytes) -> Change:
    """Make the change that takes a document out of the index."""
    gone = DocumentState(old.id, old.simhash, "removed", seen=old.seen, stamp=old.stamp, digest=old.digest)
    return Change(at, old, value, gone)


def refresh_documents(store: Store, profile: Profile, ids: Sequence[str], *, now: int) -> None:
    """Write down that documents were seen, where the index lets documents expire.

    Only what was last seen longer ago than a tenth of the time to live is written, all cells of it. A refresh that
    another writer gets ahead of is left out: that writer has seen the document too.
    """
    if profile.ttl_ms is None or not isinstance(store, CompareAndSet):
        return
    now = writing_time(store, now)
    with atomically(store):
        refresh_within(store, profile, ids, now=now)


def refresh_within(
    store: Store, profile: Profile, ids: Sequence[str], *, now: int
) -> tuple[Sequence[Change], Sequence[Change]]:
    """Do what `refresh_documents` does, within the caller's transaction; return what was changed, and what was not.

    Other writers got ahead of the latter.
    """
    if profile.ttl_ms is None or not isinstance(store, CompareAndSet):
        return (), ()
    # What was seen long ago, but has not expired: that stays away.
    due = range(profile.oldest(now), now - profile.ttl_ms // 10)
    changes = []
    for at, (old, value) in enumerate(stored for stored in read_states(store, ids) if stored is not None):
        decision = old.shown()
        if decision is not None and decision.seen in due:
            stamp = max(now, old.stamp + 1)
            new = msgspec.structs.replace(decision, seen=now, stamp=stamp)
            if old.is_undecided:
                # What is moving is refreshed in the text that counts as yet.
                new = msgspec.structs.replace(old, previous=new, stamp=stamp)
            changes.append(Change(at, old, value, new))
    seen = [state for change in changes if (state := change.new.shown())]
    kept = store.get(FAMILY_DOCUMENTS, [state.kept_key for state in seen])
    pairs = [(state, cell) for state, cell in zip(seen, kept, strict=True) if cell is not None]
    if pairs:
        store.put(FAMILY_DOCUMENTS, [cell._replace(timestamp=state.stamp) for state, cell in pairs])
    found = [(state, decode_member(cell.value, bands=profile.bands)) for state, cell in pairs if state.is_found]
    if found:
        simhashes = np.array([state.simhash for state, _ in found], dtype=np.uint64)
        rows = stored_rows(profile, simhashes, [member.sketch for _, member in found])
        store.put_rows(rows, timestamp=now)
    refused = commit(store, changes)
    lost = {change.at for change in refused}
    return [change for change in changes if change.at not in lost], refused


def _lost(count: int, name: str) -> StoreBusy:
    return StoreBusy(f"{count} documents kept being changed by others", named=f", {own_id(name)!r} among them")


class Attempt:
    """One attempt at a read and the write that rests on it; it ends without an error where another may do better."""

    def __init__(self, store: Store, until: float, *, is_last: bool) -> None:
        self._is_transaction = isinstance(store, Transactional)
        self._until = until
        self._is_last = is_last
        self._cells_were_read = False

    def cells_were_read(self) -> None:
        """Note that the store answers: what was written without an answer is looked for by the next attempt."""
        self._cells_were_read = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._is_last:
            return False
        if self._is_transaction:
            return isinstance(error, StoreBusy)
        is_silent = isinstance(error, StoreTimeout | StoreUnavailable)
        return is_silent and self._cells_were_read and time.monotonic() < self._until


def attempts(store: Store) -> Iterator[Attempt]:
    """Repeat a read and the write that rests on it until the write counts.

    A timed-out write may have been applied, so each attempt first reads the cells again. If that read fails too, or
    writes keep failing for `LOOK_S`, the store's error is raised. A transaction that had no effect, because the store
    had to grow for it, is repeated.
    """
    until = time.monotonic() + LOOK_S
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(random.uniform(0.5, 1.5) * FIRST_PAUSE_S * 2**attempt)
        yield Attempt(store, until, is_last=attempt == ATTEMPTS - 1)
