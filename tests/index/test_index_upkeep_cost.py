"""What verify and vacuum read: the rows of a page's documents, however many others lie under the same prefixes."""

import numpy as np
import pytest
from support.bruteforce import entries
from support.noting import NotingStore
from support.peak import peak_bytes
from support.swapping import SwappingOnly

from simhash_hbase import Index, Profile
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore

BASE = 0x9E3779B97F4A7C15
CROWD = 20_000


@pytest.fixture
def crowded(tmp_path):
    """Return an index of one document, with a crowd of rows under one of its prefixes."""
    store = EmbeddedStore.create(str(tmp_path / "index"), EmbeddedOptions(durable=False))
    with Index.create(store, Profile.resolve(analyzer="shingle", match="distance", grace_s=0)) as index:
        index.add_entries(entries({"a": BASE}))
        low = np.random.default_rng(1).integers(0, 1 << 38, CROWD, dtype=np.uint64)
        crowd = np.uint64(BASE) & ~np.uint64((1 << 38) - 1) | low
        index.store.put_rows(block_rows(index.profile.blocks, crowd), timestamp=1)
        yield index


@pytest.mark.parametrize("repair", [False, True])
def test_verify_takes_memory_by_its_page_and_not_by_the_rows_of_a_prefix(crowded, repair, monkeypatch):
    monkeypatch.setattr("simhash_hbase.index.upkeep.verify.PAGE", 500)
    found = []

    taken = peak_bytes(lambda: found.append(crowded.verify(repair=repair)))

    assert found[0].orphan_rows > CROWD * 9
    assert (found[0].incomplete, found[0].wrong) == (0, 0)
    assert taken < 2_000_000


def test_vacuum_takes_memory_by_its_page_and_not_by_the_rows_of_a_prefix(crowded, monkeypatch):
    monkeypatch.setattr("simhash_hbase.index.upkeep.vacuum.PAGE", 500)
    swept = []

    taken = peak_bytes(lambda: swept.append(crowded.vacuum()))

    assert swept[0].rows > CROWD * 9
    assert taken < 2_000_000
    assert crowded.verify().rows == 10


@pytest.mark.parametrize("hide", [lambda store: store, SwappingOnly])
def test_neither_scans_a_prefix(hide, clock):
    store = NotingStore()
    Index.create(store, Profile.resolve(analyzer="shingle", match="distance", grace_s=0), clock=clock)
    index = Index(hide(store), clock=clock)
    index.add_entries(entries({"a": BASE, "b": BASE ^ 1, "c": ~BASE & (1 << 64) - 1}))
    list(index.remove_many(["c"]))
    clock.advance(ms=200_000)
    store.take()

    swept, found = index.vacuum(), index.verify(repair=True)

    assert (swept.removed, found.wrong) == (1, 0)
    assert "scan" not in store.take_names()


@pytest.mark.parametrize("count", [1, 9, 10])
def test_a_document_that_lacks_some_of_its_rows_counts_once_and_gets_them_back(make_index, count):
    index = make_index()
    index.add_entries(entries({"a": BASE, "b": BASE, "c": BASE ^ 1}))
    rows = block_rows(index.profile.blocks, np.array([BASE], dtype=np.uint64))
    index.store.delete_rows(type(rows)(rows.prefixes[:count], rows.simhashes[:count]), timestamp=1)

    found, mended, again = index.verify(), index.verify(repair=True), index.verify()

    assert (found.incomplete, found.wrong, found.repaired) == (2, 2, 0)
    assert (mended.incomplete, mended.repaired, mended.not_repaired) == (2, 2, 0)
    assert (again.incomplete, again.rows) == (0, 20)
