"""What counts as a near-duplicate under each rule, and what an answer says about itself."""

import random

import pytest
from support.bruteforce import answered, entries, flips

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.blocks import Scheme

BASE = 0x9E3779B97F4A7C15
SKETCH = random.Random(7).getrandbits(512)


def verified(make, **options):
    return make(match="verified", **options)


def joined(a, b):
    """Tell whether a table of scheme 5x2 brings two fingerprints together."""
    return bool(Scheme.parse("5x2").agreeing(a, b))


@pytest.mark.parametrize(
    ("wanted", "complete"),
    [
        ({}, False),
        ({"similarity": 0.5}, False),
        ({"match": "verified"}, False),
        ({"match": "distance"}, True),
        ({"match": "distance", "distance": 0}, True),
        ({"match": "distance", "distance": 3}, True),
        ({"match": "distance", "distance": 4}, False),
        ({"match": "distance", "distance": 64}, False),
    ],
)
def test_an_answer_is_complete_under_rule_distance_up_to_k(make_index, wanted, complete):
    index = verified(make_index)
    index.add_entries(entries({"stored": BASE}, sketches=[SKETCH]))

    answer = index.query_simhash(BASE, rule=index.rule(**wanted))

    assert answered(answer) == [("stored", 0)]
    assert answer.complete is complete


@pytest.mark.slow
def test_a_distance_above_k_brings_what_the_scans_bring(make_index):
    index = make_index()
    documents = {f"at {d}, {i}": s for d in range(9) for i, s in enumerate(flips(BASE, d, most=50, seed=d))}
    index.add_entries(entries(documents))

    answer = index.query_simhash(BASE, rule=index.rule(match="distance", distance=6))

    expected = {name for name, s in documents.items() if (s ^ BASE).bit_count() <= 6 and joined(s, BASE)}
    assert {match.id for match in answer.matches} == expected
    assert not answer.complete


@pytest.mark.parametrize(
    "wanted", [{"match": "cosine"}, {"distance": -1}, {"distance": 65}, {"similarity": -0.1}, {"similarity": 1.1}]
)
def test_a_rule_out_of_range_is_refused(make_memory_index, wanted):
    index = make_memory_index(match="verified")

    with pytest.raises(InvalidArgument):
        index.rule(**wanted)


def test_an_index_without_sketches_refuses_to_verify(make_memory_index):
    index = make_memory_index(sketch=False)

    with pytest.raises(InvalidArgument, match="no sketches"):
        index.rule(match="verified")


@pytest.mark.parametrize(
    ("options", "short"), [({}, [False, True, True, True, False]), ({"short": 5}, [False, True, False, False, False])]
)
def test_a_text_with_fewer_features_than_the_profile_says_is_called_short(make_index, options, short):
    index = make_index(**options)
    sizes = (0, 4, 5, 29, 30)

    answers = index.query_entries(entries([(str(size), BASE) for size in sizes], features=sizes))

    assert [answer.short for answer in answers] == short


def test_equal_normalised_texts_are_exact_and_equal_fingerprints_alone_are_not(make_index):
    index = verified(make_index)
    text = "Near copies are found by their fingerprints. " * 20
    index.add("same", text)
    index.add("same but for case and blanks", text.upper().replace(" ", "  "))
    index.add("one letter more", text + "x")
    index.add_entries(entries({"own fingerprint": index.get("same").simhash}))

    answer = index.query(text)

    exact = {match.id: match.exact for match in answer.matches}
    assert exact == {
        "same": True,
        "same but for case and blanks": True,
        "one letter more": False,
        "own fingerprint": False,
    }


def test_a_stored_document_is_looked_for_with_its_sketch_and_digest(make_index):
    index = verified(make_index)
    text = "A document that is stored twice, word for word, under two ids. " * 10
    index.add("a", text)
    index.add("b", text)

    [match] = index.query_id("a").matches

    assert (match.id, match.distance, match.similarity, match.exact) == ("b", 0, 1.0, True)


def test_a_distance_by_itself_asks_for_what_is_within_it(make_index):
    index = verified(make_index)

    rule = index.rule(distance=2)

    assert (rule.match, rule.distance) == ("distance", 2)
    assert index.rule(distance=2, similarity=0.9).match == "verified"
    assert index.rule().match == "verified"


def test_a_duplicate_is_looked_for_by_its_fingerprint(make_index):
    index = make_index()
    index.dedup_entries(entries({"a": 0, "b": 1}), index.deduplicator())

    answer = index.query_id("b")

    assert [(match.id, match.distance) for match in answer.matches] == [("a", 1)]
