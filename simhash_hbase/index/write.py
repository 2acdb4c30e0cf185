"""Writing: add, move and remove documents so that what was acknowledged is findable, whoever else writes.

Every batch is written members first, then block rows, then the document cells: the document cell is the commit point,
so at every moment a document that `get` shows can be found. A crash before it leaves rows that no answer counts and
`vacuum` deletes.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from simhash_hbase.errors import StoreBusy
from simhash_hbase.index.attempts import attempts
from simhash_hbase.index.changes import (
    Change,
    Found,
    commit,
    drop_copies,
    drop_members,
    find_documents,
    put_documents,
    read_states,
    removal,
)
from simhash_hbase.index.copycells import kept_key
from simhash_hbase.index.firstcells import decision_time
from simhash_hbase.index.lookup import stored_rows
from simhash_hbase.index.servertime import writing_time
from simhash_hbase.profile import Profile
from simhash_hbase.rows.collections import own_id
from simhash_hbase.rows.documents import DocumentState, State, Text, decode_member
from simhash_hbase.rows.entries import Entries
from simhash_hbase.rows.keys import document_row, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import CompareAndSet, Store, atomically


class Outcome(NamedTuple):
    """What a document is to become."""

    state: State = "added"
    of: str | None = None
    distance: int | None = None
    similarity: float | None = None
    of_text: Text | None = None


class Written(NamedTuple):
    """What a batch did, a flag a document."""

    known: list[bool]  # The id was in the index before.
    moved: list[bool]  # It was there with another text.


ADDED = Outcome()


def write_documents(
    store: Store, profile: Profile, entries: Entries, outcomes: Sequence[Outcome] | None, *, now: int
) -> Written:
    """Write documents with the states decided for them.

    At most seven calls of the store, whatever the size of the batch, and two more each minute; more where other writers
    change the same documents meanwhile. In a store with transactions it is six, and all of it is one.
    """
    now = writing_time(store, now)
    wanted = [ADDED] * len(entries) if outcomes is None else outcomes
    first: dict[int, Change] = {}
    pending: list[int] = list(range(len(entries)))
    below = decision_time(store, len(entries))
    for attempt in attempts(store):
        with attempt as answered, atomically(store):
            found = find_documents(store, [entries.ids[at] for at in pending])
            answered()
            changes = _plan(entries, wanted, pending, found, now, profile.oldest(now))
            # A later attempt may find what this one wrote: what was known is what the first one found.
            first = {**{change.at: change for change in changes}, **first}
            pending = [change.at for change in apply_changes(store, profile, entries, changes, below=below)]
        # A delete may hide what is placed in an empty cell: only a compare-and-set says so.
        below = None
        if not pending:
            plans = [first[at] for at in range(len(entries))]
            return Written([plan.is_known for plan in plans], [plan.moves for plan in plans])
    raise _lost(len(pending), entries.ids[pending[0]])


def remove_documents(store: Store, ids: Sequence[str], *, oldest: int = 0) -> list[bool]:
    """Remove documents.

    The document cell says ``removed`` first, so no answer counts the document from then on; then its member goes, and
    of an original the list of its copies.
    Block rows stay until `vacuum`.
    """
    first: dict[int, Change] = {}
    latest: dict[int, Change] = {}
    pending = list({name: at for at, name in reversed(list(enumerate(ids)))}.values())
    for attempt in attempts(store):
        with attempt as answered, atomically(store):
            states = read_states(store, [ids[at] for at in pending])
            answered()
            changes = list(_removals(pending, states))
            latest.update((change.at, change) for change in changes)
            first = {**latest, **first}
            refused = {change.at for change in commit(store, changes)}
            # Of what an attempt before this one marked without an answer, the member may still be there.
            removed = [latest[at] for at in pending if at in latest and at not in refused]
            drop_members(store, removed)
            drop_copies(store, removed)
            pending = sorted(refused)
        if not pending:
            return [at in first and first[at].was_shown_since(oldest) for at in range(len(ids))]
    raise _lost(len(pending), ids[pending[0]])


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
    """Do what `refresh_documents` does, within the caller's transaction if there is one.

    Returns
    -------
    tuple
        The changes that were made, and those that other writers got ahead of.
    """
    if profile.ttl_ms is None or not isinstance(store, CompareAndSet):
        return (), ()
    due = range(profile.oldest(now), now - profile.ttl_ms // 10)
    changes = list(_refreshes(read_states(store, ids), due, now))
    seen = [state for change in changes if (state := change.new.shown())]
    kept = store.get(FAMILY_DOCUMENTS, [kept_key(state) for state in seen])
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


def _refreshes(states: Sequence[tuple[DocumentState, bytes] | None], due: range, now: int) -> Iterator[Change]:
    """Choose what was seen long ago, but has not expired: that stays away."""
    for at, (old, value) in enumerate(held for held in states if held is not None):
        decision = old.shown()
        if decision is None or decision.seen not in due:
            continue
        stamp = max(now, old.stamp + 1)
        seen = msgspec.structs.replace(decision, seen=now, stamp=stamp)
        # What is moving is refreshed in the text that counts as yet.
        new = seen if not old.is_undecided else msgspec.structs.replace(old, previous=seen, stamp=stamp)
        yield Change(at, document_row(id_digest(old.id)), old, value, new)


def apply_outcomes(
    store: Store, profile: Profile, entries: Entries, outcomes: Sequence[Outcome], *, found: Found, now: int
) -> list[Change]:
    """Do what `write_documents` does once, within the caller's transaction, in which the cells were found."""
    changes = _plan(entries, outcomes, range(len(entries)), found, now, profile.oldest(now))
    return apply_changes(store, profile, entries, changes)


def apply_changes(
    store: Store, profile: Profile, entries: Entries, changes: Sequence[Change], *, below: int | None = None
) -> list[Change]:
    """Write a planned batch in the order that keeps it findable; return what other writers got ahead of."""
    put_documents(store, profile, entries, changes)
    refused = commit(store, changes, below=below)
    lost = {change.at for change in refused}
    drop_members(store, [change for change in changes if change.at not in lost])
    return refused


def _plan(
    entries: Entries, wanted: Sequence[Outcome], pending: Sequence[int], found: Found, now: int, oldest: int
) -> list[Change]:
    changes = []
    texts = entries.texts()
    for at, row, held in zip(pending, *found, strict=True):
        old, old_value = held or (None, None)
        new = _next_state(entries.ids[at], texts[at], (now, at), wanted[at], old, oldest)
        changes.append(Change(at, row, old, old_value, new))
    return changes


def _next_state(
    name: str, text: Text, order: tuple[int, int], outcome: Outcome, old: DocumentState | None, oldest: int
) -> DocumentState:
    """Say what the document cell becomes; adding a known original again leaves it one, unless it has expired."""
    now, _ = order
    held = old and old.found(oldest)
    if held and not held.text.is_same(text):
        held = None
    return DocumentState(
        id=name,
        simhash=text.simhash,
        state=held.state if held and outcome.state == "added" else outcome.state,
        seen=now,
        stamp=now if old is None else max(now, old.stamp + 1),
        order=held.order if held else order,
        of=outcome.of,
        distance=outcome.distance,
        similarity=outcome.similarity,
        digest=text.digest,
        of_text=outcome.of_text,
    )


def _removals(pending: Sequence[int], states: Sequence[tuple[DocumentState, bytes] | None]) -> Iterator[Change]:
    for at, held in zip(pending, states, strict=True):
        if held is not None and held[0].state != "removed":
            yield removal(at, *held)


def _lost(count: int, name: str) -> StoreBusy:
    return StoreBusy(f"{count} documents kept being changed by others", named=f", {own_id(name)!r} among them")
