"""What is learned from a sample: the idf table, and the fingerprints of the sample's own texts."""

import pickle
from threading import Barrier

import pytest
from support.corpora import sample
from support.patience import END_S
from support.words import idf_of, word_tokens

from simhash_hbase import create_index
from simhash_hbase.features.analyzers import LearnedAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.features.idf import learn
from simhash_hbase.kernel import texts as texts_module
from simhash_hbase.kernel.texts import Batch

TEXTS = ["我爱HBase，我爱 hbase！", "T恤、卡拉OK和數據庫，é", "我爱T恤", "The the THE 我爱", "ＴＨＥ", "…", ""]


def taught(texts):
    """Make a fingerprinter that knows the texts that it learned from."""
    taught_by = learn(texts)
    fingerprinter = Fingerprinter(LearnedAnalyzer(idf=taught_by.idf))
    fingerprinter.remember(taught_by.texts)
    return fingerprinter


def untaught(texts):
    return Fingerprinter(LearnedAnalyzer(idf=learn(texts).idf))


def answers(fingerprinter, texts):
    return [column.tolist() for column in fingerprinter.fingerprint_many(texts)]


@pytest.fixture
def cuts(monkeypatch):
    """Collect the texts that are cut."""
    seen = []
    count = Batch.count
    monkeypatch.setattr(
        Batch, "count", lambda self, *given, **named: seen.extend(self.texts) or count(self, *given, **named)
    )
    return seen


@pytest.mark.parametrize("most", [1 << 17, 1, 20])
def test_the_table_counts_the_words_of_the_tokens_whatever_the_batches(most, monkeypatch):
    monkeypatch.setattr(texts_module, "BATCH", most)
    texts = TEXTS * 3 + [f"词语 word{number} 数据库" for number in range(9)]

    assert learn(texts).idf == idf_of(map(word_tokens, texts))


@pytest.mark.parametrize("name", ["lctt_zh_edit", "laws_tw_en_versions", "graph_zh_v1_beta"])
def test_texts_of_the_sample_get_the_fingerprints_that_they_would_get_elsewhere(name):
    texts = sample(name, 12)

    assert answers(taught(texts[:8]), texts) == answers(untaught(texts[:8]), texts)


def test_a_text_of_the_sample_is_not_cut_again(cuts):
    expected = answers(untaught(TEXTS), [*TEXTS, "我爱 hbase"])
    first = taught(TEXTS)
    cuts.clear()

    assert answers(first, [*TEXTS, "我爱 hbase"]) == expected
    assert cuts == ["我爱 hbase"]
    assert answers(pickle.loads(pickle.dumps(first)), [*TEXTS, "我爱 hbase"]) == expected


def test_an_index_made_with_a_sample_does_not_cut_it_again(tmp_path, cuts):
    with create_index(f"file:{tmp_path}/made", learn_from=TEXTS[:4]) as made:
        cuts.clear()
        list(made.add_many((str(at), text) for at, text in enumerate(TEXTS[:4])))
        assert cuts == []
        assert made.analysis.profile == made.profile
        rows = [made.get(str(at)).simhash for at in range(4)]

    assert rows == answers(untaught(TEXTS[:4]), TEXTS[:4])[0]


@pytest.mark.parametrize("workers", [1, 2])
def test_so_many_threads_count_a_sample_and_the_table_is_the_same(monkeypatch, workers):
    texts = TEXTS[:4]
    alone = learn(texts)
    together = Barrier(workers)

    class Waiting(Batch):
        def count(self, **options):
            together.wait(END_S)
            return super().count(**options)

    monkeypatch.setattr(texts_module, "Batch", Waiting)
    monkeypatch.setattr(texts_module, "BATCH", 0)  # A part has one text.

    shared = learn(texts, workers=workers)

    keys, keys_alone = ([key for part in sample.texts for key in part.keys] for sample in (shared, alone))
    assert len(shared.texts) == 4
    assert (shared.idf, keys) == (alone.idf, keys_alone)
