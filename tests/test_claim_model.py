"""The protocol of `claim`, every interleaving: it holds, and each part of it is needed."""

from itertools import chain, combinations

import pytest
from claim_model.explore import explore
from claim_model.rules import Rules
from claim_model.settings import CASES, ONE_SIDED, Case, claim, near

# What is left out, where the search comes upon it first, and what it finds there.
NEEDED = [
    ("below", "one id twice", "a decision that changed"),
    ("second_query", "a pair", "two originals"),
    ("yielding", "a pair", "a wrong duplicate"),
    ("own_cell", "one id twice", "a decision that changed"),
    ("counting", "a chain, an end first", "two originals"),
    ("text_compared", "a move: beside its new text", "a wrong duplicate"),
    ("previous", "a move: one beside each text", "a decision that changed"),
    ("stamps", "adds and removals: the original is removed and claimed", "an original that queries miss"),
    ("refresh", "expiry: two clocks", "an original that expired though it had just been named"),
    ("expiry", "expiry: two clocks", "two originals"),
    ("placed", "additions: and a removal", "an acknowledged change that a late request undid"),
    ("above_claims", "adds and removals: the id itself is added", "a decision that changed"),
    ("read_back", "additions: and a move", "an addition that was acknowledged and never stood"),
    ("raising", "additions: of what is removed twice", "an acknowledged change that a late request undid"),
]


def told(found):
    return "\n".join([str(found.problem), *found.trace])


@pytest.mark.parametrize("name", CASES)
def test_writers_agree_in_every_interleaving(name):
    found = explore(CASES[name].setting())

    assert found.problem is None, told(found)
    assert found.states > 200


@pytest.mark.parametrize(("rule", "name", "problem"), NEEDED)
def test_without_a_part_of_the_protocol_something_goes_wrong(rule, name, problem):
    found = explore(CASES[name].setting(Rules(**{rule: False})))

    assert str(found.problem).startswith(problem), told(found)


PAIRS = list(combinations(range(3), 2))


@pytest.mark.parametrize("pairs", list(chain.from_iterable(combinations(PAIRS, size) for size in range(4))), ids=str)
def test_reach_may_be_any_symmetric_relation(pairs):
    # With one order of the writers all others are among these relations, under other numbers.
    found = explore(Case(tuple(claim(number, number) for number in range(3)), near(*pairs)).setting())

    assert found.problem is None, told(found)


@pytest.mark.parametrize("name", ONE_SIDED)
def test_reach_has_to_be_symmetric(name):
    found = explore(ONE_SIDED[name].setting())

    assert str(found.problem).startswith("two originals"), told(found)


def test_each_part_of_the_protocol_is_left_out_once():
    assert {rule for rule, _, _ in NEEDED} == set(Rules.__dataclass_fields__)


def test_a_trace_tells_the_way_to_what_went_wrong():
    found = explore(CASES["a pair"].setting(Rules(second_query=False)))

    for writer in "01":
        own_steps = ["reads its cell", "finds no original", "pending", "writes member and rows", "original"]
        assert [said[2:] for said in found.trace if said[0] == writer] == own_steps
