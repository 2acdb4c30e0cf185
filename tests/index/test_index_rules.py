"""What counts as a near-duplicate under each rule, and what an answer says about itself."""

import random

import pytest
from support.bruteforce import ALL_BITS, answered, clustered, entries, flip, flips, similarity, sketch_near

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.blocks import Scheme

BASE = 0x9E3779B97F4A7C15
SKETCH = random.Random(7).getrandbits(512)
# Similarity 0.77 is reached with 58 of 512 bits differing (0.7734), and missed with 59 (0.7695).
JUST_ENOUGH, NOT_ENOUGH = 58, 59


def verified(make, **options):
    return make(match="verified", **options)


def joined(a, b):
    """Tell whether a table of scheme 5x2 brings two fingerprints together."""
    return bool(Scheme.parse("5x2").agreeing(a, b))


@pytest.mark.parametrize("bits", [0, 1, 3, 4, 7])
def test_a_similar_candidate_within_the_radius_is_verified(make_index, bits):
    index = verified(make_index)
    index.add_entries(entries({"stored": flip(BASE, range(bits))}, sketches=[SKETCH]))
    queries = [SKETCH, sketch_near(SKETCH, JUST_ENOUGH), sketch_near(SKETCH, NOT_ENOUGH), ~SKETCH & (1 << 512) - 1]

    answers = index.query_entries(entries([(str(i), BASE) for i in range(4)], sketches=queries))

    assert [answered(a) for a in answers] == [[("stored", bits)], [("stored", bits)], [], []]
    assert [a.matches[0].similarity for a in answers[:2]] == [1.0, 1 - JUST_ENOUGH / 256]


def test_the_radius_grows_with_the_distance_of_the_index(make_index):
    index = verified(make_index, scheme="7x3", distance=4)
    index.add_entries(entries({"at 9": flip(BASE, range(9)), "at 10": flip(BASE, range(10))}, sketches=[SKETCH] * 2))

    [answer] = index.query_entries(entries({"query": BASE}, sketches=[SKETCH]))

    assert answered(answer) == [("at 9", 9)]


def test_verified_answers_equal_brute_force(make_index):
    index = verified(make_index)
    chosen = random.Random(13)
    documents = {f"document {i}": s for i, s in enumerate(clustered(250, seed=13))}
    sketches = {n: chosen.choice([None, sketch_near(SKETCH, chosen.randint(0, 90), seed=i)])
                for i, n in enumerate(documents)}  # fmt: skip
    index.add_entries(entries(documents, sketches=list(sketches.values())))

    for number, simhash in enumerate(clustered(60, seed=13)):
        asked = chosen.choice([None, sketch_near(SKETCH, 20, seed=number)])
        [answer] = index.query_entries(entries({"query": simhash}, sketches=[asked]))
        expected = set()
        for name, other in documents.items():
            distance, likeness = (other ^ simhash).bit_count(), similarity(asked, sketches[name])
            near = distance <= 3 if likeness is None else distance <= 7 and likeness >= 0.77
            if near and joined(other, simhash):
                expected.add((name, distance, likeness))
        assert {(m.id, m.distance, m.similarity) for m in answer.matches} == expected


def test_matches_are_sorted_by_distance_then_similarity_downwards_then_id(make_index):
    index = make_index()
    documents = {"e": BASE ^ 1, "d": BASE, "c": BASE, "b": BASE, "a": BASE}
    sketches = [SKETCH, sketch_near(SKETCH, 4), SKETCH, SKETCH, sketch_near(SKETCH, 9)]
    index.add_entries(entries(documents, sketches=sketches))

    [answer] = index.query_entries(entries({"query": BASE}, sketches=[SKETCH]))

    assert [match.id for match in answer.matches] == ["b", "c", "d", "a", "e"]


def test_rule_distance_shows_the_similarity_but_does_not_judge_by_it(make_index):
    index = verified(make_index)
    index.add_entries(entries({"unlike": BASE}, sketches=[SKETCH]))
    unlike = ~SKETCH & (1 << 512) - 1
    query = entries({"query": BASE}, sketches=[unlike])

    [by_rule] = index.query_entries(query)
    [by_distance] = index.query_entries(query, rule=index.rule(match="distance"))

    assert by_rule.matches == []
    assert [(m.distance, m.similarity) for m in by_distance.matches] == [(0, 0.0)]


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


@pytest.mark.parametrize(("features", "short"), [(0, False), (1, True), (29, True), (30, False), (500, False)])
def test_a_text_with_fewer_features_than_the_limit_is_called_short(make_index, features, short):
    index = make_index()
    index.add_entries(entries({"stored": BASE}))

    [answer] = index.query_entries(entries({"query": BASE}, features=[features]))

    assert answer.short is short
    assert answered(answer) == [("stored", 0)]


def test_the_limit_of_short_texts_is_the_profile_s(make_index):
    index = make_index(short=5)

    answers = index.query_entries(entries({"a": 1, "b": 2}, features=[4, 5]))

    assert [answer.short for answer in answers] == [True, False]


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


def test_two_own_fingerprints_are_never_exact(make_index):
    index = make_index()
    index.add_entries(entries({"a": BASE, "b": ALL_BITS}))

    assert [match.exact for match in index.query_simhash(BASE).matches] == [False]


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
