"""The contract that `simhash_hbase.testing` has of every store, for the stores of this package."""

import pytest

from simhash_hbase.errors import Unsupported
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.memory import MemoryStore
from simhash_hbase.testing import StoreContract, TransactionContract
from simhash_hbase.testing.contract import ROW


class TestStore(StoreContract):
    pass


class TestTransactions(TransactionContract):
    pass


def test_a_stamp_is_higher_than_the_one_before_even_when_the_clock_runs_back(store, clock):
    stamps = []
    for now in (clock.now, clock.now, clock.now - 1000):
        clock.now = now
        store.put("d", [Cell(ROW, b"s", b"v")])
        stamps.append(store.get("d", [(ROW, b"s")])[0].timestamp)

    assert stamps == [1_000_000, 1_000_001, 1_000_002]


def test_a_store_in_memory_has_neither_a_folder_nor_servers():
    store = MemoryStore()

    assert not store.gathers
    with store.gathered():
        assert (store.is_awaited(), store.gathered_bytes()) == (False, 0)
    store.check_readable()
    store.check_writable()
    assert (store.space(), store.regions(), store.traffic(), store.shortfalls) == (None, None, None, ())
    with pytest.raises(Unsupported, match=r"^memory: cannot be copied"):
        store.backup("copy")
