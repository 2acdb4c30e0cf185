"""What is asked for in groups, after a time-out, without a server: smaller parts, nothing twice, all in order."""

from types import SimpleNamespace

import pytest
from stores.test_hbase_exchange import Lender, clock, exchange

from simhash_hbase.errors import StoreTimeout
from simhash_hbase.stores.hbase.thrift.exchange import PageSize

__all__ = ["clock"]

GROUPS = [list(range(40)), list(range(40, 60))]


def hold(outcomes, *, repeat=True):
    """Ask for both groups on one connection; return what was asked for, and the answers."""
    asked, page_size = [], PageSize()

    def ask(items):
        asked.append(items)
        [answer] = yield [SimpleNamespace(method="ask")]
        return answer

    try:
        return asked, exchange(Lender(outcomes)).hold_in_parts(page_size, GROUPS, ask, sockets=1, repeat=repeat)
    except StoreTimeout as error:
        return asked, error


def test_a_group_is_one_call(clock):
    assert hold(["first", "second"]) == (GROUPS, ["first", "second"])


def test_after_a_time_out_a_group_is_asked_for_in_parts_and_answered_in_order(clock):
    asked, answers = hold([StoreTimeout("late"), "0 to 19", "40 to 55", "20 to 39", "56 to 59"])

    assert answers == ["0 to 19", "20 to 39", "40 to 55", "56 to 59"]
    assert asked[0] == GROUPS[0]
    assert [(part[0], part[-1]) for part in asked[1:]] == [(0, 19), (40, 55), (20, 39), (56, 59)]


def test_what_was_answered_before_a_time_out_is_not_asked_for_again(clock):
    asked, _ = hold(["first", StoreTimeout("late"), "40 to 55", "56 to 59"])

    assert [(part[0], part[-1]) for part in asked] == [(0, 39), (40, 59), (40, 55), (56, 59)]


@pytest.mark.parametrize("outcomes", [[StoreTimeout("late")], ["first", StoreTimeout("late")]])
def test_what_may_not_be_repeated_is_not_asked_for_in_parts_either(clock, outcomes):
    count = len(outcomes)
    asked, error = hold(outcomes, repeat=False)

    assert isinstance(error, StoreTimeout)
    assert len(asked) == count
