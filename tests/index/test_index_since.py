"""``since``: what was added or last seen before does not match, and how a time is written."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from support.bruteforce import answered, entries

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.clock import parse_since, rfc3339

BASE = 0x9E3779B97F4A7C15
DAY_MS = 86_400_000


@pytest.fixture
def index(make_index):
    """Return an index with a document of ten days ago, of five and of today."""
    made = make_index()
    made.add_entries(entries({"old": BASE}))
    make_index.clock.advance(days=5)
    made.add_entries(entries({"middle": BASE ^ 1}))
    make_index.clock.advance(days=5)
    made.add_entries(entries({"new": BASE ^ 3}))
    make_index.clock.advance(ms=10)
    return made


def found(index, since):
    return [name for name, _ in answered(index.query_simhash(BASE, since=since))]


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        (None, ["old", "middle", "new"]),
        ("11d", ["old", "middle", "new"]),
        ("6d", ["middle", "new"]),
        ("7200m", ["new"]),
        ("119h", ["new"]),
        ("0d", []),
    ],
)
def test_a_query_finds_what_was_added_since(index, since, expected):
    assert found(index, since) == expected


def test_a_time_may_be_a_date_and_what_was_seen_again_counts_from_then(index, make_index):
    now = make_index.clock()

    assert found(index, rfc3339(now - 6 * DAY_MS)) == ["middle", "new"]
    assert found(index, datetime.fromtimestamp(now / 1000, UTC) - timedelta(days=1)) == ["new"]
    assert [match.id for match in index.query_id("old", since="1d").matches] == ["new"]
    index.add_entries(entries({"old": BASE}))
    assert found(index, "1d") == ["old", "new"]


def test_a_limit_counts_what_is_left_and_caps_are_told(index):
    cut = index.query_simhash(BASE, since="6d", limit=1)
    whole = index.query_simhash(BASE, since="6d", limit=2)
    assert (answered(cut), cut.truncated) == ([("middle", 1)], True)
    assert (len(whole.matches), whole.truncated) == (2, False)


def test_the_time_to_live_ends_earlier_than_an_age_that_is_longer(make_index):
    index = make_index(ttl_days=5)
    index.add_entries(entries({"old": BASE}))
    make_index.clock.advance(days=6)
    assert found(index, "30d") == []


def test_many_queries_ask_from_one_moment_on_and_a_time_that_is_none_is_refused_before(index):
    [(_, answer)] = index.query_many([("query", "…a text with some words in it…")], since="6d")
    assert answer.matches == []
    with pytest.raises(InvalidArgument):
        index.query_many([], since="")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-11-22", datetime(2026, 11, 22, tzinfo=UTC)),
        ("2026-11-22T09:30", datetime(2026, 11, 22, 9, 30, tzinfo=UTC)),
        ("2026-11-22T09:30:00Z", datetime(2026, 11, 22, 9, 30, tzinfo=UTC)),
        ("2026-11-22T09:30:00.250+08:00", datetime(2026, 11, 22, 1, 30, 0, 250_000, tzinfo=UTC)),
        (datetime(2026, 11, 22), datetime(2026, 11, 22, tzinfo=UTC)),
        (datetime(2026, 11, 22, tzinfo=timezone(timedelta(hours=1))), datetime(2026, 11, 21, 23, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_utc(written, meant):
    assert parse_since(written, 0) == meant


@pytest.mark.parametrize("wrong", ["", "yesterday", "7", "7w", "-7d", "7 d", "1.5d", "2026-13-1", "９d", "9999999999d"])
def test_what_is_no_time_is_refused_in_one_sentence(wrong):
    with pytest.raises(InvalidArgument, match=r"since .*: wanted a date or a time such as 2026-11-22") as refused:
        parse_since(wrong, 0)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("age", ["999999999d", "999999999h", "0m"])
def test_an_age_may_reach_behind_1970(age):
    assert parse_since(age, 1_700_000_000_000) <= datetime(2023, 11, 15, tzinfo=UTC)
