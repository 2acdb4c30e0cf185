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
