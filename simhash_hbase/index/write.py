"""Writing: add and remove documents so that acknowledged documents are findable, whoever else writes.

A document cell, in the row of an id, has the decision about the document. A writer reads document cells, and its write
succeeds only where no other writer has changed them since. If one has, read and write are repeated. `documentrows` says
which cells and rows are written, and in which order.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

from simhash_hbase.errors import StoreBusy, StoreTimeout, StoreUnavailable
from simhash_hbase.index.copies import delete_copies
from simhash_hbase.index.documentrows import WriteBatch, commit, drop_members, read_states
from simhash_hbase.index.timestamps import ServerClock
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.collections import own_id
from simhash_hbase.rows.documentcells import Change, DocumentState, Outcome, StoredState, removal
from simhash_hbase.stores.base import Store, Transactional, atomically

T = TypeVar("T")

# A refused compare-and-set means that another writer changed the same document in the same moment.
ATTEMPTS = 8
FIRST_PAUSE_S = 0.01
# Seconds for which writes that time out are read back and retried.
LOOK_S = 20.0


class Written(NamedTuple):
    """The results of writing a batch, with one flag for each document."""

    known: list[bool]  # Whether the id was in the index before.
    moved: list[bool]  # Whether the id was in the index with another text.


class ReadCells(NamedTuple):
    """The stored document cells of a batch, read before its write, by which the write sees that they are unchanged."""

    states: Sequence[StoredState | None]
    below: int | None
    """The timestamp at which the first cell of a document may be put, from `ServerClock.decision_time`.

    None means that cells must be written by compare-and-set.
    """


ADDED = Outcome()


def write_documents(
    batch: WriteBatch,
    outcomes: Sequence[Outcome] | None,
    *,
    server_clock: ServerClock,
    now: int,
    cells: ReadCells | None = None,
) -> Written:
    """Write a batch with the outcomes decided for its documents; return which ids were known, or had another text.

    Without outcomes the documents are added without a decision: queries find all of them.

    A batch of any size takes at most seven calls of the store, or six where `cells` has the document cells as they were
    read before. A store with transactions takes six, in one transaction, which reads the cells itself. The
    server's time takes two more calls a minute, and other writers that change the same documents take more attempts.
    """
    store, entries = batch.store, batch.entries
    now = server_clock.writing_time(now)
    outcomes = [ADDED] * len(entries) if outcomes is None else outcomes
    first: list[Change] | None = None
    pending: list[int] = list(range(len(entries)))
    states, below = (None, server_clock.decision_time()) if cells is None else cells
    for attempt in attempts(store):
        with attempt, atomically(store):
            if states is None:
                digests = [entries.id_digests[at] for at in pending]
                states = read_states(store, [entries.ids[at] for at in pending], digests)
            attempt.cells_were_read()
            planned = batch.plan(outcomes, pending, states, now=now)
            # A later attempt may find cells that this one wrote, so only the first one tells which ids were known.
            first = list(planned.changes.values()) if first is None else first
            pending = batch.apply(planned, below=below)
        # A delete may hide a put into an empty cell: only a compare-and-set notices that.
        states = below = None
        if not pending:
            written = Written([False] * len(entries), [False] * len(entries))
            for change in first or ():
                written.known[change.at], written.moved[change.at] = change.is_known, change.moves
            return written
    raise _lost(len(pending), entries.ids[pending[0]])


def remove_documents(
    store: Store, profile: Profile, ids: Sequence[str], *, oldest: int = 0, batch: str | None = None
) -> list[bool]:
    """Remove documents by their ids; return for each id whether a document was removed.

    With `batch`, the name of a batch, only documents whose text came in that batch are removed. The result is
    False, too, for a document that had expired: it was last seen before `oldest`, ms since 1970. The document cell says
    ``removed`` first, so no answer counts the document from then on. Then its member or copy cell is deleted, and for
    an original the row that lists its copies. Its block rows stay until `vacuum`.
    """
    first: dict[int, Change] = {}
    latest: dict[int, Change] = {}
    pending = list({name: at for at, name in reversed(list(enumerate(ids)))}.values())
    for attempt in attempts(store):
        with attempt, atomically(store):
            states = read_states(store, [ids[at] for at in pending])
            attempt.cells_were_read()
            changes = [
                removal(at, stored, checksum=profile.checksums)
                for at, stored in zip(pending, states, strict=True)
                if stored is not None and stored[0].state != "removed" and (batch is None or is_in(batch, stored[0]))
            ]
            latest.update((change.at, change) for change in changes)
            first = {**latest, **first}
            refused = {change.at for change in commit(store, changes)}
            # A document that an unanswered earlier attempt marked may still have its member.
            removed = [latest[at] for at in pending if at in latest and at not in refused]
            drop_members(store, removed)
            originals = [change for change in removed if change.before and change.before.is_found]
            delete_copies(store, [change.digest for change in originals])
            pending = sorted(refused)
        if not pending:
            shown = {at for at, change in first.items() if change.old and change.old.shown(oldest)}
            return [at in shown for at in range(len(ids))]
    raise _lost(len(pending), ids[pending[0]])


def is_in(batch: str, state: DocumentState) -> bool:
    """Return whether the text of a document came in the batch of this name, by the decision in force in its cell."""
    decision = state.shown()
    return decision is not None and decision.batch == batch


def at_once(store: Store, entries: Entries, act: Callable[[], T]) -> T:
    """Call `act`, which writes a batch, inside one transaction of the store, and return its result.

    It is called again where the transaction failed because the store's file had to grow for it.
    """
    for attempt in attempts(store):
        with attempt:
            with atomically(store):
                result = act()
            return result
    raise StoreBusy(f"{store.url} kept growing under a batch of {len(entries)} documents")


def _lost(count: int, name: str) -> StoreBusy:
    return StoreBusy(f"{count} documents kept being changed by others", named=f", {own_id(name)!r} among them")


class Attempt:
    """A context for one attempt at reading document cells and writing them.

    It suppresses an error after which another attempt may succeed, and the loop over `attempts` makes that attempt.
    """

    def __init__(self, store: Store, until: float, *, is_last: bool) -> None:
        # A transaction that failed had no effect; a single write without an answer may have had one.
        self._is_transaction = isinstance(store, Transactional)
        self._until = until
        self._is_last = is_last
        self._cells_were_read = False

    def cells_were_read(self) -> None:
        """Note that this attempt has read the cells: the store answers, so a write that times out is worth a retry."""
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
    """Yield attempts at reading document cells and writing them; the caller leaves the loop when a write succeeded.

    A timed-out write may have been applied, so each attempt first reads the cells again. If that read fails too, or
    writes keep failing for `LOOK_S`, the store's error is raised. A transaction that had no effect, because the store
    had to grow for it, is repeated.
    """
    until = time.monotonic() + LOOK_S
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(random.uniform(0.5, 1.5) * FIRST_PAUSE_S * 2**attempt)
        yield Attempt(store, until, is_last=attempt == ATTEMPTS - 1)
