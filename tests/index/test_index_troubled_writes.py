"""Writes to a store that stops answering, and writes that other writers get ahead of."""

import pickle

import pytest
from support.bruteforce import entries
from support.server_doubles import SwappingOnly
from support.stepping import know_time

from simhash_hbase import Index, Profile, StoreBusy, StoreTimeout
from simhash_hbase.stores.memory import MemoryStore

OPERATIONS = {
    "add": lambda index: index.add_entries(entries({"b": 1})),
    "move": lambda index: index.add_entries(entries({"a": 2})),
    "remove": lambda index: list(index.remove_many(["a"])),
}
AFTERWARDS = {"add": [0, 1], "move": [2, None], "remove": [None, None]}
READS = ("get",)
WRITES = ("put", "compare_and_set", "delete")


class Silent(SwappingOnly):
    """Has no answer for some calls; writes among them take effect."""

    def __init__(self, store):
        super().__init__(store)
        self.silent, self.silent_after_a_write, self.asked = (), (), []

    def ask(self, name, call):
        self.asked.append("read" if name in READS else "write")
        is_silent = name in self.silent
        if name in WRITES:
            self.silent = self.silent_after_a_write
        answer = call()
        if is_silent:
            raise StoreTimeout("no answer")
        return answer


def _asking(name):
    def call(self, *arguments, **named):
        return self.ask(name, lambda: getattr(self.behind, name)(*arguments, **named))

    return call


for _name in (*READS, *WRITES):
    setattr(Silent, _name, _asking(_name))


@pytest.fixture
def store():
    behind = MemoryStore()
    Index.create(behind, Profile.resolve(analyzer="shingle")).add_entries(entries({"a": 0}))
    made = Silent(behind)
    know_time(made, SwappingOnly(behind))
    return made


# Which calls have no answer, which have none after the first write, and what is asked.
UNANSWERED = {
    "a read is the end": (READS, (), ["read"]),
    "a write is looked for, and the look is the end": (WRITES, READS, ["read", "write", "read"]),
    "writes are given up when their time is over": (WRITES, WRITES, ["read", "write"]),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", UNANSWERED)
def test_what_stays_without_an_answer_is_an_error(store, operation, case, monkeypatch):
    index = Index(store)
    store.asked.clear()
    store.silent, store.silent_after_a_write, asked = UNANSWERED[case]
    if store.silent_after_a_write == WRITES:
        monkeypatch.setattr("simhash_hbase.index.write.LOOK_S", 0.0)

    with pytest.raises(StoreTimeout):
        OPERATIONS[operation](index)

    assert store.asked == asked


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_write_whose_answer_was_lost_is_found_by_the_next_look(store, operation):
    index = Index(store)
    store.silent = WRITES

    OPERATIONS[operation](index)

    found = [stored.simhash if stored else None for stored in index.get_many(["a", "b"])]
    assert found == AFTERWARDS[operation]
    assert index.verify().wrong == 0


class Lost(SwappingOnly):
    """Somebody else has always changed the document before."""

    def compare_and_set(self, swaps):
        return [False] * len(swaps)


@pytest.mark.parametrize("operation", ["move", "remove"])
def test_the_error_names_a_document_to_people_and_none_to_a_log(store, monkeypatch, operation):
    monkeypatch.setattr("simhash_hbase.index.write.FIRST_PAUSE_S", 0)

    with pytest.raises(StoreBusy) as raised:
        OPERATIONS[operation](Index(Lost(store.behind)))

    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):
        assert error.sentence == "1 documents kept being changed by others"
        assert str(error) == f"{error.sentence}, 'a' among them"


@pytest.mark.slow
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
    assert (index.verify().wrong, index.verify().stale_members) == (0, 0)
