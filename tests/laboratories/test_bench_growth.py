"""Growth: indexes of all sizes take turns, neighbours follow each other, and a cold beginning is told apart."""

from dataclasses import replace

import pytest
from bench import fixed_rate
from bench.documents import document_id
from bench.growth import ROUNDS, Loaded, Place, measured
from bench.growth_corpora import made_corpus, neighbours, picked, queries
from bench.sizes import TINY

SECONDS = {"small": 1.0, "large": 4.0}


class Asked:
    """Two indexes that answer nothing and take different times, and what they were asked."""

    def __init__(self):
        self.calls = []
        self.now = 0.0

    def loaded(self, name, documents):
        made = Place(Answers(self, name), None, lambda: 10 * documents, None, lambda: self.now)
        spread = queries("uniform", documents, 200, TINY)
        return Loaded(made, documents, 1.0, spread, spread.take(range(100)), spread.take(range(50)))


class Answers:
    def __init__(self, asked, name):
        self.asked = asked
        self.name = name

    def query_entries(self, entries):
        self.asked.calls.append((self.name, len(entries)))
        self.asked.now += SECONDS[self.name] * len(entries)
        return []


def test_after_a_first_time_that_does_not_count_indexes_take_turns_and_pay_for_their_own():
    asked = Asked()
    sizes = replace(TINY, growth_repeats=2, growth_queries=40)

    small, large = measured([asked.loaded("small", 300), asked.loaded("large", 900)], sizes)

    first = [(name, size) for name in SECONDS for size in (200, 100, 50)]
    singles = [*[("small", 1)] * 4, *[("large", 1)] * 4] * ROUNDS
    batches = [(name, size) for size in (200, 100, 50) for name in SECONDS] * 2
    assert asked.calls == first + singles + batches
    assert [value for value, _ in small.cells][3:5] == [10, 1.0]
    assert [value for value, _ in large.cells][3:5] == [10, 4.0]
    assert [[value for value, _ in each.cells][-3:] for each in (small, large)] == [[1.0] * 3, [4.0] * 3]


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


class Clock:
    """Time that passes by answers and by sleep alone."""

    def __init__(self, answers):
        self.now = 0.0
        self.answers = answers
        self.calls = 0

    def sleep(self, seconds):
        self.now += seconds

    def query_entries(self, _):
        self.now += self.answers(self.calls)
        self.calls += 1


@pytest.fixture
def steady(monkeypatch):
    """Return a function that measures for some minutes how late answers are that take so long."""

    def measure(answers, minutes):
        clock = Clock(answers)
        monkeypatch.setattr(fixed_rate, "perf_counter", lambda: clock.now)
        monkeypatch.setattr(fixed_rate, "sleep", clock.sleep)
        asked = queries("uniform", 300, 300, TINY)
        return dict(fixed_rate.measure_steady(clock, asked, rate=200, minutes=minutes).rows)

    return measure


@pytest.mark.parametrize(("minutes", "batches", "when"), [(2.0, 2_400, "minute"), (1.0, 1_200, "half")])
def test_a_cold_beginning_is_told_apart(steady, minutes, batches, when):
    warm = round(fixed_rate.WARM_S if minutes > 1.7 else 6 * minutes) * fixed_rate.BATCHES_A_SECOND
    slow = min(1_200, batches // 2)
    # The last of the cold batches takes 40 ms, within the time until the next is due.
    rows = steady(lambda call: 0.04 if call < warm + slow else 0.01, minutes)

    assert rows["lookups"] == f"{10 * batches:,}"
    assert rows["longest"] == rows["99 %"] == "40.0 ms"
    assert rows[f"99 % after the first {when}"] == rows[f"longest after the first {when}"] == "10.0 ms"


def test_an_answer_counts_from_when_its_batch_was_due(steady):
    rows = steady(lambda call: 62.0 if call == 200 else 0.0, 3.0)

    assert rows["longest"] == "62,000.0 ms"
    # The first one of the second minute was due at 60 s, and waited for the one that took until 62 s.
    assert rows["longest after the first minute"] == "2,000.0 ms"
