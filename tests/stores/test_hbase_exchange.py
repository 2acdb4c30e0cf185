"""What is repeated, how long and in which parts, without a server: connections fail as a test says, by its clock."""

from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from thriftpy2.thrift import TApplicationException, TException

from simhash_hbase.errors import IndexMissing, StoreBusy, StoreRefused, StoreTimeout, StoreUnavailable
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.hbase import Gateway, HBaseOptions
from simhash_hbase.stores.hbase.thrift import retry
from simhash_hbase.stores.hbase.thrift.exchange import Exchange, PageSize
from simhash_hbase.stores.hbase.thrift.retry import DEADLINES_IN_ALL
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2
from simhash_hbase.stores.hbase.thrift.wire import GatewayConnection, thrift_errors

GATEWAY = Gateway("gateway", 1)
OPTIONS = HBaseOptions(gateways=(GATEWAY,), table="t", deadline_s=60.0)


def line(outcomes):
    """Return a connection whose answers are the next outcomes: values, or errors to raise."""
    answers = {"receive.side_effect": outcomes, "is_silent_for.return_value": False}
    return Mock(GatewayConnection, gateway=GATEWAY, **answers)


class Lender:
    """A pool of one connection at a time, which may have none to lend."""

    def __init__(self, outcomes, busy=()):
        self._outcomes, self._busy = iter(outcomes), list(busy)
        self.lent = []

    @contextmanager
    def lend(self, wanted):
        if self._busy:
            raise self._busy.pop(0)
        self.lent.append(line(self._outcomes))
        yield self.lent[-1:]


@pytest.fixture
def clock(monkeypatch):
    made = SimpleNamespace(now=1000.0, slept=[])

    def sleep(seconds):
        made.slept.append(seconds)
        made.now += seconds

    monkeypatch.setattr(retry, "time", SimpleNamespace(monotonic=lambda: made.now, sleep=sleep))
    return made


def asking(count=1):
    """Return conversations of one question each."""

    def task():
        [answer] = yield [SimpleNamespace(method="ask")]
        return answer

    return [task] * count


def exchange(lender):
    return Exchange(lender, OPTIONS, asking()[0])


def test_what_failed_is_repeated_and_what_was_answered_is_not(clock):
    lender = Lender(["one", StoreUnavailable("cut"), "two"])

    assert exchange(lender).hold(asking(2), sockets=1) == ["one", "two"]
    assert [lent.close.called for lent in lender.lent] == [True, False]


def test_what_may_not_be_repeated_is_asked_once(clock):
    lender = Lender([StoreUnavailable("cut"), "never"])

    with pytest.raises(StoreUnavailable, match=r"^cut$"):
        exchange(lender).hold(asking(), sockets=1, repeat=False)
    assert (len(lender.lent), clock.slept) == (1, [])


def test_what_was_not_even_begun_is_tried_again_though_it_may_not_be_repeated(clock):
    lender = Lender(["done"], busy=[StoreUnavailable("nobody listens")])

    assert exchange(lender).hold(asking(), sockets=1, repeat=False) == ["done"]


def test_a_busy_store_is_reported_at_once(clock):
    with pytest.raises(StoreBusy):
        exchange(Lender([], busy=[StoreBusy("all in use")])).hold(asking(), sockets=1)
    assert clock.slept == []


def test_without_any_answer_the_deadline_ends_it(clock):
    lender = Lender([StoreUnavailable("cut") for _ in range(10_000)])

    with pytest.raises(StoreUnavailable, match=r"^cut \(tried \d+ times in (5\d\.\d|60\.0) s\)$"):
        exchange(lender).hold(asking(), sockets=1)
    assert OPTIONS.deadline_s - retry.LONGEST_PAUSE_S <= clock.now - 1000 <= OPTIONS.deadline_s


def test_each_answer_starts_the_deadline_anew_until_ten_deadlines_are_over(clock):
    failure = [StoreUnavailable("cut") for _ in range(20)]
    lender = Lender([outcome for _ in range(1_000) for outcome in ("answer", *failure)])

    with pytest.raises(StoreUnavailable, match=r"tried \d+ times in (5\d\d\.\d|600\.0) s"):
        exchange(lender).hold(asking(1_000), sockets=1)
    assert OPTIONS.deadline_s * (DEADLINES_IN_ALL - 1) < clock.now - 1000 <= OPTIONS.deadline_s * DEADLINES_IN_ALL


# groups that are asked for in smaller parts after a time-out

GROUPS = [list(range(40)), list(range(40, 60))]


def hold_in_parts(outcomes, *, repeat=True):
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


def test_a_group_is_one_call_until_a_time_out_and_then_several_that_are_answered_in_order(clock):
    assert hold_in_parts(["first", "second"]) == (GROUPS, ["first", "second"])

    asked, answers = hold_in_parts([StoreTimeout("late"), "0 to 19", "40 to 55", "20 to 39", "56 to 59"])

    assert answers == ["0 to 19", "20 to 39", "40 to 55", "56 to 59"]
    assert [(part[0], part[-1]) for part in asked] == [(0, 39), (0, 19), (40, 55), (20, 39), (56, 59)]
    # What was answered before is not asked for again.
    asked, _ = hold_in_parts(["first", StoreTimeout("late"), "40 to 55", "56 to 59"])
    assert [(part[0], part[-1]) for part in asked] == [(0, 39), (40, 59), (40, 55), (56, 59)]


@pytest.mark.parametrize("outcomes", [[StoreTimeout("late")], ["first", StoreTimeout("late")]])
def test_what_may_not_be_repeated_is_not_asked_for_in_parts_either(clock, outcomes):
    asked, error = hold_in_parts([*outcomes, "never"], repeat=False)

    assert isinstance(error, StoreTimeout)
    assert len(asked) == len(outcomes)


# errors


class Refusal(TException):
    """An error as a gateway of Thrift 2 sends it."""

    def __init__(self, message, can_retry):
        self.message, self.canRetry = message, can_retry


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Refusal(b"org.example.SomeException: so", True), StoreUnavailable),
        (Refusal(b"org.example.SomeException: so", False), StoreRefused),
        # What the server says of itself comes before what the text looks like.
        (Refusal(b"org.example.DoNotRetryIOException: so", True), StoreUnavailable),
        (Refusal(b"org.example.DoNotRetryIOException: so", None), StoreRefused),
        (StoreBusy("as it is"), StoreBusy),
    ],
)
def test_errors_of_the_server_say_whether_they_may_pass(error, kind):
    with pytest.raises(kind) as raised, thrift_errors("ask", GATEWAY, "t"):
        raise error
    assert "Exception: so" in str(raised.value) or raised.value is error


@pytest.mark.parametrize(
    ("method", "kind"), [("getAllRegionLocations", StoreUnavailable), ("getTableDescriptor", StoreRefused)]
)
def test_a_gateway_that_fails_over_a_region_without_a_server_is_asked_again(method, kind):
    failure = TApplicationException(TApplicationException.INTERNAL_ERROR, f"Internal error processing {method}")

    with pytest.raises(kind, match=f"^{method} at gateway:1: "), thrift_errors(method, GATEWAY, "t"):
        raise failure


@pytest.mark.parametrize("text", ["t", "Failed 1 action: t: 1 time", "org.example.TableNotFoundException: t"])
def test_of_a_missing_table_the_sentence_begins_with_what_is_wrong_and_ends_with_what_makes_it(text):
    with pytest.raises(IndexMissing) as raised, thrift_errors("getRows", GATEWAY, "t"):
        raise Refusal(text.encode(), False)

    assert str(raised.value) == "there is no table t at gateway:1: simhash-hbase create makes one"


def test_deletes_that_a_region_did_not_do_are_an_error():
    conversation = Thrift2("t").delete("d", [Cell(b"row", b"q", b"", 7)])
    next(conversation)

    with pytest.raises(StoreUnavailable, match="1 of 1 deletes were not done"):
        conversation.send([["the delete that is left"]])
