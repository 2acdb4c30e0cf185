"""How much of a document another one has: estimated wherever one is named, and kept with its decision."""

import random

import pytest
from support.bruteforce import entries
from support.sketching import containment

CHANCE = random.Random(5)
WHOLE = "".join(chr(CHANCE.randrange(0x4E00, 0x9000)) for _ in range(2_000))
PART = WHOLE[:1_700]
SHINGLES = {"match": "verified", "similarity": 0.6, "bands": 6, "band_distance": (64,), "free_distance": None}
NEAR = pytest.approx(1, abs=0.05)
LESS = pytest.approx(containment(WHOLE, PART), abs=0.05)


def test_an_answer_says_how_much_of_the_text_a_match_has(make_index):
    index = make_index(**SHINGLES)
    index.add("whole", WHOLE)
    index.add("part", PART)

    index = make_index.reopen(index)

    [of_part] = [match for match in index.query(PART).matches if match.id == "whole"]
    [of_whole] = [match for match in index.query(WHOLE).matches if match.id == "part"]
    assert (of_part.containment, of_whole.containment) == (NEAR, LESS)
    assert of_part.similarity == of_whole.similarity <= of_whole.containment + 0.0001
    assert [match.containment for match in index.query_id("part").matches] == [of_part.containment]
    assert next(match for match in index.query(WHOLE).matches if match.id == "whole").containment == 1


@pytest.mark.parametrize("decide", ["claim_many", "dedup_many"])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_decision_says_how_much_of_the_document_its_original_has_now_and_later(make_index, decide, at_once):
    index = make_index(**SHINGLES)
    documents = [("whole", WHOLE), ("part", PART), ("other", WHOLE[::-1]), ("part again", PART)]
    batches = [documents] if at_once else [[document] for document in documents]

    decisions = [decision for batch in batches for _, decision in getattr(index, decide)(batch)]

    index = make_index.reopen(index)
    assert [decision.of for decision in decisions] == [None, "whole", None, "whole"]
    assert [decision.containment for decision in decisions] == [None, NEAR, None, decisions[1].containment]
    assert [decision for _, decision in getattr(index, decide)(documents)] == decisions
    assert index.get("part").containment == decisions[1].containment
    assert {copy.id: copy.containment for copy in index.copies("whole").copies} == {
        decision.id: decision.containment for decision in decisions if decision.of
    }
    assert {stored.id: stored.containment for stored in index.export()} == {
        decision.id: decision.containment for decision in decisions
    }


def test_without_sketches_nothing_is_known_of_it(make_index):
    for options in ({"sketch": False}, SHINGLES):
        index = make_index(**options)
        index.add_entries(entries({"a": 5}))
        [decision] = index.claim_entries(entries({"b": 4}))

        assert [match.containment for match in index.query_simhash(5).matches] == [None]
        assert (decision.of, decision.containment, index.get("b").containment) == ("a", None, None)
