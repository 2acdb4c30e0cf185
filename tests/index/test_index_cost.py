"""What calls cost: which calls of the store, how many cells, and how much memory."""

from math import comb

import numpy as np
import pytest
from support.bruteforce import clustered, entries
from support.cost import NotingStore, peak_bytes
from support.server_doubles import SwappingOnly

from simhash_hbase import Index, Profile
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore

BASE = 0x9E3779B97F4A7C15


@pytest.fixture
def store():
    return NotingStore()


def make(store, **options):
    profile = Profile.resolve(**{"analyzer": "shingle", "match": "distance", **options})
    index = Index.create(store, profile)
    store.take()
    return index


def scanned(calls):
    return [arguments[0] for name, arguments in calls if name == "scan"]


@pytest.mark.parametrize(("scheme", "k"), [("5x2", 3), ("4x1", 3), ("6x3", 3), ("7x4", 3), ("8x4", 4), ("6x1", 5)])
def test_a_query_is_one_scan_of_as_many_prefixes_as_tables(store, scheme, k):
    index = make(store, scheme=scheme, distance=k)
    blocks, chosen = map(int, scheme.split("x"))

    index.query_simhash(BASE)

    [prefixes] = scanned(store.take())
    assert len(prefixes) == comb(blocks, chosen)
    assert len(np.unique(prefixes)) == len(prefixes)


def test_a_query_without_candidates_asks_nothing_else(store):
    index = make(store)
    index.add_entries(entries({"far away": ~BASE & (1 << 64) - 1}))
    store.take()

    index.query_simhash(BASE)

    assert store.take_names() == ["scan"]


@pytest.mark.parametrize("queries", [1, 10, 1_000])
def test_queries_with_candidates_ask_three_times_whatever_their_number(store, queries):
    index = make(store)
    index.add_entries(entries({f"document {i}": s for i, s in enumerate(clustered(500, seed=1))}))
    store.take()

    index.query_entries(entries([(f"query {i}", s) for i, s in enumerate(clustered(queries, seed=1))]))

    assert store.take_names() == ["scan", "get_rows", "get"]


def test_queries_that_share_prefixes_scan_each_once(store):
    index = make(store)

    index.query_entries(entries([(f"query {i}", BASE) for i in range(50)]))

    [prefixes] = scanned(store.take())
    assert len(prefixes) == 10
    assert np.all(prefixes[1:] > prefixes[:-1])


@pytest.mark.parametrize("documents", [1, 10, 2_000])
def test_adding_new_documents_is_four_calls_in_one_transaction(store, documents):
    index = make(store)

    index.add_entries(entries({f"document {i}": s for i, s in enumerate(clustered(documents, seed=2))}))

    assert store.take_names() == ["transaction", "get", "put", "put_rows", "put"]


@pytest.mark.parametrize(
    ("documents", "commit"), [(1, ["compare_and_set"]), (2, ["put", "get"]), (2_000, ["put", "get"])]
)
def test_without_transactions_first_cells_are_put_and_read_back_but_a_single_one_is_compared_and_set(
    store, documents, commit
):
    make(store)
    index = Index(SwappingOnly(store))
    index.add_entries(entries({f"read the server's time {i}": i for i in range(20)}))
    store.take()

    index.add_entries(entries({f"document {i}": s for i, s in enumerate(clustered(documents, seed=2))}))

    assert store.take_names() == ["get", "put", "put_rows", *commit]


@pytest.mark.parametrize("documents", [3, 30, 900])
def test_adding_new_known_and_moved_documents_is_six_calls_at_most(store, documents):
    index = make(store)
    old = clustered(documents, seed=3)
    index.add_entries(entries({f"document {i}": s for i, s in enumerate(old)}))
    store.take()
    third = documents // 3
    again = {f"document {i}": s for i, s in enumerate(old[:third])}
    moved = {f"document {i}": ~s & (1 << 64) - 1 for i, s in enumerate(old[:third], third)}
    new = {f"new {i}": s for i, s in enumerate(old[:third])}

    index.add_entries(entries({**again, **moved, **new}))

    names = store.take_names()
    assert names.count("transaction") == 1
    assert len(names) <= 7
    assert len(set(names)) >= len(names) - 1


def test_adding_known_documents_again_writes_no_block_row(store):
    index = make(store)
    index.add_entries(entries({"a": BASE}))
    store.take()

    index.add_entries(entries({"a": BASE}))

    assert "put_rows" not in store.take_names()


@pytest.mark.parametrize("documents", [1, 1_000])
def test_removing_is_four_calls_whatever_the_number(store, documents):
    index = make(store)
    ids = [f"document {i}" for i in range(documents)]
    index.add_entries(entries(dict(zip(ids, clustered(documents, seed=4), strict=True))))
    store.take()

    assert all(done for _, done in index.remove_many(ids))

    assert store.take_names() == ["transaction", "get", "compare_and_set", "delete", "get_rows"]


@pytest.mark.parametrize("documents", [2, 500])
def test_a_batch_of_dedup_costs_a_query_and_a_write(store, documents):
    index = make(store)
    index.add_entries(entries({f"document {i}": s for i, s in enumerate(clustered(200, seed=5))}))
    store.take()

    index.dedup_entries(
        entries({f"new {i}": s for i, s in enumerate(clustered(documents, seed=6))}), index.deduplicator()
    )

    names = store.take_names()
    assert names.count("scan") == 1
    assert len(names) <= 11


@pytest.mark.parametrize("documents", [2, 500])
def test_a_batch_of_dedup_without_transactions_reads_the_cells_of_its_documents_once(store, documents):
    make(store)
    index = Index(SwappingOnly(store))
    index.add_entries(entries({f"read the server's time {i}": i for i in range(20)}))
    store.take()

    index.dedup_entries(
        entries({f"new {i}": (i + 1) * BASE & (1 << 64) - 1 for i in range(documents)}), index.deduplicator()
    )

    assert store.take_names() == ["get", "scan", "put", "put_rows", "put", "get"]


@pytest.mark.parametrize("documents", [1, 500])
def test_a_batch_of_claims_in_a_transaction_reads_the_cells_of_its_documents_once(store, documents):
    index = make(store)
    index.claim_entries(entries({f"old {i}": i * BASE & (1 << 64) - 1 for i in range(documents)}))
    new = store.take()

    index.claim_entries(entries({f"copy {i}": i * BASE & (1 << 64) - 1 for i in range(documents)}))
    copies = store.take()

    assert [name for name, _ in new] == ["transaction", "get", "scan", "put", "put_rows", "put"]
    # The second of the reads is that of the originals.
    assert [name for name, _ in copies] == ["transaction", "get", "scan", "get_rows", "get", "put", "put"]


@pytest.mark.parametrize("documents", [2, 500])
def test_a_batch_of_new_claims_costs_two_queries_and_one_compare_and_set_a_document(store, documents):
    make(store)
    index = Index(SwappingOnly(store))
    store.take()

    index.claim_entries(entries({f"new {i}": i * BASE & (1 << 64) - 1 for i in range(documents)}))

    calls = store.take()
    read_own, become_pending, write = ["get"], ["put", "get"], ["put", "put_rows"]
    first_query, second_query = ["scan"], ["scan", "get_rows", "get"]
    names = [name for name, _ in calls]
    server_time = ["put", "get"]
    assert names == [*server_time, *read_own, *first_query, *become_pending, *write, *second_query, "compare_and_set"]
    assert len(calls[-1][1][0]) == documents


@pytest.mark.parametrize("copies", [2, 500])
def test_a_batch_of_claimed_copies_costs_one_query_and_one_compare_and_set_a_document(store, copies):
    make(store).add_entries(entries({"a": BASE}))
    index = Index(SwappingOnly(store))
    store.take()

    index.claim_entries(entries({f"copy {i}": BASE for i in range(copies)}))
    first = store.take_names()
    index.claim_entries(entries({f"another {i}": BASE for i in range(copies)}))

    # The server's time is asked for once a minute.
    assert first == ["put", "get", *store.take_names()]
    assert first[2:] == ["get", "scan", "get_rows", "get", "put", "compare_and_set"]


def test_where_documents_expire_claims_become_pending_by_compare_and_set(store):
    make(store, ttl_days=1)
    index = Index(SwappingOnly(store))
    store.take()

    index.claim_entries(entries({"a": BASE, "b": ~BASE & (1 << 64) - 1}))

    assert store.take_names().count("compare_and_set") == 2


def test_get_and_query_by_id_do_not_scan_for_the_document(store):
    index = make(store)
    index.add_entries(entries({"a": BASE}))
    store.take()

    index.get("a")
    index.query_id("a")

    assert store.take_names() == ["get", "get", "get", "get", "scan", "get_rows", "get"]


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
