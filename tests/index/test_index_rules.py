"""What counts as a near-duplicate under each rule, and what an answer says about itself."""

import random

import pytest
from support.bruteforce import answered, entries, flips, shares_block_row

from simhash_hbase.errors import InvalidArgument

BASE = 0x9E3779B97F4A7C15
SKETCH = random.Random(7).getrandbits(512)


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
    index = make_index(match="verified")
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

    expected = {n for n, s in documents.items() if (s ^ BASE).bit_count() <= 6 and shares_block_row(s, BASE)}
    assert {match.id for match in answer.matches} == expected
    assert not answer.complete


@pytest.mark.parametrize(
    "wanted", [{"match": "cosine"}, {"distance": -1}, {"distance": 65}, {"similarity": -0.1}, {"similarity": 1.1}]
)
def test_a_rule_out_of_range_or_without_the_sketches_that_it_needs_is_refused(make_memory_index, wanted):
    with pytest.raises(InvalidArgument):
        make_memory_index(match="verified").rule(**wanted)
    with pytest.raises(InvalidArgument, match="no sketches"):
        make_memory_index(sketch=False).rule(match="verified")


@pytest.mark.parametrize(
    ("options", "short"), [({}, [False, True, True, True, False]), ({"short": 5}, [False, True, False, False, False])]
)
def test_a_text_with_fewer_features_than_the_profile_says_is_called_short(make_index, options, short):
    index = make_index(**options)
    sizes = (0, 4, 5, 29, 30)
    answers = index.query_entries(entries([(str(size), BASE) for size in sizes], features=sizes))
    assert [answer.short for answer in answers] == short


def test_equal_normalised_texts_are_exact_and_equal_fingerprints_alone_are_not(make_index):
    index = make_index(match="verified")
    text = "Near copies are found by their fingerprints. " * 20
    alike = {
        "same": text,
        "same but for case and blanks": text.upper().replace(" ", "  "),
        "one letter more": text + "x",
    }
    list(index.add_many(alike.items()))
    index.add_entries(entries({"own fingerprint": index.get("same").simhash}))

    answer = index.query(text)

    assert {match.id for match in answer.matches} == {*alike, "own fingerprint"}
    assert {match.id for match in answer.matches if match.exact} == {"same", "same but for case and blanks"}


def test_a_stored_document_is_looked_for_with_its_sketch_and_digest_and_a_duplicate_by_its_fingerprint(make_index):
    index = make_index(match="verified")
    text = "A document that is stored twice, word for word, under two ids. " * 10
    list(index.add_many([("a", text), ("b", text)]))
    index.dedup_entries(entries({"bare": 0, "copy": 1}), index.deduplicator())

    [match] = index.query_id("a").matches
    assert (match.id, match.distance, match.similarity, match.exact) == ("b", 0, 1.0, True)
    assert answered(index.query_id("copy")) == [("bare", 1)]


def test_a_distance_by_itself_asks_for_what_is_within_it(make_memory_index):
    index = make_memory_index(match="verified")
    assert (index.rule(distance=2).match, index.rule(distance=2).distance) == ("distance", 2)
    assert index.rule(distance=2, similarity=0.9).match == index.rule().match == "verified"
