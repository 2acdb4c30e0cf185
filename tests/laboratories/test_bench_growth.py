"""Growth: indexes of all sizes take turns, neighbours follow each other, and a cold beginning is told apart."""

from dataclasses import replace

import pytest
from bench import growth
from bench.documents import document_id
from bench.growth import made_corpus, neighbours, picked, queries
from bench.sizes import TINY


class Clock:
    """Time that passes by answers and by sleep alone: an answer takes what a function of its number says."""

    def __init__(self, answers=None):
        self.now, self.answers, self.calls = 0.0, answers, 0

    def sleep(self, seconds):
        self.now += seconds

    def query_entries(self, _):
        self.now += self.answers(self.calls)
        self.calls += 1


class Answers:
    """Answers nothing, and takes so many seconds for each query."""

    def __init__(self, clock, name, seconds, asked):
        self.clock, self.name, self.seconds, self.asked = clock, name, seconds, asked

    def query_entries(self, entries):
        self.asked.append((self.name, len(entries)))
        self.clock.now += self.seconds * len(entries)
        return []


def test_after_a_first_time_that_does_not_count_indexes_take_turns_and_pay_for_their_own():
    clock, asked = Clock(), []

    def grown(name, documents, seconds):
        spread = queries("uniform", documents, 200, TINY)
        return growth.Grown(
            documents=documents, index=Answers(clock, name, seconds, asked), writer=None, seconds=1.0,
            size=lambda: 10 * documents, used=lambda: clock.now,
            batches=[spread, spread.take(range(100)), spread.take(range(50))],
        )  # fmt: skip

    sizes = replace(TINY, growth_repeats=2, growth_queries=40)
    figures = growth.measured([grown("small", 300, 1.0), grown("large", 900, 4.0)], sizes)

    first = [(name, size) for name in ("small", "large") for size in (200, 100, 50)]
    singles = [*[("small", 1)] * 4, *[("large", 1)] * 4] * growth.ROUNDS
    batches = [(name, size) for size in (200, 100, 50) for name in ("small", "large")] * 2
    assert asked == first + singles + batches
    for each, documents, seconds in zip(figures, (300, 900), (1.0, 4.0), strict=True):
        assert each[:5] == [documents, 1.0, documents, 10, seconds]
        assert each[-4:] == [*[seconds] * 3, 0]


@pytest.mark.parametrize("numbers", [range(0, 5_000, 7), range(1_990, 4_100), range(4_999, 5_000)])
def test_documents_are_taken_out_of_a_corpus_by_their_numbers(numbers):
    taken = picked(made_corpus("uniform", 5_000, TINY), numbers)

    assert taken.ids == [document_id(number) for number in numbers]


def digests(entries):
    return [bytes(digest) for digest in entries.digests]


def test_neighbours_follow_each_other_in_the_second_half():
    stored = digests(picked(made_corpus("uniform", 5_000, TINY), range(5_000)))

    asked = digests(neighbours("uniform", 5_000, 100, TINY))

    first = stored.index(asked[0])
    assert 2_500 <= first <= 4_900
    assert asked == stored[first : first + 100]


@pytest.mark.parametrize("documents", [1_010, 3_020])
def test_neighbours_among_templates_are_copies_of_the_same_pages_in_every_size(documents):
    pages = digests(picked(made_corpus("templates", documents, TINY), range(100)))

    assert digests(neighbours("templates", documents, 100, TINY)) == pages


@pytest.mark.parametrize(
    ("minutes", "cold", "answers", "rows"),
    [
        # The last of the cold batches takes 40 ms, within the time until the next is due.
        (2.0, 200 + 1_200, (0.04, 0.01), ("40.0 ms", "minute", "10.0 ms")),
        (1.0, 120 + 600, (0.04, 0.01), ("40.0 ms", "half", "10.0 ms")),
        # The first one of the second minute was due at 60 s, and waited for the one that took until 62 s.
        (3.0, 201, (None, 0.0), ("62,000.0 ms", "minute", "2,000.0 ms")),
    ],
    ids=["a cold minute", "a cold half", "one that is late"],
)
def test_a_cold_beginning_is_told_apart_and_an_answer_counts_from_when_it_was_due(
    monkeypatch, minutes, cold, answers, rows
):
    slow, fast = answers

    def takes(call):
        return (62.0 if call == cold - 1 else 0.0) if slow is None else (slow if call < cold else fast)

    clock = Clock(takes)
    monkeypatch.setattr(growth, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(growth, "sleep", clock.sleep)

    table = growth.measure_steady(clock, queries("uniform", 300, 300, TINY), rate=200, minutes=minutes)

    longest, when, later = rows
    measured = dict(table.rows)
    assert measured["lookups"] == f"{round(12_000 * minutes):,}"
    assert measured["longest"] == longest
    assert measured[f"longest after the first {when}"] == later
