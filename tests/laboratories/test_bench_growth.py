"""Growth: indexes of all sizes take turns, neighbours follow each other, and a cold beginning is told apart."""

from dataclasses import replace
from itertools import groupby

import pytest
from bench import fixed_rate
from bench.documents import document_id
from bench.growth import ROUNDS, Loaded, Place, measure_growth, measured
from bench.growth_corpora import made_corpus, neighbours, picked, queries
from bench.sizes import TINY

from simhash_hbase.index.opened import BATCH_DOCUMENTS

SECONDS = {"small": 1.0, "large": 4.0}


class Asked:
    """Two indexes that answer nothing and take different times, and what they were asked."""

    def __init__(self):
        self.calls = []
        self.now = 0.0

    def loaded(self, name, documents):
        made = Place(Answers(self, name), None, lambda: 10 * documents, None, None, lambda: self.now)
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


@pytest.fixture
def asked():
    return Asked()


@pytest.fixture
def grown(asked):
    sizes = replace(TINY, growth_repeats=2, growth_queries=40)
    return measured([asked.loaded("small", 300), asked.loaded("large", 900)], sizes)


@pytest.mark.usefixtures("grown")
def test_every_index_is_asked_everything_once_before_anything_is_timed(asked):
    assert asked.calls[:6] == [(name, size) for name in ("small", "large") for size in (200, 100, 50)]
    assert asked.calls[6] == ("small", 1)


@pytest.mark.usefixtures("grown")
def test_single_queries_take_turns_in_rounds(asked):
    singles = [name for name, queries in asked.calls if queries == 1]

    assert [(name, len(list(few))) for name, few in groupby(singles)] == [("small", 4), ("large", 4)] * ROUNDS


@pytest.mark.usefixtures("grown")
def test_batches_take_turns_between_sizes_and_kinds(asked):
    batches = asked.calls[-12:]

    assert [batch for batch in batches if batch[1] == 1] == []
    assert batches == [(name, size) for size in (200, 100, 50) for name in ("small", "large")] * 2


def test_processor_time_is_summed_by_size(grown):
    small, large = grown

    assert (small.single, small.spread, small.neighbours, small.same) == (1.0, 1.0, 1.0, 1.0)
    assert (large.single, large.spread, large.neighbours, large.same) == (4.0, 4.0, 4.0, 4.0)
    assert len(small.singles) == len(large.singles) == 40
    assert large.size == 9000


@pytest.mark.parametrize("numbers", [range(0, 5_000, 7), range(1_990, 4_100), range(4_999, 5_000)])
def test_documents_are_taken_out_of_a_corpus_by_their_numbers(numbers):
    taken = picked(made_corpus("uniform", 5_000, TINY), numbers)

    assert taken.ids == [document_id(number) for number in numbers]


def test_no_more_of_a_corpus_is_made_than_is_taken():
    corpus = made_corpus("uniform", 3 * BATCH_DOCUMENTS, TINY)

    picked(corpus, range(10))

    assert next(corpus).ids[0] == document_id(BATCH_DOCUMENTS)


def digests(entries):
    return [bytes(digest) for digest in entries.digests]


def test_neighbours_follow_each_other_in_the_second_half():
    stored = digests(picked(made_corpus("uniform", 5_000, TINY), range(5_000)))

    first = stored.index(digests(neighbours("uniform", 5_000, 100, TINY))[0])

    assert 2_500 <= first <= 4_900
    assert digests(neighbours("uniform", 5_000, 100, TINY)) == stored[first : first + 100]


@pytest.mark.parametrize("documents", [1_010, 3_020])
def test_neighbours_among_templates_are_copies_of_the_same_pages_in_every_size(documents):
    pages = digests(picked(made_corpus("templates", documents, TINY), range(documents)))

    asked = digests(neighbours("templates", documents, 100, TINY))

    assert asked == pages[:100]


def test_as_many_neighbours_as_documents_are_all_of_them():
    assert len(neighbours("uniform", 300, 1_000, TINY)) == 300


def test_folders_that_are_kept_are_found_again(tmp_path, capsys):
    sizes = replace(TINY, growth_folder=tmp_path)
    first = measure_growth(sizes)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.seconds")}
    again = measure_growth(sizes)

    assert len(kept) == 4
    assert kept == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.seconds")}
    assert [row[1:5] for row in first[0].rows] == [row[1:5] for row in again[0].rows]
    assert "templates: 900 documents loaded in" in capsys.readouterr().err


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


@pytest.mark.parametrize(
    ("minutes", "batches", "when"), [(3.0, 3_600, "minute"), (2.0, 2_400, "minute"), (1.0, 1_200, "half")]
)
def test_a_cold_beginning_is_told_apart(monkeypatch, minutes, batches, when):
    warm = round(fixed_rate.WARM_S if minutes > 1.7 else 6 * minutes) * fixed_rate.BATCHES_A_SECOND
    slow = min(1_200, batches // 2)
    # The last of the cold batches takes 40 ms, within the time until the next is due.
    clock = Clock(lambda call: 0.04 if call < warm + slow else 0.01)
    monkeypatch.setattr(fixed_rate, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(fixed_rate, "sleep", clock.sleep)
    asked = queries("uniform", 300, 300, TINY)

    rows = dict(fixed_rate.measure_steady(clock, asked, rate=200, minutes=minutes).rows)

    assert rows["lookups"] == f"{10 * batches:,}"
    assert rows["longest"] == rows["99 %"] == "40.0 ms"
    assert rows[f"99 % after the first {when}"] == rows[f"longest after the first {when}"] == "10.0 ms"


def test_an_answer_counts_from_when_its_batch_was_due(monkeypatch):
    clock = Clock(lambda call: 62.0 if call == 200 else 0.0)
    monkeypatch.setattr(fixed_rate, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(fixed_rate, "sleep", clock.sleep)
    asked = queries("uniform", 300, 300, TINY)

    rows = dict(fixed_rate.measure_steady(clock, asked, rate=200, minutes=3.0).rows)

    assert rows["longest"] == "62,000.0 ms"
    # The first one of the second minute was due at 60 s, and waited for the one that took until 62 s.
    assert rows["longest after the first minute"] == "2,000.0 ms"
