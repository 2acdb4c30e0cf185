"""Decisions as columns: the same as a list of them, and the same lines."""

import pytest

from simhash_hbase.index.answers import Decision, NearCopy
from simhash_hbase.index.decisions import Decisions
from simhash_hbase.index.jsonforms import DECISION, plain_line

MADE = [
    Decision("a", True),
    Decision('"of": é\u2028', True, short=True),
    Decision("c", False, "a", 3, 0.9123, 1.0),
    Decision("d", True, near=NearCopy("a", 0.8, 0.4)),
    Decision("e", False, "x", 0, None, None, short=True, of_removed=True),
]
PLAIN = Decisions(["a", MADE[1].id, "c", "d", "e"], [False, True, False, False, True], dict(enumerate(MADE[2:], 2)))


@pytest.mark.parametrize("decisions", [PLAIN, Decisions.of(MADE)])
def test_columns_are_the_decisions_that_they_stand_for(decisions):
    assert decisions == MADE
    assert decisions[1:3] == MADE[1:3]
    assert decisions[-1] == MADE[-1]
    assert decisions.originals == [0, 1, 3]


@pytest.mark.parametrize("decisions", [PLAIN, Decisions.of(MADE)])
def test_lines_are_those_of_the_single_decisions(decisions):
    assert decisions.lines() == [plain_line(DECISION.write(decision)) for decision in MADE]


def test_ids_are_given_back_without_the_collection():
    stored = Decisions(["\0news\0a", "\0news\0b"], [False] * 2, {1: Decision("\0news\0b", False, "\0news\0a", 1)})
    assert stored.given() == [Decision("a", True), Decision("b", False, "a", 1)]
