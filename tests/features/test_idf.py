"""Idf tables: packing, jieba's own, the sample that they are learned from, and the fingerprints of its own texts."""

import math
import zlib
from collections import Counter
from threading import Barrier

import msgspec
import pytest
from hypothesis import given, strategies as st
from support.corpora import sample
from support.general_idf import SETS, general_table
from support.labelled import documents_file
from support.patience import END_S
from support.plain_jieba import jieba
from support.words import idf_of, word_tokens

from simhash_hbase import create_index, open_index
from simhash_hbase.errors import CorruptIndex, ProfileMismatch
from simhash_hbase.features.analyzers import LearnedAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.features.idf import GENERAL, IdfTable, Reservoir, general_idf, jieba_idf, learn
from simhash_hbase.kernel import texts as texts_module
from simhash_hbase.kernel.texts import Batch

documents = st.lists(st.lists(st.text(max_size=3), max_size=5), min_size=1, max_size=8)


def test_a_word_of_one_document_weighs_as_an_unknown_one():
    table = idf_of([["a", "b"], ["b"], ["b", "b"]])

    assert dict(table.frequencies) == {"b": 3}
    assert table.weight("a") == table.weight("never seen") == math.log(1 + 3 / 1)
    assert table.weight("b") == math.log(2)


@given(documents)
def test_a_packed_table_unpacks_to_the_same(token_lists):
    table = idf_of(token_lists)

    assert IdfTable.decode(table.encode()) == table


@given(documents)
def test_the_order_of_documents_does_not_change_the_bytes(token_lists):
    table, turned = idf_of(token_lists), idf_of(token_lists[::-1])

    assert table.encode() == turned.encode()
    assert table.digest() == turned.digest()


ENCODED = idf_of([["word", "other"]] * 3).encode()
OTHER_FORMS = [[2, 3, [], []], [1, 3, ["a"], []], [1, 0, [], []], [1, 3, ["a"], [1]], "x"]


@pytest.mark.parametrize(
    "data",
    [
        *(ENCODED[:-1], b"", b"x" + ENCODED, ENCODED[:20] + b"?" + ENCODED[21:]),
        *(zlib.compress(msgspec.msgpack.encode(content)) for content in OTHER_FORMS),
    ],
)
def test_damaged_bytes_and_those_of_another_form_are_corrupt(data):
    with pytest.raises(CorruptIndex, match="idf table"):
        IdfTable.decode(data)


def test_a_word_that_jieba_does_not_know_has_its_median_idf():
    table = jieba_idf()

    assert table.weight("no such word") == jieba.analyse.default_tfidf.median_idf
    assert table.weight("电影") == jieba.analyse.default_tfidf.idf_freq["电影"]


def test_a_reservoir_draws_the_same_sample_for_the_same_seed():
    reservoirs = [Reservoir(limit=5, seed=seed) for seed in (1, 1, 2)]
    for reservoir in reservoirs:
        reservoir.add(range(5))
        assert reservoir.items == list(range(5))
        reservoir.add(range(5, 1000))

    assert reservoirs[0].items == reservoirs[1].items != reservoirs[2].items


@pytest.mark.parametrize("size", [1, 3, 7, 40, 100])
def test_a_reservoir_draws_the_same_sample_however_many_items_come_at_a_time(size):
    whole, cut = Reservoir(limit=10), Reservoir(limit=10)
    whole.add(range(100))
    for start in range(0, 100, size):
        cut.add(range(100)[start : start + size])

    assert cut.items == whole.items
    assert cut.seen == 100


def test_a_reservoir_draws_the_sample_that_earlier_versions_drew():
    reservoir = Reservoir(limit=5)
    reservoir.add(range(40))
    assert reservoir.items == [0, 1, 8, 30, 10]


def test_a_reservoir_draws_every_item_about_as_often():
    drawn = Counter()
    for seed in range(2000):
        reservoir = Reservoir(limit=3, seed=seed)
        reservoir.add(range(12))
        drawn.update(reservoir.items)

    assert all(400 < drawn[number] < 600 for number in range(12))


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


def test_a_text_with_the_outline_of_a_sampled_one_has_its_own_fingerprint():
    texts = ["一篇文章的开头写得比十六个字还要长，结尾是苹果", "一篇文章的开头写得比十六个字还要长，结尾是香蕉"]
    own, other = answers(taught(texts[:1]), texts)[0]

    assert own != other
    assert [own, other] == answers(untaught(texts[:1]), texts)[0]


def test_an_index_made_with_a_sample_does_not_cut_it_again(tmp_path, cuts):
    # Texts have many words: of few it is not remembered whether they count as a whole.
    texts = [" ".join([text, *(f"word{number}" for number in range(30))]) for text in TEXTS[:4]]
    with create_index(f"file:{tmp_path}/made", learn_from=texts) as made:
        cuts.clear()
        list(made.add_many((str(at), text) for at, text in enumerate(texts)))
        assert cuts == []
        assert made.analysis.profile == made.profile.replace(secret=None)
        rows = [made.get(str(at)).simhash for at in range(4)]

    assert rows == answers(untaught(texts), texts)[0]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_table_is_the_same_however_many_threads_count_its_sample(monkeypatch, workers):
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


SPACED = " ".join("今天早上我们在湖边散步，看见许多白色的水鸟。")


def test_an_index_without_a_sample_takes_the_shipped_table(tmp_path):
    with create_index(f"file:{tmp_path}/index") as index:
        made, simhash = index.profile, index.add("a", SPACED)

    table = general_idf()
    assert (made.analyzer, made.idf_name, made.idf, made.idf_documents) == (
        "learned",
        GENERAL,
        table.digest(),
        table.documents,
    )
    # Readers take it from the index, as any learned one.
    with open_index(f"file:{tmp_path}/index") as index:
        assert index.query(SPACED).matches[0].id == "a"
        assert index.analysis.analyzer.idf == table
        assert index.get("a").simhash == simhash


def test_an_analyzer_that_is_named_learned_needs_no_sample():
    with create_index("memory:", analyzer="learned") as named, create_index("memory:") as index:
        named.profile.check_same(index.profile)


def test_a_table_of_own_documents_has_no_name():
    with create_index("memory:", learn_from=TEXTS[:4]) as index:
        assert index.profile.idf_name is None
        assert b"idf_name" not in index.profile.encode()


def test_the_default_index_of_an_older_version_is_taken_where_no_analyzer_is_named(tmp_path):
    url = f"file:{tmp_path}/index"
    create_index(url, analyzer="jieba").close()

    with create_index(url, if_not_exists=True) as index:
        assert index.profile.analyzer == "jieba"
    for wrong in ({"analyzer": "learned"}, {"top": 3}, {"learn_from": TEXTS}):
        with pytest.raises(ProfileMismatch):
            create_index(url, if_not_exists=True, **wrong)


def test_the_shipped_table_is_what_its_name_says():
    # Indexes name it; other counts need another name.
    assert (GENERAL, general_idf().digest()) == ("general-2", "68828f25cae9f695234ce77f39491b18")


@pytest.mark.slow
def test_the_shipped_table_is_counted_over_the_shared_sets():
    if absent := [name for name in SETS if not documents_file(name).exists()]:
        pytest.skip(f"there is no {documents_file(absent[0])}")

    assert general_table() == general_idf()


def test_in_the_shipped_table_rarer_words_weigh_more():
    weight = general_idf().weight
    assert max(map(weight, ("的", "在", "the", "of", "and"))) < 2
    assert max(map(weight, ("法律", "电脑", "computer"))) < weight("qwxyz") == weight("从未见过的词")
