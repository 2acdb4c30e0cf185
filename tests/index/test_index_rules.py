"""Near-duplicates under each rule and since a time, and the fields of answers and matches."""

import random
from datetime import UTC, datetime, timedelta, timezone

import pytest
from support.bruteforce import BASE, answered, entries, flips, shares_block_row
from support.sketching import containment

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.clock import parse_since, rfc3339

SKETCH = random.Random(7).getrandbits(512)


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
    index = make_index(match="verified")
    index.add_entries(entries({"stored": BASE}, sketches=[SKETCH]))
    answer = index.query_simhash(BASE, rule=index.rule(**wanted))
    assert answered(answer) == [("stored", 0)]
    assert answer.complete is complete


@pytest.mark.slow
def test_a_distance_above_k_brings_what_the_scans_bring(make_index):
    index = make_index()
    documents = {f"at {d}, {i}": s for d in range(9) for i, s in enumerate(flips(BASE, d, most=50, seed=d))}
    index.add_entries(entries(documents))
    answer = index.query_simhash(BASE, rule=index.rule(match="distance", distance=6))
    expected = {n for n, s in documents.items() if (s ^ BASE).bit_count() <= 6 and shares_block_row(s, BASE)}
    assert {match.id for match in answer.matches} == expected
    assert not answer.complete


@pytest.mark.parametrize(
    "wanted", [{"match": "cosine"}, {"distance": -1}, {"distance": 65}, {"similarity": -0.1}, {"similarity": 1.1}]
)
def test_a_rule_out_of_range_or_without_the_sketches_that_it_needs_is_refused(make_memory_index, wanted):
    with pytest.raises(InvalidArgument):
        make_memory_index(match="verified").rule(**wanted)
    with pytest.raises(InvalidArgument, match="no sketches"):
        make_memory_index(sketch=False).rule(match="verified")


@pytest.mark.parametrize(
    ("options", "short"), [({}, [False, True, True, True, False]), ({"short": 5}, [False, True, False, False, False])]
)
def test_a_text_with_fewer_features_than_the_profile_says_is_called_short(make_index, options, short):
    index = make_index(**options)
    sizes = (0, 4, 5, 29, 30)
    answers = index.query_entries(entries([(str(size), BASE) for size in sizes], features=sizes))
    assert [answer.short for answer in answers] == short


def test_only_equal_normalised_texts_are_exact(make_index):
    index = make_index(match="verified")
    text = "Near copies are found by their fingerprints. " * 20
    blanks = text.upper().replace(" ", "  ")
    alike = {"same": text, "same but for case and blanks": blanks, "one letter more": text + "x"}
    list(index.add_many(alike.items()))
    index.add_entries(entries({"own fingerprint": index.get("same").simhash}))

    answer = index.query(text)

    assert {match.id for match in answer.matches} == {*alike, "own fingerprint"}
    assert {match.id for match in answer.matches if match.exact} == {"same", "same but for case and blanks"}


def test_a_stored_document_is_looked_for_by_its_sketch_a_duplicate_by_fingerprint(make_index):
    index = make_index(match="verified")
    text = "A document that is stored twice, word for word, under two ids. " * 10
    list(index.add_many([("a", text), ("b", text)]))
    index.dedup_entries(entries({"bare": 0, "copy": 1}), index.deduplicator())
    [match] = index.query_id("a").matches
    assert (match.id, match.distance, match.similarity, match.exact) == ("b", 0, 1.0, True)
    assert answered(index.query_id("copy")) == [("bare", 1)]


def test_a_distance_by_itself_asks_for_what_is_within_it(make_memory_index):
    index = make_memory_index(match="verified")
    assert (index.rule(distance=2).match, index.rule(distance=2).distance) == ("distance", 2)
    assert index.rule(distance=2, similarity=0.9).match == index.rule().match == "verified"


DAY_MS = 86_400_000


@pytest.fixture
def index(make_index):
    """Return an index with a document of ten days ago, of five and of today."""
    made = make_index()
    for name, simhash, days in (("old", BASE, 5), ("middle", BASE ^ 1, 5), ("new", BASE ^ 3, 1e-7)):
        made.add_entries(entries({name: simhash}))
        make_index.clock.advance(days=days)
    return made


def found(index, since):
    return [name for name, _ in answered(index.query_simhash(BASE, since=since))]


@pytest.mark.parametrize(("since", "count"), [(None, 3), ("11d", 3), ("6d", 2), ("7200m", 1), ("119h", 1), ("0d", 0)])
def test_a_query_finds_what_was_added_since(index, since, count):
    assert found(index, since) == ["old", "middle", "new"][3 - count :]


def test_since_is_a_date_or_an_age_since_a_document_was_last_seen(index, make_index):
    now = make_index.clock()
    assert found(index, rfc3339(now - 6 * DAY_MS)) == ["middle", "new"]
    assert found(index, datetime.fromtimestamp(now / 1000, UTC) - timedelta(days=1)) == ["new"]
    assert [match.id for match in index.query_id("old", since="1d").matches] == ["new"]
    index.add_entries(entries({"old": BASE}))
    assert found(index, "1d") == ["old", "new"]


def test_a_limit_counts_the_matches_that_since_leaves(index):
    cut = index.query_simhash(BASE, since="6d", limit=1)
    whole = index.query_simhash(BASE, since="6d", limit=2)
    assert (answered(cut), cut.truncated) == ([("middle", 1)], True)
    assert (len(whole.matches), whole.truncated) == (2, False)


def test_the_time_to_live_ends_earlier_than_an_age_that_is_longer(make_index):
    index = make_index(ttl_days=5)
    index.add_entries(entries({"old": BASE}))
    make_index.clock.advance(days=6)
    assert found(index, "30d") == []


def test_the_time_of_many_queries_is_checked_before_the_first(index):
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


CHANCE = random.Random(5)
WHOLE = "".join(chr(CHANCE.randrange(0x4E00, 0x9000)) for _ in range(2_000))
PART = WHOLE[:1_700]
SHINGLES = {"match": "verified", "similarity": 0.6, "bands": 6, "band_distance": (64,), "free_distance": None}
NEAR = pytest.approx(1, abs=0.05)
LESS = pytest.approx(containment(WHOLE, PART), abs=0.05)


def test_an_answer_says_how_much_of_the_text_a_match_has(make_index):
    index = make_index(**SHINGLES)
    list(index.add_many([("whole", WHOLE), ("part", PART)]))
    index = make_index.reopen(index)

    [of_part] = [match for match in index.query(PART).matches if match.id == "whole"]
    [of_whole] = [match for match in index.query(WHOLE).matches if match.id == "part"]
    assert (of_part.containment, of_whole.containment) == (NEAR, LESS)
    assert of_part.similarity == of_whole.similarity <= of_whole.containment + 0.0001
    assert [match.containment for match in index.query_id("part").matches] == [of_part.containment]
    assert next(match for match in index.query(WHOLE).matches if match.id == "whole").containment == 1


@pytest.mark.parametrize("decide", ["claim_many", "dedup_many"])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_decision_keeps_how_much_of_its_document_the_original_has(make_index, decide, at_once):
    index = make_index(**SHINGLES)
    documents = [("whole", WHOLE), ("part", PART), ("other", WHOLE[::-1]), ("part again", PART)]
    batches = [documents] if at_once else [[document] for document in documents]

    decisions = [decision for batch in batches for _, decision in getattr(index, decide)(batch)]

    index = make_index.reopen(index)
    assert [decision.of for decision in decisions] == [None, "whole", None, "whole"]
    assert [decision.containment for decision in decisions] == [None, NEAR, None, decisions[1].containment]
    assert [decision for _, decision in getattr(index, decide)(documents)] == decisions
    assert index.get("part").containment == decisions[1].containment
    every = {decision.id: decision.containment for decision in decisions}
    assert {stored.id: stored.containment for stored in index.export()} == every
    copies = {copy.id: copy.containment for copy in index.copies("whole").copies}
    assert copies == {name: every[name] for name in ("part", "part again")}


def test_without_sketches_nothing_is_known_of_it(make_index):
    for options in ({"sketch": False}, SHINGLES):
        index = make_index(**options)
        index.add_entries(entries({"a": 5}))
        [decision] = index.claim_entries(entries({"b": 4}))
        assert [match.containment for match in index.query_simhash(5).matches] == [None]
        assert (decision.of, decision.containment, index.get("b").containment) == ("a", None, None)
