"""Claiming where the store has transactions: a batch is queried, decided and written inside one."""

from simhash_hbase.errors import StoreBusy
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.attempts import attempts
from simhash_hbase.index.changes import commit, drop_members, find_documents, read_states, removal
from simhash_hbase.index.decide.dedup import Deduplicator, Plan
from simhash_hbase.index.write import apply_outcomes, refresh_within
from simhash_hbase.profile import Profile
from simhash_hbase.rows.entries import Entries
from simhash_hbase.stores.base import Store, atomically


def claim_in_transaction(store: Store, profile: Profile, entries: Entries, *, now: int) -> list[Decision]:
    """Decide and write a batch inside one transaction."""
    deduplicator = Deduplicator(store, profile)
    for attempt in attempts(store):
        with attempt:
            with atomically(store):
                plan = deduplicator.plan(entries, now=now)
                _write(store, profile, plan, now)
            return plan.decisions
    raise StoreBusy(f"{store.url} kept growing under a batch of {len(entries)} documents")


def _write(store: Store, profile: Profile, plan: Plan, now: int) -> None:
    found = plan.found
    if plan.expired:
        _bury(store, plan.expired)
        # What was buried may be a document of this batch.
        found = find_documents(store, plan.entries.ids)
    apply_outcomes(store, profile, plan.entries, plan.outcomes, found=found, now=now)
    refresh_within(store, profile, plan.seen, now=now)


def _bury(store: Store, expired: list[str]) -> None:
    """Remove what has expired by this clock: by another one, which is behind, it must not come back."""
    states = read_states(store, expired)
    changes = [removal(at, *held) for at, held in enumerate(states) if held is not None]
    commit(store, changes)
    drop_members(store, changes)
