"""Timestamps below all that a server still gives, whatever this machine's clocks do."""

import pytest
from support.server_doubles import SwappingOnly

from simhash_hbase.errors import StoreRefused, StoreTimeout, StoreUnavailable
from simhash_hbase.index import timestamps
from simhash_hbase.index.timestamps import MARGIN_MS, decision_time, server_time, time_below
from simhash_hbase.stores.memory import MemoryStore

BEGIN_MS = 1_700_000_000_000


class Clocks:
    """The clocks of a server and of this machine."""

    server_ms, monotonic_s, wall_s, readings = BEGIN_MS, 5.0, 0.0, 0

    def read(self):
        self.readings += 1
        return self.server_ms

    def pass_by(self, seconds):
        self.server_ms += round(seconds * 1000)
        self.wall_s += seconds
        self.monotonic_s += seconds


@pytest.fixture
def clocks(monkeypatch):
    made = Clocks()
    monkeypatch.setattr(timestamps.time, "monotonic", lambda: made.monotonic_s)
    monkeypatch.setattr(timestamps.time, "time", lambda: made.wall_s)
    return made


@pytest.fixture
def store(clocks):
    return SwappingOnly(MemoryStore(clock=clocks.read))


def test_it_is_the_server_s_time(store, clocks):
    for passed_s in (0, 1):
        clocks.pass_by(passed_s)
        assert server_time(store) == BEGIN_MS + 1000 * passed_s


def test_it_stays_a_margin_behind_and_is_read_once_a_minute(store, clocks):
    for minute in range(3):
        for _ in range(4):
            assert time_below(store) == clocks.server_ms - MARGIN_MS
            clocks.pass_by(15.5)
        assert clocks.readings == minute + 1


def test_it_goes_up_although_no_time_passes_and_each_store_has_its_own(store):
    other = SwappingOnly(MemoryStore(clock=lambda: BEGIN_MS + 9))
    assert [time_below(one) - BEGIN_MS + MARGIN_MS for one in (store, store, other, store)] == [0, 1, 9, 2]


@pytest.mark.parametrize("step_s", [-7200, 7200])
def test_a_machine_that_slept_or_whose_clock_was_set_reads_it_again(store, clocks, step_s):
    time_below(store)
    clocks.wall_s += step_s
    assert time_below(store) > BEGIN_MS - MARGIN_MS
    assert clocks.readings == 2


class Unanswered(SwappingOnly):
    """A store that does not answer some of the first puts."""

    def __init__(self, inner, errors):
        super().__init__(inner)
        self.errors = errors

    def put(self, family, cells):
        if self.errors:
            raise self.errors.pop()
        super().put(family, cells)


@pytest.mark.parametrize("error", [StoreTimeout, StoreUnavailable])
@pytest.mark.parametrize("choose", [time_below, decision_time])
def test_a_store_that_does_not_answer_is_asked_for_its_time_again(clocks, choose, error):
    store = Unanswered(MemoryStore(clock=clocks.read), [error("no answer")] * 2)
    assert choose(store) == BEGIN_MS - MARGIN_MS


@pytest.mark.parametrize(("error", "calls"), [(StoreTimeout, 3), (StoreRefused, 1)])
def test_a_store_that_never_answers_is_asked_three_times_and_one_that_refuses_once(clocks, error, calls):
    store = Unanswered(MemoryStore(clock=clocks.read), [error("no") for _ in range(calls + 1)])
    with pytest.raises(error):
        time_below(store)
    assert len(store.errors) == 1
