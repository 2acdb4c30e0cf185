"""Writing: add, move and remove documents so that what was acknowledged is findable, whoever else writes.

Every batch is written members first, then block rows, then the document cells: the document cell is the commit point,
so at every moment a document that `get` shows can be found. A crash before it leaves rows that no answer counts and
`vacuum` deletes.
"""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec
import numpy as np

from simhash_hbase.entries import Entries, check_storable
from simhash_hbase.errors import CorruptIndex, StoreBusy, StoreTimeout, StoreUnavailable
from simhash_hbase.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.profile import Profile
from simhash_hbase.records import FOUND_STATES, DocumentState, Member, State, decode_document, encode
from simhash_hbase.rowkey import block_rows, document_row, id_digest, member_row, row_digest
from simhash_hbase.stores.base import Cell, CompareAndSet, Store, Swap, Transactional, atomically

__all__ = ["Outcome", "Written", "read_states", "refresh_documents", "remove_documents", "write_documents"]

# A refused compare-and-set means that another writer changed the same document in the same moment.
ATTEMPTS = 8
FIRST_PAUSE_S = 0.01


class Outcome(NamedTuple):
    """What a document is to become."""

    state: State = "added"
    of: str | None = None
    distance: int | None = None
    similarity: float | None = None


class Written(NamedTuple):
    """What a batch did, a flag a document."""

    known: list[bool]
    """The id was in the index before."""
    moved: list[bool]
    """It was there with another fingerprint."""


ADDED = Outcome()


class Change(NamedTuple):
    """One document of a batch on its way into the store."""

    at: int
    """Its position in the batch."""
    row: bytes
    old: DocumentState | None
    old_value: bytes | None
    new: DocumentState

    @property
    def moves(self) -> bool:
        return self.old is not None and self.old.simhash != self.new.simhash

    @property
    def is_known(self) -> bool:
        return self.old is not None and self.old.state != "removed"

    @property
    def is_searchable(self) -> bool:
        return self.new.state in FOUND_STATES

    def was_found_since(self, oldest: int) -> bool:
        shown = self.old is not None and (self.old.state in FOUND_STATES or self.old.state == "duplicate")
        return shown and self.old is not None and self.old.seen >= oldest


def read_states(store: Store, ids: Sequence[str]) -> list[tuple[DocumentState, bytes] | None]:
    """Read the document cells of ids.

    Parameters
    ----------
    store : Store
        Holds the index.
    ids : sequence of str
        In any order.

    Returns
    -------
    list of (DocumentState, bytes) or None
        For each id the state and its stored bytes, which a compare-and-set expects; None for an id never seen.

    Raises
    ------
    CorruptIndex
        When another id stands under the digest of this one.
    """
    keys = [(document_row(id_digest(name)), STATE_QUALIFIER) for name in ids]
    cells = store.get(FAMILY_DOCUMENTS, keys)
    return [None if cell is None else (_own(name, cell), cell.value) for name, cell in zip(ids, cells, strict=True)]


def write_documents(
    store: Store, profile: Profile, entries: Entries, outcomes: Sequence[Outcome] | None, *, now: int
) -> Written:
    """Write documents with the states decided for them.

    Parameters
    ----------
    store : Store
        Holds the index.
    profile : Profile
        The index's profile.
    entries : Entries
        The documents; no id twice.
    outcomes : sequence of Outcome, or None
        One a document; None adds all.
    now : int
        Milliseconds since 1970.

    Returns
    -------
    Written
        Once it is returned, all of the batch is durable as the store defines it, and findable.

    Raises
    ------
    InvalidArgument
        When an id or metadata cannot be kept; see `check_storable`. Nothing is written then.
    StoreBusy
        When other writers kept changing the same documents.

    Notes
    -----
    At most six calls of the store, whatever the size of the batch; more where other writers change the same documents
    meanwhile. In a store with transactions all of it is one.
    """
    check_storable(entries)
    wanted = [ADDED] * len(entries) if outcomes is None else outcomes
    first: dict[int, Change] = {}
    pending: list[int] = list(range(len(entries)))
    for attempt in _attempts():
        with _looking_again(store, attempt), atomically(store):
            changes = _plan(store, entries, wanted, pending, now, profile.oldest(now))
            # A later attempt may find what this one wrote: what was known is what the first one found.
            first = {**{change.at: change for change in changes}, **first}
            pending = [change.at for change in _apply(store, profile, entries, changes)]
        if not pending:
            plans = [first[at] for at in range(len(entries))]
            return Written([plan.is_known for plan in plans], [plan.moves for plan in plans])
    raise StoreBusy(f"{len(pending)} documents kept being changed by others, {entries.ids[pending[0]]!r} among them")


def remove_documents(store: Store, ids: Sequence[str], *, oldest: int = 0) -> list[bool]:
    """Remove documents.

    Parameters
    ----------
    store : Store
        Holds the index.
    ids : sequence of str
        In any order; repeats allowed.
    oldest : int
        Milliseconds since 1970: a document last seen before counts as gone already.

    Returns
    -------
    list of bool
        Whether the id was there; of a repeated id only the first is true.

    Notes
    -----
    The document cell says ``removed`` first, so no answer counts the document from then on; then its member goes.
    Block rows stay until `vacuum`.
    """
    first: dict[int, Change] = {}
    latest: dict[int, Change] = {}
    pending = list({name: at for at, name in reversed(list(enumerate(ids)))}.values())
    for attempt in _attempts():
        with _looking_again(store, attempt), atomically(store):
            states = read_states(store, [ids[at] for at in pending])
            changes = list(_removals(ids, pending, states))
            latest.update((change.at, change) for change in changes)
            first = {**latest, **first}
            refused = {change.at for change in _commit(store, changes)}
            # Of what an attempt before this one marked without an answer, the member may still be there.
            _drop_members(store, [latest[at] for at in pending if at in latest and at not in refused])
            pending = sorted(refused)
        if not pending:
            return [at in first and first[at].was_found_since(oldest) for at in range(len(ids))]
    raise StoreBusy(f"{len(pending)} documents kept being changed by others, {ids[pending[0]]!r} among them")


def refresh_documents(store: Store, profile: Profile, ids: Sequence[str], *, now: int) -> None:
    """Write down that documents were seen, where the index lets documents expire.

    Parameters
    ----------
    store, profile
        The index.
    ids : sequence of str
        Documents that were offered again, or named as originals.
    now : int
        Milliseconds since 1970.

    Notes
    -----
    Only what was last seen longer ago than a tenth of the time to live is written, all cells of it. A refresh that
    another writer gets ahead of is left out: that writer has seen the document too.
    """
    if profile.ttl_ms is None or not isinstance(store, CompareAndSet):
        return
    with atomically(store):
        due = range(profile.oldest(now), now - profile.ttl_ms // 10)
        changes = list(_refreshes(read_states(store, ids), ids, due, now))
        found = [change for change in changes if change.is_searchable]
        keys = [(member_row(change.new.simhash), row_digest(change.row)) for change in found]
        members = [cell for cell in store.get(FAMILY_DOCUMENTS, keys) if cell is not None]
        stamps = {row_digest(change.row): change.new.stamp for change in found}
        if members:
            store.put(FAMILY_DOCUMENTS, [cell._replace(timestamp=stamps[cell.qualifier]) for cell in members])
            simhashes = np.array([change.new.simhash for change in found], dtype=np.uint64)
            store.put_rows(block_rows(profile.blocks, simhashes), timestamp=now)
        _commit(store, changes)


def _refreshes(
    states: Sequence[tuple[DocumentState, bytes] | None], ids: Sequence[str], due: range, now: int
) -> Iterator[Change]:
    """Choose what was seen long ago, but has not expired: that stays away."""
    for at, (name, held) in enumerate(zip(ids, states, strict=True)):
        if held is None or held[0].seen not in due or held[0].state not in (*FOUND_STATES, "duplicate"):
            continue
        old, value = held
        new = msgspec.structs.replace(old, seen=now, stamp=max(now, old.stamp + 1))
        yield Change(at, document_row(id_digest(name)), old, value, new)


def _plan(
    store: Store, entries: Entries, wanted: Sequence[Outcome], pending: Sequence[int], now: int, oldest: int
) -> list[Change]:
    states = read_states(store, [entries.ids[at] for at in pending])
    changes = []
    for at, held in zip(pending, states, strict=True):
        old, old_value = held or (None, None)
        new = _next_state(entries, at, wanted[at], old, now, oldest)
        changes.append(Change(at, document_row(id_digest(new.id)), old, old_value, new))
    return changes


def _next_state(
    entries: Entries, at: int, outcome: Outcome, old: DocumentState | None, now: int, oldest: int
) -> DocumentState:
    """Say what the document cell becomes; adding a known original again leaves it one, unless it has expired."""
    simhash = int(entries.simhashes[at])
    stays = old is not None and old.state in FOUND_STATES and old.simhash == simhash and old.seen >= oldest
    keeps = stays and old is not None and outcome.state == "added"
    return DocumentState(
        id=entries.ids[at],
        simhash=simhash,
        state=old.state if keeps and old is not None else outcome.state,
        seen=now,
        stamp=now if old is None else max(now, old.stamp + 1),
        order=old.order if stays and old is not None else (now, at),
        of=outcome.of,
        distance=outcome.distance,
        similarity=outcome.similarity,
    )


def _apply(store: Store, profile: Profile, entries: Entries, changes: list[Change]) -> list[Change]:
    """Write a planned batch in the order that keeps it findable; return what other writers got ahead of."""
    searchable = [change for change in changes if change.is_searchable]
    if searchable:
        store.put(FAMILY_DOCUMENTS, [_member_cell(entries, change) for change in searchable])
        # Where HBase collects what is old, a refresh rewrites all cells of a document.
        again = profile.ttl_ms is not None
        fresh = [change for change in searchable if again or not _has_rows(change)]
        simhashes = np.array([change.new.simhash for change in fresh], dtype=np.uint64)
        if fresh:
            stamp = max(change.new.seen for change in fresh)
            store.put_rows(block_rows(profile.blocks, simhashes), timestamp=stamp)
    refused = _commit(store, changes)
    lost = {change.at for change in refused}
    _drop_members(store, [c for c in changes if c.at not in lost and (c.moves or not c.is_searchable)])
    return refused


def _has_rows(change: Change) -> bool:
    """Tell whether the block rows stand already, because the document counts under this fingerprint."""
    old = change.old
    return old is not None and old.state in FOUND_STATES and not change.moves


def _member_cell(entries: Entries, change: Change) -> Cell:
    at, new = change.at, change.new
    metadata = entries.metadata[at]
    member = Member(
        id=new.id,
        added=new.order[0],
        length=int(entries.lengths[at]),
        features=int(entries.features[at]),
        digest=entries.digests[at],
        sketch=entries.sketches[at].astype(">u8").tobytes() if entries.sketched[at] else b"",
        metadata=dict(metadata) if metadata else None,
    )
    return Cell(member_row(new.simhash), row_digest(change.row), encode(member), new.stamp)


def _commit(store: Store, changes: Sequence[Change]) -> list[Change]:
    """Write the document cells: new ones by a put, known ones by compare-and-set."""
    swaps = [c for c in changes if c.old is not None] if isinstance(store, CompareAndSet) else []
    swapped = {change.at for change in swaps}
    plain = [change for change in changes if change.at not in swapped]
    if plain:
        cells = [Cell(change.row, STATE_QUALIFIER, encode(change.new)) for change in plain]
        store.put(FAMILY_DOCUMENTS, cells)
    if not swaps or not isinstance(store, CompareAndSet):
        return []
    asked = [Swap(c.row, STATE_QUALIFIER, c.old_value, encode(c.new)) for c in swaps]
    taken = store.compare_and_set(asked)
    return [change for change, done in zip(swaps, taken, strict=True) if not done]


def _drop_members(store: Store, changes: Sequence[Change]) -> None:
    """Delete the members that the documents had before, up to the timestamp they were written with."""
    cells = [
        Cell(member_row(old.simhash), row_digest(change.row), b"", old.stamp)
        for change in changes
        if (old := change.old) is not None
    ]
    if cells:
        store.delete(FAMILY_DOCUMENTS, cells)


def _removals(
    ids: Sequence[str], pending: Sequence[int], states: Sequence[tuple[DocumentState, bytes] | None]
) -> Iterator[Change]:
    for at, held in zip(pending, states, strict=True):
        if held is None or held[0].state == "removed":
            continue
        old, value = held
        gone = DocumentState(id=old.id, simhash=old.simhash, state="removed", seen=old.seen, stamp=old.stamp)
        yield Change(at, document_row(id_digest(ids[at])), old, value, gone)


def _own(name: str, cell: Cell) -> DocumentState:
    state = decode_document(cell.value)
    if state.id != name:
        raise CorruptIndex(f"the document cell of {name!r} holds {state.id!r}")
    return state


@contextmanager
def _looking_again(store: Store, attempt: int) -> Iterator[None]:
    """Let the next attempt read what became of a write that was not answered.

    The store repeats by itself what may be repeated; what it raises may have taken effect, so only a look helps. A
    transaction that had no effect, since the store had to grow for it, is made again.
    """
    again = (StoreBusy,) if isinstance(store, Transactional) else (StoreTimeout, StoreUnavailable)
    try:
        yield
    except again:
        if attempt == ATTEMPTS - 1:
            raise


def _attempts() -> Iterator[int]:
    """Count attempts, waiting longer and at random before each further one."""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(random.uniform(0.5, 1.5) * FIRST_PAUSE_S * 2**attempt)
        yield attempt
