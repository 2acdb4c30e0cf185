"""Writes to a store that stops answering: looked for as long as a look can help, and no longer."""

import pytest
from support.bruteforce import entries
from support.server_doubles import SwappingOnly
from support.stepping import know_time

from simhash_hbase import Index, Profile, StoreTimeout
from simhash_hbase.stores.memory import MemoryStore

OPERATIONS = {
    "add": lambda index: index.add_entries(entries({"b": 1})),
    "move": lambda index: index.add_entries(entries({"a": 2})),
    "remove": lambda index: list(index.remove_many(["a"])),
}
READS = ("get",)
WRITES = ("put", "compare_and_set", "delete")


class Silent(SwappingOnly):
    """Has no answer for some calls; writes among them take effect."""

    def __init__(self, store):
        super().__init__(store)
        self.silent = ()
        self.silent_after_a_write = ()
        self.asked = []

    def ask(self, name, call):
        self.asked.append("read" if name in READS else "write")
        is_silent = name in self.silent
        if name in WRITES:
            self.silent = self.silent_after_a_write
        if is_silent and name in READS:
            raise StoreTimeout("no answer")
        answer = call()
        if is_silent:
            raise StoreTimeout("no answer, and it was done")
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


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_read_that_is_not_answered_is_the_end(store, operation):
    index = Index(store)
    store.asked.clear()
    store.silent = READS

    with pytest.raises(StoreTimeout):
        OPERATIONS[operation](index)

    assert store.asked == ["read"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_write_that_is_not_answered_is_looked_for_once_where_the_look_is_not_answered_either(store, operation):
    index = Index(store)
    store.asked.clear()
    store.silent, store.silent_after_a_write = WRITES, READS

    with pytest.raises(StoreTimeout):
        OPERATIONS[operation](index)

    assert store.asked == ["read", "write", "read"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_write_whose_answer_was_lost_is_found_by_the_next_look(store, operation):
    index = Index(store)
    store.silent = WRITES

    OPERATIONS[operation](index)

    assert [stored.simhash if stored else None for stored in index.get_many(["a", "b"])] == {
        "add": [0, 1],
        "move": [2, None],
        "remove": [None, None],
    }[operation]
    assert index.verify().wrong == 0


@pytest.mark.parametrize("operation", OPERATIONS)
def test_writes_that_stay_without_an_answer_are_given_up_when_their_time_is_over(store, operation, monkeypatch):
    monkeypatch.setattr("simhash_hbase.index.write.LOOK_S", 0.0)
    index = Index(store)
    store.asked.clear()
    store.silent = store.silent_after_a_write = WRITES

    with pytest.raises(StoreTimeout):
        OPERATIONS[operation](index)

    assert store.asked == ["read", "write"]
