"""What operations ask of a store: the number of calls does not depend on the size of a batch."""

from math import comb

import numpy as np
import pytest
from support.bruteforce import clustered, entries
from support.noting import NotingStore
from support.swapping import SwappingOnly

from simhash_hbase.index.index import Index
from simhash_hbase.profile import Profile

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
