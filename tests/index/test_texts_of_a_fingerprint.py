"""Texts that differ and have one fingerprint: an id that comes with another one of them is decided anew."""

from itertools import product
from unittest.mock import Mock

import pytest
from support.bruteforce import Written, sketch_near, written_entries
from support.places import IndexMaker, Swapping

from simhash_hbase.index.claim import protocol

BASE = 0x9E3779B97F4A7C15
SKETCH = 1 << 300
ONE = Written(BASE, SKETCH, (1, 2), b"text one" * 2)
OTHER = Written(BASE, sketch_near(SKETCH, 200), (3, 4), b"another " * 2)
READY = Written(BASE, SKETCH, (1, 2))


@pytest.fixture
def index(make_claiming_index):
    return make_claiming_index(match="verified", bands=2)


def add(index, documents):
    index.add_entries(written_entries(documents, 2))
    return [None] * len(documents)


def claim(index, documents):
    return [decision.of for decision in index.claim_entries(written_entries(documents, 2))]


def dedup(index, documents):
    return [d.of for d in index.dedup_entries(written_entries(documents, 2), index.deduplicator())]


def matches(index, text):
    [answer] = index.query_entries(written_entries({"asked": text}, 2))
    return [(match.id, match.exact) for match in answer.matches]


@pytest.mark.parametrize(("first", "then"), [*product([add, claim, dedup], repeat=2)])
def test_an_id_that_comes_with_another_text_of_its_fingerprint_has_that_text_from_then_on(index, clock, first, then):
    assert first(index, {"a": ONE}) == [None]
    clock.advance(ms=50)

    assert then(index, {"a": OTHER}) == [None]

    assert (matches(index, ONE), matches(index, OTHER)) == ([], [("a", True)])
    for decide in (claim, dedup):
        assert decide(index, {f"copy by {decide.__name__}": OTHER}) == ["a"]
    assert claim(index, {"the first text": ONE}) == [None]
    verified = index.verify()
    assert (verified.wrong, verified.members, verified.stale_members) == (0, 2, 0)


def test_an_addition_counts_an_id_that_comes_with_another_text_of_its_fingerprint(index, clock):
    add(index, {"a": ONE, "b": ONE, "c": ONE})
    clock.advance(ms=50)
    written = index.add_entries(written_entries({"a": OTHER, "b": ONE, "c": READY}, 2))
    assert (written.known, written.moved) == ([True] * 3, [True, False, False])


@pytest.mark.parametrize("decide", [claim, dedup])
@pytest.mark.parametrize(("first", "then"), [(READY, ONE), (ONE, READY)])
def test_where_one_of_them_has_no_text_the_fingerprint_alone_says_whether_it_is_the_same(
    index, clock, decide, first, then
):
    decide(index, {"a": first, "b": first})
    before = index.get("a"), index.get("b")
    clock.advance(ms=50)
    assert decide(index, {"a": then, "b": then}) == [None, "a"]
    assert (index.get("a"), index.get("b")) == before


def test_a_text_that_was_decided_stands_beside_a_claim_for_another_one_that_crashes(tmp_path, clock, monkeypatch):
    index = IndexMaker(Swapping(tmp_path, clock), clock)(match="verified", bands=2, grace_s=0)
    claim(index, {"a": ONE})

    with monkeypatch.context() as crash:
        crash.setattr(protocol, "second_query", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            claim(index, {"a": OTHER})

    assert (matches(index, ONE), matches(index, OTHER)) == ([("a", True)], [])
    assert claim(index, {"b": ONE}) == ["a"]
    clock.advance(ms=300_000)
    index.vacuum()
    assert (matches(index, ONE), matches(index, OTHER)) == ([("a", True)], [])
    assert claim(index, {"a": ONE, "c": OTHER}) == [None, None]
    assert (index.verify().wrong, index.verify().stale_members) == (0, 0)
