"""A sample of a corpus to learn from: the same for every number of workers, and none of its texts is cut twice."""

import multiprocessing
import pickle

import pytest
from support.corpus import write_jsonl
from support.results import Printed

from simhash_hbase import create_index
from simhash_hbase.corpus import Deduplication, Reading, RunListener, Surroundings, run, sample
from simhash_hbase.corpus.sample import texts_of
from simhash_hbase.inputs import InputOptions
from simhash_hbase.kernel.texts import Batch

# Texts have many words: of few it is not remembered whether they count as a whole.
WORDS = "春天来了，河边的柳树发了芽，孩子们在草地上放风筝，老人坐在长椅上下棋。"
TEXTS = [f"第{number}篇文章说的是第{number}件事，我们都知道{number % 7}。{WORDS}" for number in range(60)]


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return what writes a corpus of which four texts are learned from, and for which processes start at once."""
    monkeypatch.setattr(sample, "LEARN_FROM", 4)
    monkeypatch.setattr(run, "AHEAD_BYTES", 1)
    return lambda *texts: str(write_jsonl(tmp_path / "corpus.jsonl", [{"text": text} for text in texts]))


@pytest.fixture
def corpus_file(write):
    return write(*TEXTS)


def decided(path, workers, **options):
    """Decide a corpus by an index that is made of it; return the index's table of words, too."""
    printed, reading = Printed(), Reading(workers=workers)
    with (
        Deduplication([path], surroundings=Surroundings(learn=True), reading=reading, lines=printed) as corpus,
        create_index("memory:", learn_from=corpus.texts(), workers=workers, **options) as index,
    ):
        corpus.run(index)
        return printed.lines, index.profile.replace(secret=None)


@pytest.mark.parametrize("options", [{}, {"seed": 7}, {"hash": "md5"}, {"top": 5}])
def test_decisions_are_those_of_one_worker(corpus_file, options):
    assert decided(corpus_file, 3, **options) == decided(corpus_file, 1, **options)


def test_no_text_is_cut_twice(corpus_file, monkeypatch):
    cut, count = [], Batch.count
    monkeypatch.setattr(Batch, "count", lambda self, **named: cut.extend(self.texts) or count(self, **named))
    decided(corpus_file, 1)

    assert sorted(text for text in cut if text in TEXTS) == sorted(TEXTS)


def test_a_worker_process_does_not_cut_the_sample_again(monkeypatch):
    with create_index("memory:", learn_from=TEXTS) as index:
        analysis = pickle.loads(pickle.dumps(index.analysis))
    cut, count = [], Batch.count
    monkeypatch.setattr(Batch, "count", lambda self, **named: cut.extend(self.texts) or count(self, **named))
    analysis.texts([*map(str, range(60)), "new"], [*TEXTS, WORDS])

    # Besides the texts of the probe.
    assert [text for text in cut if text in {*TEXTS, WORDS}] == [WORDS]


def test_where_nothing_is_decided_no_process_stays(corpus_file):
    with Deduplication([corpus_file], surroundings=Surroundings(learn=True), reading=Reading(workers=4)) as corpus:
        list(corpus.texts())
    assert multiprocessing.active_children() == []


def test_the_first_refused_record_of_the_sample_is_named(write):
    notes = []
    path = write("one", "", "three", None)

    assert list(texts_of([path], InputOptions(), RunListener(note=notes.append))) == ["one", "three"]
    assert notes == [f"2 records of the sample were refused, the first: {path}:2: the text is empty"]
