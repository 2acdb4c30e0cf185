"""The cost of calls: which calls of the store, how many cells, and how much memory."""

from functools import partial

import numpy as np
import pytest
from support.bruteforce import ALL_BITS, BASE, FAR, clustered, dedup, entries
from support.cost import NotingStore, peak_bytes
from support.places import index_at
from support.server_doubles import SwappingOnly

from simhash_hbase import LocalIndex, Profile
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore


@pytest.fixture
def store():
    return NotingStore()


@pytest.fixture
def index(store):
    return make(store)


def make(store, **options):
    profile = Profile.resolve(**{"analyzer": "shingle", "match": "distance", **options})
    index = LocalIndex.create(store, profile)
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


def copies(count):
    return {f"copy {i}": BASE for i in range(count)}


def remove(index, documents):
    assert all(done for _, done in index.remove_many(documents.ids))


def mixed(third):
    """Make documents of which one third is in the index as it is, one with another text, and one is new."""
    known = dict(list(NEARBY.items())[:third])
    moved = {name: ~simhash & ALL_BITS for name, simhash in list(NEARBY.items())[-third:]}
    return known | moved | near(third, seed=3, name="new")


# What is in the index, what is done with how many documents, and the calls of the store, whatever their number.
NEARBY, COPIED, NEW = near(500, seed=1), {"a": BASE}, near(2_000, seed=2)
QUERIES = [near(count, seed=1, name="q") for count in (1, 10, 1_000)]
COSTS = [
    (COPIED, LocalIndex.query_entries, [{"q": FAR}], "scan"),
    (NEARBY, LocalIndex.query_entries, QUERIES, "scan get_rows get"),
    ({}, LocalIndex.add_entries, [near(1, seed=2), NEW], "transaction get put put_rows put"),
    (COPIED, LocalIndex.add_entries, [COPIED], "transaction get put compare_and_set"),
    (NEARBY, LocalIndex.add_entries, [mixed(1), mixed(200)], "transaction get put put_rows put compare_and_set delete"),
    (
        NEARBY,
        dedup,
        [QUERIES[0] | apart(1), QUERIES[2] | apart(500)],
        "transaction get scan get_rows get put put_rows put",
    ),
    (NEARBY | COPIED, remove, [COPIED, NEARBY], "transaction get compare_and_set delete get_rows"),
    # Claims read the cells of their documents once; the second of the reads of copies is that of the originals.
    ({}, LocalIndex.claim_entries, [apart(1), apart(500)], "transaction get scan put put_rows put"),
    (COPIED, LocalIndex.claim_entries, [copies(1), copies(500)], "transaction get scan get_rows get put put"),
]
# The same without transactions: first cells are put and read back, but a single one is compared and set.
SWAPPING_COSTS = [
    ({}, LocalIndex.add_entries, [near(1, seed=2)], "get put put_rows compare_and_set"),
    ({}, LocalIndex.add_entries, [near(2, seed=2), NEW], "get put put_rows put get"),
    ({}, dedup, [apart(2), apart(500)], "get scan put put_rows put get"),
    # Claims read their own cells, query, become pending, write, query again, and are decided.
    (
        {},
        LocalIndex.claim_entries,
        [apart(2), apart(500)],
        "get scan put get put put_rows scan get_rows get compare_and_set",
    ),
    (COPIED, LocalIndex.claim_entries, [copies(2), copies(500)], "get scan get_rows get put compare_and_set"),
]


def named(kind, hide, costs):
    return [pytest.param(hide, *case, id=f"{kind}, {at}: {case[1].__name__}") for at, case in enumerate(costs)]


@pytest.mark.parametrize(
    ("hide", "before", "act", "batches", "calls"),
    [*named("transactions", lambda one: one, COSTS), *named("swaps", SwappingOnly, SWAPPING_COSTS)],
)
def test_calls_cost_the_same_whatever_the_number_of_documents(hide, before, act, batches, calls):
    for documents in batches:
        store = NotingStore()
        index = LocalIndex(hide(make(store).store))
        # Then the server's time is known.
        index.add_entries(entries({"other": 1, "another": 2}))
        index.add_entries(entries(before))
        store.take()
        act(index, entries(documents))
        assert " ".join(store.take_names()) == calls, len(documents)


def test_equal_texts_whose_original_moves_away_are_claimed_in_the_calls_of_two():
    calls = []
    for count in (2, 60):
        store = NotingStore()
        index = LocalIndex(SwappingOnly(make(store).store))
        index.add_entries(entries(COPIED))
        store.take()
        decided = index.claim_entries(entries({"a": FAR, **copies(count)}))
        calls.append(store.take_names())
        assert [decision.of for decision in decided] == [None, None, *["copy 0"] * (count - 1)]
    assert calls[0] == calls[1]


def test_get_and_query_by_id_do_not_scan_for_the_document(store, index):
    add(index, {"a": BASE})
    index.get("a")
    index.query_id("a")
    assert store.take_names() == ["get", "get", "get", "get", "scan", "get_rows", "get"]


def test_where_documents_expire_claims_become_pending_by_compare_and_set(store):
    make(store, ttl_days=1)
    LocalIndex(SwappingOnly(store)).claim_entries(entries({"a": BASE, "b": FAR}))
    assert store.take_names().count("compare_and_set") == 2


CROWD = 5_000


@pytest.fixture
def crowded(tmp_path, monkeypatch):
    """Return an index of one document, with a crowd of rows under one of its prefixes."""
    for module in ("vacuum", "verification", "walk"):
        monkeypatch.setattr(f"simhash_hbase.index.upkeep.{module}.PAGE", 500)
    store = EmbeddedStore.create(str(tmp_path / "index"), EmbeddedOptions(durable=False))
    with LocalIndex.create(store, Profile.resolve(analyzer="shingle", match="distance", grace_s=0)) as index:
        index.add_entries(entries({"a": BASE}))
        low = np.random.default_rng(1).integers(0, 1 << 38, CROWD, dtype=np.uint64)
        crowd = np.uint64(BASE) & ~np.uint64((1 << 38) - 1) | low
        index.store.put_rows(block_rows(index.profile.blocks, crowd), timestamp=1)
        yield index


@pytest.mark.slow
@pytest.mark.parametrize("act", [LocalIndex.verify, partial(LocalIndex.verify, repair=True), LocalIndex.vacuum])
def test_upkeep_takes_memory_by_its_page_however_full_a_prefix_is(crowded, act):
    found = []
    taken = peak_bytes(lambda: found.append(act(crowded)))
    after = crowded.verify()
    assert taken < 2_000_000
    assert found[0].rows > CROWD * 9
    assert (after.incomplete, after.wrong) == (0, 0)
    assert after.rows == 10 if act is LocalIndex.vacuum else after.orphan_rows > CROWD * 9


@pytest.mark.parametrize("act", [LocalIndex.verify, LocalIndex.vacuum])
def test_a_member_is_not_read_for_each_page_of_its_passage_rows(monkeypatch, act):
    for module in ("vacuum", "verification", "walk"):
        monkeypatch.setattr(f"simhash_hbase.index.upkeep.{module}.PAGE", 20)
    store = NotingStore()
    index = make(store, passages=20, match="verified")
    index.add("book", " ".join(f"word{number * number % 9973}" for number in range(4_000)))
    assert index.stats(exact=True).rows > 100 * 20
    store.take()

    act(index)

    assert store.take_names().count("get_rows") < 20


@pytest.mark.parametrize("hide", [lambda store: store, SwappingOnly])
def test_neither_scans_a_prefix(hide, clock):
    store = NotingStore()
    LocalIndex.create(store, Profile.resolve(analyzer="shingle", match="distance", grace_s=0))
    index = index_at(hide(store), clock)
    index.add_entries(entries({"a": BASE, "b": BASE ^ 1, "c": FAR}))
    list(index.remove_many(["c"]))
    clock.advance(ms=200_000)
    store.take()

    swept, found = index.vacuum(), index.verify(repair=True)

    assert (swept.removed, found.wrong) == (1, 0)
    assert "scan" not in store.take_names()


@pytest.mark.parametrize("repair", [False, True])
def test_only_a_repair_reads_each_page_again_in_a_transaction(store, index, repair):
    add(index, {"a": BASE})
    index.verify(repair=repair)
    names = store.take_names()
    assert names.count("transaction") == (1 if repair else 0)
    # Before it the index's own rows are read, and of a repair all cells once.
    assert names.count("scan_cells") == 1 + repair
    del names[: [at for at, name in enumerate(names) if name == "scan_cells"][-1]]
    # Each transaction begins by reading what the page held once more.
    assert names[:4] == (["scan_cells", "transaction", "get", "get"] if repair else ["scan_cells", "get", "get", "get"])
    assert "put" not in names


def test_a_store_of_one_machine_is_not_asked_for_its_clock(store, index):
    index.vacuum()
    index.verify(repair=True)
    index.add_entries(entries({"a": BASE}))
    assert [arguments[0] for name, arguments in store.take() if name == "put"] == ["d", "d"]
