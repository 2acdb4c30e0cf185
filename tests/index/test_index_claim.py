"""Claims decide what `dedup` would on every store; an id with another text of its fingerprint is decided anew."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from threading import Barrier
from unittest.mock import Mock

import pytest
from support.bruteforce import ALL_BITS, BASE, FAR, Written, answered, clustered, entries, sketch_near, written_entries
from support.corpus import text
from support.places import IndexMaker, Swapping
from support.server_doubles import SwappingOnly

from simhash_hbase import Decision, EmptyDocument, LocalIndex, Profile
from simhash_hbase.index.claim import claim_by_protocol, protocol
from simhash_hbase.index.timestamps import Timer
from simhash_hbase.rows.keys import id_digest, member_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.memory import MemoryStore

NOW = 1_800_000_000_000  # Milliseconds since 1970.


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


def test_the_nearest_original_is_named_then_the_most_similar_then_the_first(make_claiming_index):
    index = make_claiming_index(match="verified")
    sketch = 1 << 300
    near, unlike = sketch_near(sketch, 5), sketch_near(sketch, 20)
    index.add_entries(entries({"far": BASE ^ 7, "unlike": BASE ^ 1}, sketches=[sketch, unlike]))
    index.add_entries(entries({"like": BASE ^ 2, "like too": BASE ^ 4}, sketches=[near, near]))

    [decision] = index.claim_entries(entries({"new": BASE}, sketches=[sketch]))

    alike = 1 - 5 / 256
    assert decision == Decision("new", False, "like", 1, round(alike, 4), round(2 * alike / (1 + alike), 4))


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


def test_of_originals_at_one_distance_the_first_is_named_by_one_that_waited():
    profile = Profile.resolve(analyzer="shingle", match="distance")
    store = SwappingOnly(LocalIndex.create(MemoryStore(), profile).store)
    late = BASE ^ 0b111 << 10

    def claimed(documents):
        """Claim within one millisecond: then positions in the batch alone are the order."""
        decisions = claim_by_protocol(store, profile, entries(documents), clock=lambda: NOW, timer=Timer())
        return {decision.id: decision.of for decision in decisions}

    claimed({"moving": late})
    batch = {"other": FAR ^ 0xFFFF, "early": BASE ^ 0b111, "moving": FAR, "late": late, "copy": BASE}
    assert claimed(batch) == {**dict.fromkeys(batch), "copy": "early"}


def test_a_former_original_is_not_seen_where_an_earlier_copy_names_it(make_claiming_index):
    index = make_claiming_index(ttl_days=10)
    claim(index, {"named": BASE, "copy": BASE ^ 1})
    claim(index, {"other": FAR, "named": FAR ^ 1})
    make_claiming_index.clock.advance(days=8)
    [repeated] = index.claim_entries(entries({"copy": BASE ^ 1}))
    make_claiming_index.clock.advance(days=3)

    assert (repeated.of, repeated.of_removed) == ("named", True)
    assert index.get("named") is None
    assert claim(index, {"named": FAR ^ 1}) == [True]


def test_input_order_decides_where_a_named_original_moves_later_in_the_batch(make_claiming_index):
    index = make_claiming_index(ttl_days=10)
    claim(index, {"named": FAR})
    make_claiming_index.clock.advance(days=5)
    claim(index, {"left": BASE})
    moved = {"named": BASE ^ 0b11, "left": BASE ^ 0xFFFF0000}
    assert claim(index, {"copy": FAR ^ 1, **moved}) == [("named", 1), ("left", 2), True]


def test_input_order_decides_where_an_expired_document_is_in_its_own_batch(make_claiming_index):
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


def test_texts_are_claimed_alone_or_many_at_once(make_claiming_index):
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


SKETCH = 1 << 300
ONE = Written(BASE, SKETCH, (1, 2), b"text one" * 2)
OTHER = Written(BASE, sketch_near(SKETCH, 200), (3, 4), b"another " * 2)
READY = Written(BASE, SKETCH, (1, 2))


@pytest.fixture
def index(make_claiming_index):
    return make_claiming_index(match="verified", bands=2)


def add_texts(index, documents):
    index.add_entries(written_entries(documents, 2))
    return [None] * len(documents)


def claim_texts(index, documents):
    return [decision.of for decision in index.claim_entries(written_entries(documents, 2))]


def dedup_texts(index, documents):
    return [d.of for d in index.dedup_entries(written_entries(documents, 2), index.deduplicator())]


def matches(index, text):
    [answer] = index.query_entries(written_entries({"asked": text}, 2))
    return [(match.id, match.exact) for match in answer.matches]


@pytest.mark.parametrize(("first", "then"), [*product([add_texts, claim_texts, dedup_texts], repeat=2)])
def test_an_id_with_another_text_of_its_fingerprint_has_that_text_from_then_on(index, clock, first, then):
    assert first(index, {"a": ONE}) == [None]
    clock.advance(ms=50)

    assert then(index, {"a": OTHER}) == [None]

    assert (matches(index, ONE), matches(index, OTHER)) == ([], [("a", True)])
    for decide in (claim_texts, dedup_texts):
        assert decide(index, {f"copy by {decide.__name__}": OTHER}) == ["a"]
    assert claim_texts(index, {"the first text": ONE}) == [None]
    verified = index.verify()
    assert (verified.wrong, verified.members, verified.stale_members) == (0, 2, 0)


def test_an_addition_counts_an_id_that_comes_with_another_text_of_its_fingerprint(index, clock):
    add_texts(index, {"a": ONE, "b": ONE, "c": ONE})
    clock.advance(ms=50)
    written = index.add_entries(written_entries({"a": OTHER, "b": ONE, "c": READY}, 2))
    assert (written.known, written.moved) == ([True] * 3, [True, False, False])


@pytest.mark.parametrize("decide", [claim_texts, dedup_texts])
@pytest.mark.parametrize(("first", "then"), [(READY, ONE), (ONE, READY)])
def test_where_one_text_is_unknown_the_fingerprint_alone_says_whether_it_is_the_same(index, clock, decide, first, then):
    decide(index, {"a": first, "b": first})
    before = index.get("a"), index.get("b")
    clock.advance(ms=50)
    assert decide(index, {"a": then, "b": then}) == [None, "a"]
    assert (index.get("a"), index.get("b")) == before


def test_a_text_that_was_decided_stands_beside_a_claim_for_another_one_that_crashes(tmp_path, clock, monkeypatch):
    index = IndexMaker(Swapping(tmp_path, clock), clock)(match="verified", bands=2, grace_s=0)
    claim_texts(index, {"a": ONE})

    with monkeypatch.context() as crash:
        crash.setattr(protocol, "second_query", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            claim_texts(index, {"a": OTHER})

    assert (matches(index, ONE), matches(index, OTHER)) == ([("a", True)], [])
    assert claim_texts(index, {"b": ONE}) == ["a"]
    clock.advance(ms=300_000)
    index.vacuum()
    assert (matches(index, ONE), matches(index, OTHER)) == ([("a", True)], [])
    assert claim_texts(index, {"a": ONE, "c": OTHER}) == [None, None]
    assert (index.verify().wrong, index.verify().stale_members) == (0, 0)


@pytest.mark.parametrize("later", [True, False])
def test_a_repeated_copy_has_its_original_until_that_one_moves_in_the_batch(make_claiming_index, later):
    index = make_claiming_index(analyzer="shingle")
    list(index.claim_many([("original", text("old")), ("copy", text("old"))]))
    batch = [("copy", text("old")), ("original", text("new"))]

    decided = dict(index.claim_many(batch if later else batch[::-1]))

    assert (decided["copy"].of, decided["copy"].of_removed) == ("original", not later)
    assert decided["original"].of is None
