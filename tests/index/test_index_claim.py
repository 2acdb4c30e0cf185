"""Claims decide what `dedup` would, and the same on every store; beside other writers: test_claim_interleavings."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from support.bruteforce import ALL_BITS, answered, clustered, entries, sketch_near

from simhash_hbase import Decision, EmptyDocument
from simhash_hbase.rows.keys import id_digest, member_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS

BASE = 0x9E3779B97F4A7C15
FAR = ~BASE & ALL_BITS


def claim(index, documents):
    """Claim ready fingerprints; an original is told as True, a duplicate as (of, distance)."""
    return [d.is_original or (d.of, d.distance) for d in index.claim_entries(entries(documents))]


@pytest.mark.slow
def test_claims_decide_as_dedup_does_whatever_the_batches(make_claiming_index, make_memory_index):
    documents = [(f"document {i}", s) for i, s in enumerate(clustered(240, seed=3))]
    deduplicated, index = make_memory_index(), make_claiming_index()
    expected = deduplicated.dedup_entries(entries(documents), deduplicated.deduplicator())
    claimed = [d for at in range(0, 240, 80) for d in index.claim_entries(entries(documents[at : at + 80]))]
    assert claimed == expected
    assert 20 < sum(not d.is_original for d in claimed) < 220
    assert (index.verify().wrong, index.verify().undecided) == (0, 0)


def test_of_several_originals_the_nearest_is_named_then_the_most_similar_then_the_first(make_claiming_index):
    index = make_claiming_index(match="verified")
    sketch = 1 << 300
    near, unlike = sketch_near(sketch, 5), sketch_near(sketch, 20)
    index.add_entries(entries({"far": BASE ^ 7, "unlike": BASE ^ 1}, sketches=[sketch, unlike]))
    index.add_entries(entries({"like": BASE ^ 2, "like too": BASE ^ 4}, sketches=[near, near]))

    [decision] = index.claim_entries(entries({"new": BASE}, sketches=[sketch]))

    alike = 1 - 5 / 256
    assert decision == Decision("new", False, "like", 1, alike, round(2 * alike / (1 + alike), 4))


def test_an_old_text_stands_until_its_document_s_turn_comes(make_claiming_index):
    index = make_claiming_index()
    assert claim(index, {}) == []
    claim(index, {"a": BASE})
    assert claim(index, {"b": BASE ^ 1, "a": FAR, "c": BASE ^ 3}) == [("a", 1), True, True]
    assert index.verify().wrong == 0


def test_an_old_text_stands_for_one_that_waits_for_another_to_leave(make_claiming_index):
    index = make_claiming_index()
    index.add_entries(entries({"a": BASE, "b": BASE}))
    # c waits for a, which leaves its reach; b is not to leave it meanwhile.
    assert claim(index, {"a": BASE + 5, "c": BASE, "b": BASE - 1}) == [True, ("b", 0), ("a", 3)]
    assert index.verify().wrong == 0


def test_a_document_that_is_no_original_any_more_is_not_seen_where_an_earlier_copy_names_it(make_claiming_index):
    index = make_claiming_index(ttl_days=10)
    claim(index, {"named": BASE, "copy": BASE ^ 1})
    claim(index, {"other": FAR, "named": FAR ^ 1})
    make_claiming_index.clock.advance(days=8)
    [repeated] = index.claim_entries(entries({"copy": BASE ^ 1}))
    make_claiming_index.clock.advance(days=3)

    assert (repeated.of, repeated.of_removed) == ("named", True)
    assert index.get("named") is None
    assert claim(index, {"named": FAR ^ 1}) == [True]


def test_input_order_decides_where_a_named_original_that_is_not_new_moves_later_in_the_batch(make_claiming_index):
    index = make_claiming_index(ttl_days=10)
    claim(index, {"named": FAR})
    make_claiming_index.clock.advance(days=5)
    claim(index, {"left": BASE})
    moved = {"named": BASE ^ 0b11, "left": BASE ^ 0xFFFF0000}
    assert claim(index, {"copy": FAR ^ 1, **moved}) == [("named", 1), ("left", 2), True]


def test_input_order_decides_where_an_expired_document_is_in_the_way_of_its_own_batch(make_claiming_index):
    index = make_claiming_index(ttl_days=10)
    claim(index, {"expired": BASE})
    make_claiming_index.clock.advance(days=10, ms=10)
    batch = {"first": BASE ^ 0b111, "expired": BASE, "last": BASE ^ 1 << 40}
    assert claim(index, batch) == [True, ("first", 3), True]
    assert index.get("expired").of == "first"
    assert claim(index, {"expired": BASE}) == [("first", 3)]


def test_a_clock_that_is_behind_brings_nothing_back_that_has_expired_for_another_one(make_claiming_index):
    index = make_claiming_index(ttl_days=10)
    claim(index, {"old": BASE, "far": FAR})
    make_claiming_index.clock.advance(days=10, ms=30_000)

    assert claim(index, {"new": BASE ^ 1}) == [True]
    rows = index.store.get_rows(FAMILY_DOCUMENTS, [member_row(BASE), member_row(FAR)], limit=9)
    assert [[cell.qualifier for cell in row] for row in rows] == [[], [id_digest("far")]]
    make_claiming_index.clock.advance(ms=-60_000)

    assert answered(index.query_simhash(BASE)) == [("new", 1)]
    assert index.get("old") is None
    assert claim(index, {"newer": BASE}) == [("new", 1)]


def test_threads_that_share_an_index_make_one_original_of_each_group(make_claiming_index):
    index, threads = make_claiming_index(), 4
    middles = [i * BASE & ALL_BITS for i in range(1, 21)]

    def claim_all(thread):
        start.wait()
        return index.claim_entries(entries({f"{n} {thread}": s ^ 1 << thread for n, s in enumerate(middles)}))

    start = Barrier(threads)
    with ThreadPoolExecutor(threads) as pool:
        claimed = [decision for some in pool.map(claim_all, range(threads)) for decision in some]

    originals = {d.id for d in claimed if d.is_original}
    assert sorted(int(name.split()[0]) for name in originals) == list(range(20))
    assert all(d.of in originals for d in claimed if not d.is_original)
    assert index.verify().wrong == 0


def test_texts_are_claimed_one_by_one_and_many(make_claiming_index):
    index = make_claiming_index(analyzer="shingle")
    text = "Of near copies that are claimed at the same time exactly one becomes the original. " * 12

    first = index.claim("a", text, metadata={"from": "here"})
    rest = list(index.claim_many([("b", text + "Or so."), ("empty", ""), ("a", text)]))

    assert first == Decision("a", True)
    assert [(name, d and (d.is_original or d.of)) for name, d in rest] == [("b", "a"), ("empty", None), ("a", True)]
    assert index.get("a").metadata == {"from": "here"}
    with pytest.raises(EmptyDocument):
        index.claim("none", "")
    short = index.claim_entries(entries({"c": BASE, "d": BASE, "e": FAR}, features=[3, 40, 0]))
    assert [decision.short for decision in short] == [True, False, False]
