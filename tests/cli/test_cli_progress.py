"""How fast and how long: the figures that a bar and a line show, by a clock that the test moves."""

import re

import pytest
from hypothesis import given, strategies as st

from simhash_hbase.cli.screen.output import WINDOW_S, Pace, ProgressLines


class Ticking:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def ticking():
    return Ticking()


@pytest.mark.parametrize(
    ("total", "noun", "before", "after", "said"),
    [
        (1_000.0, "documents", 0, (10, 5_000, 250.0), "25%, 5,000 documents, 500 a second, 0:00:30 left"),
        # No time is claimed before anything was done, or so soon.
        (1_000.0, "ids", 0, (0, 0, 0.0), "0%, 0 ids"),
        (1_000.0, "ids", 0, (0.5, 10, 500.0), "50%, 10 ids, 20 a second"),
        (None, "documents", 0, (10, 5_000, 250.0), "5,000 documents, 500 a second"),
        # What an earlier run did does not count for the rate.
        (None, "documents", 1_000_000, (10, 1_000_100, 0.0), "1,000,100 documents, 10 a second"),
        (None, "tasks", 0, (20, 1, None), "1 task, 0.05 a second"),
    ],
)
def test_share_rate_and_time_left_are_told(ticking, total, noun, before, after, said):
    pace = Pace(total, noun, count=before, clock=ticking)

    ticking.now, *done = after
    pace.add(*done)

    assert pace.said() == said


def test_the_rate_is_that_of_the_last_half_minute(ticking):
    pace = Pace(10_000.0, "documents", clock=ticking)
    for second in range(1, 1_001):
        ticking.now = second
        pace.add(100 * second if second <= 500 else 50_000 + (second - 500), float(second))

    assert pace.rate() == pytest.approx(1)
    assert pace.left_s() == pytest.approx(9_000)


@given(st.lists(st.tuples(st.floats(0.001, 20), st.integers(0, 1_000)), min_size=1, max_size=200))
def test_few_points_are_kept_and_the_last_one_always(steps):
    ticking = Ticking()
    pace = Pace(None, "documents", clock=ticking)
    count = 0
    for seconds, more in steps:
        ticking.now += seconds
        count += more
        pace.add(count, None)

    assert re.match(rf"{count:,} documents?\b", pace.said())
    assert len(pace._seen) <= 2 * WINDOW_S / 0.1 + 3


@pytest.mark.parametrize("how", [{}, {"every_s": 30}])
def test_a_line_is_said_once_a_minute_or_as_often_as_a_command_says(ticking, how):
    said, every = [], how.get("every_s", 60)
    lines = ProgressLines("add", Pace(600.0, "documents", clock=ticking), said.append, clock=ticking, **how)
    for second in range(30, 301, 15):
        ticking.now = second
        lines.show(second * 10, float(second))

    assert said == [
        f"add: {s / 600:.0%}, {10 * s:,} documents, 10 a second, 0:{(600 - s) // 60:02}:{(600 - s) % 60:02} left"
        for s in range(every, 301, every)
    ]


def test_much_to_read_is_said_at_once(ticking):
    said = []

    for total in (999_999.0, 1e6, 12_345_678.0, None):
        ProgressLines("add", Pace(total, "documents", clock=ticking), said.append, clock=ticking, unit="bytes")
    ProgressLines("dedup: decide", Pace(2e6, "documents", clock=ticking), said.append, clock=ticking)

    assert said == ["add: 1 MB to read", "add: 12 MB to read"]


@pytest.mark.parametrize(("share", "wanted"), [(0.04, ["verify: 4%, 2,000 cells"]), (0.05, []), (1.0, [])])
def test_a_long_walk_is_told_of_after_its_first_page(ticking, share, wanted):
    said = []
    lines = ProgressLines("verify", Pace(1.0, "cells", clock=ticking), said.append, clock=ticking, unit="share")

    lines.show(2_000, share)
    lines.show(4_000, share)

    assert said == wanted


@pytest.mark.parametrize("operation", ["verify", "vacuum", "stats", "export"])
def test_a_walk_through_an_index_tells_how_far_it_is(make_memory_index, operation, monkeypatch):
    for module in ("maintenance", "stats", "walk"):
        monkeypatch.setattr(f"simhash_hbase.index.upkeep.{module}.PAGE", 20)
    index = make_memory_index(analyzer="shingle")
    list(index.add_many((f"document {i}", f"words of document {i} and of nothing else") for i in range(100)))
    told = []

    walk = getattr(index, operation)(watch=lambda count, share: told.append((count, share)))
    if operation == "export":
        assert len(list(walk)) == 100

    counts, shares = zip(*told, strict=True)
    assert (list(counts), list(shares)) == (sorted(counts), sorted(shares))
    assert counts[-1] == (200 if operation == "export" else 1_200)
    assert 0 < shares[0] < 0.3
    assert 0.8 < shares[-1] <= 1
    assert len(set(shares)) >= 10
