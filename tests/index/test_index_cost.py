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
ALL_BITS = (1 << 64) - 1


@pytest.fixture
def store():
    return NotingStore()


@pytest.fixture
def index(store):
    return make(store)


@pytest.fixture
def swapping(store):
    """Return an index in a store without transactions whose time is known."""
    make(store)
    made = Index(SwappingOnly(store))
    made.add_entries(entries({f"read the server's time {i}": i for i in range(20)}))
    store.take()
    return made


def make(store, **options):
    profile = Profile.resolve(**{"analyzer": "shingle", "match": "distance", **options})
    index = Index.create(store, profile)
    store.take()
    return index


def add(index, documents):
    """Add what a test begins with: that is not noted."""
    index.add_entries(entries(documents))
    index.store.take()


def near(count, seed, name="document"):
    return {f"{name} {i}": simhash for i, simhash in enumerate(clustered(count, seed=seed))}


def apart(count, name="new"):
    return {f"{name} {i}": (i + 1) * BASE & ALL_BITS for i in range(count)}


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


def test_a_query_without_candidates_asks_nothing_else(store, index):
    add(index, {"far away": ~BASE & ALL_BITS})

    index.query_simhash(BASE)

    assert store.take_names() == ["scan"]


@pytest.mark.parametrize("queries", [1, 10, 1_000])
def test_queries_with_candidates_ask_three_times_whatever_their_number(store, index, queries):
    add(index, near(500, seed=1))

    index.query_entries(entries(near(queries, seed=1, name="query")))

    assert store.take_names() == ["scan", "get_rows", "get"]


def test_queries_that_share_prefixes_scan_each_once(store, index):
    index.query_entries(entries([(f"query {i}", BASE) for i in range(50)]))

    [prefixes] = scanned(store.take())
    assert len(prefixes) == 10
    assert np.all(prefixes[1:] > prefixes[:-1])


@pytest.mark.slow
@pytest.mark.parametrize("documents", [1, 10, 2_000])
def test_adding_new_documents_is_four_calls_in_one_transaction(store, index, documents):
    index.add_entries(entries(near(documents, seed=2)))

    assert store.take_names() == ["transaction", "get", "put", "put_rows", "put"]


@pytest.mark.parametrize(
    ("documents", "commit"), [(1, ["compare_and_set"]), (2, ["put", "get"]), (2_000, ["put", "get"])]
)
def test_without_transactions_first_cells_are_put_and_read_back_but_a_single_one_is_compared_and_set(
    store, swapping, documents, commit
):
    swapping.add_entries(entries(near(documents, seed=2)))

    assert store.take_names() == ["get", "put", "put_rows", *commit]


@pytest.mark.slow
@pytest.mark.parametrize("third", [1, 10, 300])
def test_adding_new_known_and_moved_documents_is_six_calls_at_most(store, index, third):
    before = near(3 * third, seed=3)
    add(index, before)
    again = dict(list(before.items())[:third])
    moved = {name: ~simhash & ALL_BITS for name, simhash in list(before.items())[third : 2 * third]}

    index.add_entries(entries({**again, **moved, **near(third, seed=3, name="new")}))

    names = store.take_names()
    assert names.count("transaction") == 1
    assert len(names) <= 7
    assert len(set(names)) >= len(names) - 1


def test_adding_known_documents_again_writes_no_block_row(store, index):
    add(index, {"a": BASE})

    index.add_entries(entries({"a": BASE}))

    assert "put_rows" not in store.take_names()


@pytest.mark.parametrize("documents", [1, 1_000])
def test_removing_is_four_calls_whatever_the_number(store, index, documents):
    before = near(documents, seed=4)
    add(index, before)

    assert all(done for _, done in index.remove_many(list(before)))

    assert store.take_names() == ["transaction", "get", "compare_and_set", "delete", "get_rows"]


@pytest.mark.parametrize("documents", [2, 500])
def test_a_batch_of_dedup_costs_a_query_and_a_write(store, index, documents):
    add(index, near(200, seed=5))

    index.dedup_entries(entries(near(documents, seed=6, name="new")), index.deduplicator())

    names = store.take_names()
    assert names.count("scan") == 1
    assert len(names) <= 11


@pytest.mark.parametrize("documents", [2, 500])
def test_a_batch_of_dedup_without_transactions_reads_the_cells_of_its_documents_once(store, swapping, documents):
    swapping.dedup_entries(entries(apart(documents)), swapping.deduplicator())

    assert store.take_names() == ["get", "scan", "put", "put_rows", "put", "get"]


@pytest.mark.parametrize("documents", [1, 500])
def test_a_batch_of_claims_in_a_transaction_reads_the_cells_of_its_documents_once(store, index, documents):
    index.claim_entries(entries(apart(documents)))
    new = store.take_names()
    index.claim_entries(entries(apart(documents, name="copy")))
    copies = store.take_names()

    assert new == ["transaction", "get", "scan", "put", "put_rows", "put"]
    # The second of the reads is that of the originals.
    assert copies == ["transaction", "get", "scan", "get_rows", "get", "put", "put"]


@pytest.mark.parametrize("documents", [2, 500])
def test_a_batch_of_new_claims_costs_two_queries_and_one_compare_and_set_a_document(store, documents):
    make(store)
    index = Index(SwappingOnly(store))
    store.take()

    # The server's time is asked for once a minute.
    index.claim_entries(entries(apart(documents)))

    calls = store.take()
    server_time, read_own, become_pending, write = ["put", "get"], ["get"], ["put", "get"], ["put", "put_rows"]
    first_query, second_query = ["scan"], ["scan", "get_rows", "get"]
    names = [name for name, _ in calls]
    assert names == [*server_time, *read_own, *first_query, *become_pending, *write, *second_query, "compare_and_set"]
    assert len(calls[-1][1][0]) == documents


@pytest.mark.parametrize("copies", [2, 500])
def test_a_batch_of_claimed_copies_costs_one_query_and_one_compare_and_set_a_document(store, swapping, copies):
    swapping.add_entries(entries({"a": BASE}))
    store.take()

    swapping.claim_entries(entries({f"copy {i}": BASE for i in range(copies)}))

    assert store.take_names() == ["get", "scan", "get_rows", "get", "put", "compare_and_set"]


def test_where_documents_expire_claims_become_pending_by_compare_and_set(store):
    make(store, ttl_days=1)

    Index(SwappingOnly(store)).claim_entries(entries({"a": BASE, "b": ~BASE & ALL_BITS}))

    assert store.take_names().count("compare_and_set") == 2


def test_get_and_query_by_id_do_not_scan_for_the_document(store, index):
    add(index, {"a": BASE})

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


@pytest.mark.slow
@pytest.mark.parametrize("repair", [False, True])
def test_verify_takes_memory_by_its_page_and_not_by_the_rows_of_a_prefix(crowded, repair, monkeypatch):
    monkeypatch.setattr("simhash_hbase.index.upkeep.maintenance.PAGE", 500)
    found = []

    taken = peak_bytes(lambda: found.append(crowded.verify(repair=repair)))

    assert found[0].orphan_rows > CROWD * 9
    assert (found[0].incomplete, found[0].wrong) == (0, 0)
    assert taken < 2_000_000


@pytest.mark.slow
def test_vacuum_takes_memory_by_its_page_and_not_by_the_rows_of_a_prefix(crowded, monkeypatch):
    monkeypatch.setattr("simhash_hbase.index.upkeep.maintenance.PAGE", 500)
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


@pytest.mark.parametrize("repair", [False, True])
def test_a_repair_reads_each_page_again_in_a_transaction_and_a_check_holds_nothing(store, index, repair):
    add(index, {"a": BASE})

    index.verify(repair=repair)

    names = store.take_names()
    assert names.count("transaction") == (1 if repair else 0)
    # Each transaction begins by reading what the page held once more.
    assert names[:4] == (["scan_cells", "transaction", "get", "get"] if repair else ["scan_cells", "get", "get", "get"])
    assert "put" not in names


def test_one_folder_or_process_has_one_clock_and_is_not_asked_for_it(store, index):
    index.vacuum()
    index.verify(repair=True)
    index.add_entries(entries({"a": BASE}))

    assert [arguments[0] for name, arguments in store.take() if name == "put"] == ["d", "d"]
