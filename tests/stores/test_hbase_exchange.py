"""Calls without a server: what is repeated, how long and in which parts, and how much is in one of them."""

from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from thriftpy2.thrift import TApplicationException, TException, TMessageType
from thriftpy2.transport import TMemoryBuffer

from simhash_hbase.errors import IndexMissing, StoreBusy, StoreRefused, StoreTimeout, StoreUnavailable
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import block_rows, packed_rows
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.hbase import Gateway, HBaseOptions, backoff, parse_url
from simhash_hbase.stores.hbase.backoff import DEADLINES_IN_ALL
from simhash_hbase.stores.hbase.exchange import ANSWERS_TO_GROW, PageSize
from simhash_hbase.stores.hbase.sizes import CALL_SIZES, FRAMING_BYTES, CallSizes
from simhash_hbase.stores.hbase.store import latest_writes
from simhash_hbase.stores.hbase.thrift.exchange import GatewayExchange
from simhash_hbase.stores.hbase.thrift.thrift1 import Thrift1
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2
from simhash_hbase.stores.hbase.thrift.wire import make_protocol, thrift_errors

GATEWAY = Gateway("gateway", 1)
OPTIONS = HBaseOptions(gateways=(GATEWAY,), table="t", deadline_s=60.0)


def line(outcomes):
    """Return a connection whose answers are the next outcomes: values, or errors to raise."""
    answers = {"receive.side_effect": outcomes, "is_silent_for.return_value": False}
    return Mock(gateway=GATEWAY, **answers)


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

    monkeypatch.setattr(backoff, "time", SimpleNamespace(monotonic=lambda: made.now, sleep=sleep))
    return made


def asking(count=1):

    def task():
        [answer] = yield [SimpleNamespace(method="ask")]
        return answer

    return [task] * count


def exchange(lender):
    return GatewayExchange(lender, OPTIONS, asking()[0])


def test_only_what_failed_is_repeated(clock):
    lender = Lender(["one", StoreUnavailable("cut"), "two"])

    assert exchange(lender).hold(asking(2), sockets=1) == ["one", "two"]
    assert [lent.close.called for lent in lender.lent] == [True, False]


def test_what_may_not_be_repeated_is_asked_once(clock):
    lender = Lender([StoreUnavailable("cut"), "never"])

    with pytest.raises(StoreUnavailable, match=r"^cut$"):
        exchange(lender).hold(asking(), sockets=1, repeat=False)
    assert (len(lender.lent), clock.slept) == (1, [])


def test_a_busy_store_is_reported_at_once(clock):
    with pytest.raises(StoreBusy):
        exchange(Lender([], busy=[StoreBusy("all in use")])).hold(asking(), sockets=1)
    assert clock.slept == []


def test_what_was_not_even_begun_is_tried_again_though_it_may_not_be_repeated(clock):
    lender = Lender(["done"], busy=[StoreUnavailable("nobody listens")])

    assert exchange(lender).hold(asking(), sockets=1, repeat=False) == ["done"]


def test_without_any_answer_the_deadline_ends_it(clock):
    impatient = GatewayExchange(Lender([StoreUnavailable("cut")]), replace(OPTIONS, deadline_s=0.01), asking()[0])
    with pytest.raises(StoreUnavailable, match=r"^cut$"):
        impatient.hold(asking(), sockets=1)
    lender = Lender([StoreUnavailable("cut") for _ in range(10_000)])

    with pytest.raises(StoreUnavailable, match=r"^cut \(tried \d+ times in (5\d\.\d|60\.0) s\)$"):
        exchange(lender).hold(asking(), sockets=1)
    assert OPTIONS.deadline_s - backoff.LONGEST_PAUSE_S <= clock.now - 1000 <= OPTIONS.deadline_s


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


def test_a_group_is_one_call_until_a_time_out(clock):
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


@pytest.fixture
def page_size():
    return PageSize()


def answer(page_size, times=1, error=None):
    """Have a page answered so many times, or fail."""
    for _ in range(times):
        with suppress(StoreTimeout, StoreUnavailable), page_size.watched():
            if error is not None:
                raise error


def test_a_page_grows_back_to_the_whole_after_answers_in_a_row(page_size):
    shares = []
    for times, error in (
        (1, StoreUnavailable("closed")),
        (1, StoreTimeout("late")),
        (ANSWERS_TO_GROW - 1, None),
        (1, StoreTimeout("late")),
        (ANSWERS_TO_GROW - 1, None),
        (1, None),
        (6 * ANSWERS_TO_GROW, None),
        (13, StoreTimeout("late")),
        (10 * ANSWERS_TO_GROW, None),
    ):
        answer(page_size, times, error)
        shares.append(page_size.share(20_000))

    assert shares == [20_000, 10_000, 10_000, 5_000, 5_000, 10_000, 20_000, 19, 20_000]


# errors


class Refusal(TException):
    """An error as a gateway of Thrift 2 sends it."""

    def __init__(self, message, can_retry):
        self.message, self.canRetry = message, can_retry


def failed_inside(method):
    return TApplicationException(TApplicationException.INTERNAL_ERROR, f"Internal error processing {method}")


NO_TABLE = "^there is no table t at gateway:1$"


@pytest.mark.parametrize(
    ("method", "error", "kind", "words"),
    [
        ("ask", Refusal(b"org.example.SomeException: so", True), StoreUnavailable, "Exception: so"),
        ("ask", Refusal(b"org.example.SomeException: so", False), StoreRefused, "Exception: so"),
        # What the server says of itself comes before what the text looks like.
        ("ask", Refusal(b"org.example.DoNotRetryIOException: so", True), StoreUnavailable, "Exception: so"),
        ("ask", Refusal(b"org.example.DoNotRetryIOException: so", None), StoreRefused, "Exception: so"),
        ("ask", StoreBusy("as it is"), StoreBusy, "^as it is$"),
        # A gateway fails so over a region that has no server for a while.
        ("getAllRegionLocations", failed_inside("getAllRegionLocations"), StoreUnavailable, "^getAll.* at gateway:1: "),
        ("getTableDescriptor", failed_inside("getTableDescriptor"), StoreRefused, "^getTable.* at gateway:1: "),
        ("getRows", Refusal(b"t", False), IndexMissing, NO_TABLE),
        ("getRows", Refusal(b"Failed 1 action: t: 1 time", False), IndexMissing, NO_TABLE),
        ("getRows", Refusal(b"org.example.TableNotFoundException: t", False), IndexMissing, NO_TABLE),
    ],
)
def test_each_error_of_the_server_becomes_one_of_the_package(method, error, kind, words):
    with pytest.raises(kind, match=words), thrift_errors(method, GATEWAY, "t"):
        raise error


def test_deletes_that_a_region_did_not_do_are_an_error():
    conversation = Thrift2("t").delete("d", [Cell(b"row", b"q", b"", 7)])
    next(conversation)

    with pytest.raises(StoreUnavailable, match="1 of 1 deletes were not done"):
        conversation.send([["the delete that is left"]])


# many cells become calls that every gateway takes: bounded in rows, and in bytes as they go over the wire

FRAMED = parse_url("hbase://one/t?transport=framed")
# What a call has beside its items: its name, the table's, lengths.
CALL_FRAMING = 200
TINY = [Cell(b"%d" % n, b"q", b"", 7) for n in range(500)]
MIXED = [Cell(b"%d" % n * 9, b"q" * (n % 50), b"v" * (n * 31 % 3_000), 7) for n in range(500)]
LONG_NAMES = [Cell(b"%0400d" % n, b"q" * 300, b"", 7) for n in range(100)]
SIZES = CallSizes(call_bytes=5_000)


@pytest.fixture(params=[Thrift1, Thrift2])
def driver(request):
    return request.param("t")


@pytest.fixture(params=["binary", "compact"])
def size(request):
    """Return a function that tells how many bytes a conversation sends at once at first."""

    def measure(conversation):
        memory = TMemoryBuffer()
        protocol, transport = make_protocol(memory, replace(FRAMED, protocol=request.param))
        for call in next(conversation):
            protocol.write_message_begin(call.method, TMessageType.CALL, 1)
            getattr(call.service, f"{call.method}_args")(**call.arguments).write(protocol)
            protocol.write_message_end()
            transport.flush()
        return len(memory.getvalue())

    return measure


@pytest.mark.slow
@pytest.mark.parametrize("cells", [TINY, MIXED, LONG_NAMES], ids=["tiny", "mixed", "long-names"])
@pytest.mark.parametrize("method", ["put", "delete", "get", "get_rows", "scan_rows"])
def test_no_call_is_larger_than_its_bound_on_the_wire(driver, size, cells, method):
    rows, keys = [cell.row for cell in cells], [(cell.row, cell.qualifier) for cell in cells]
    # Thrift 1 sends a call for each row.
    row_groups = [[row] for row in rows] if isinstance(driver, Thrift1) else list(SIZES.group_row_keys(rows, 1_000))
    calls = {
        "put": [driver.put("d", group) for group in SIZES.group_cells(cells)],
        "delete": [driver.delete("d", group) for group in SIZES.group_cells(cells)],
        "get": [driver.get("d", group) for group in SIZES.group_keys(keys, 1_000)],
        "get_rows": [driver.get_rows("d", group, 9, scan=False) for group in row_groups],
        "scan_rows": [driver.get_rows("d", group, 9, scan=True) for group in row_groups],
    }

    sizes = [size(call) for call in calls[method]]

    assert max(sizes) <= SIZES.call_bytes + CALL_FRAMING
    assert len(sizes) > 1


def test_groups_in_order_are_as_large_as_possible():
    groups = SIZES.group_cells(MIXED)

    assert [cell for group in groups for cell in group] == sorted(MIXED, key=lambda cell: cell[:2])
    for group, after in pairwise(groups):
        assert sum(FRAMING_BYTES + sum(map(len, cell[:3])) for cell in [*group, after[0]]) > SIZES.call_bytes


def test_no_group_has_too_many_rows_or_more_bytes_than_the_smallest_frame():
    assert CALL_SIZES.call_bytes + CALL_FRAMING < 1 << 20
    simhashes = np.random.default_rng(1).integers(0, 1 << 64, 900, dtype=np.uint64)
    rows = packed_rows(block_rows(Scheme(5, 2), simhashes))

    assert [len(group) for group in CALL_SIZES.group_row_keys(rows)] == [4_000, 4_000, 1_000]
    assert [len(group) for group in CALL_SIZES.group_row_keys([b"r"] * 5, 2)] == [2, 2, 1]


def test_of_writes_of_one_cell_only_those_of_one_time_replace_each_other():
    stamped = [Cell(b"r", b"q", b"old", 5), Cell(b"r", b"q", b"new", 5), Cell(b"r", b"q", b"older", 3)]
    unstamped = [Cell(b"s", b"q", b"old"), Cell(b"s", b"q", b"new")]

    assert sorted(latest_writes(stamped + unstamped)) == sorted([*stamped[1:], unstamped[1]])
