"""Writes that other writers keep getting ahead of."""

import pickle

import pytest
from support.bruteforce import entries
from support.server_doubles import SwappingOnly

from simhash_hbase import Index, Profile
from simhash_hbase.errors import StoreBusy
from simhash_hbase.stores.memory import MemoryStore


class Lost(SwappingOnly):
    """Somebody else has always changed the document before."""

    def compare_and_set(self, swaps):
        return [False] * len(swaps)


@pytest.mark.parametrize(
    "write",
    [lambda index: index.add_entries(entries({"some/id": 2})), lambda index: list(index.remove_many(["some/id"]))],
)
def test_the_error_names_a_document_to_people_and_none_to_a_log(monkeypatch, write):
    monkeypatch.setattr("simhash_hbase.index.write.FIRST_PAUSE_S", 0)
    behind = MemoryStore()
    Index.create(behind, Profile.resolve(analyzer="shingle")).add_entries(entries({"some/id": 0}))

    with pytest.raises(StoreBusy) as raised:
        write(Index(Lost(behind)))

    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):
        assert error.sentence == "1 documents kept being changed by others"
        assert str(error) == f"{error.sentence}, 'some/id' among them"


@pytest.mark.parametrize("reached", [lambda store: store, SwappingOnly])
def test_what_another_writer_adds_while_a_batch_is_decided_is_replaced_as_a_whole(monkeypatch, reached):
    now = 1_700_000_000_000
    monkeypatch.setattr("simhash_hbase.index.timestamps.time_below", lambda store: now - 60_000)
    behind = MemoryStore(clock=lambda: now)
    rival = Index.create(behind, Profile.resolve(analyzer="shingle", match="distance"), clock=lambda: now)
    index, scan = Index(reached(behind), clock=lambda: now), behind.scan

    def scan_long_after_the_rival_has_written(*arguments, **named):
        nonlocal now
        behind.scan = scan
        now += 1_000
        rival.add_entries(entries({"a": 0xFF << 8, "b": 0xFF << 24}))
        now += 600_000
        return scan(*arguments, **named)

    behind.scan = scan_long_after_the_rival_has_written
    index.dedup_entries(entries({"a": 0xFF << 32, "b": 0xFF << 48, "c": 0}), index.deduplicator())

    assert {stored.id: stored.simhash for stored in index.export()} == {"a": 0xFF << 32, "b": 0xFF << 48, "c": 0}
    verified = index.verify()
    assert (verified.wrong, verified.stale_members) == (0, 0)
