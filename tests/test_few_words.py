"""rjieba with the words of a few texts against rjieba with all of them."""

import pickle
import subprocess
import sys

import pytest
import rjieba
from corpora import sample
from hypothesis import given, settings
from hypothesis import strategies as st
from test_segment import PIECES, SPACES

from simhash_hbase import create_index
from simhash_hbase.errors import ProfileMismatch
from simhash_hbase.features import analysis as analysis_module
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.words import fast, few
from simhash_hbase.words.few import FewWords

mixtures = st.lists(st.sampled_from(PIECES + SPACES), max_size=12).map("".join)
GROWN = FewWords()


@given(mixtures | st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5), max_size=30), st.booleans())
@settings(max_examples=1000, derandomize=True)
def test_few_words_cut_as_all_do(text, hmm):
    expected = rjieba.cut(text, hmm)

    assert FewWords().cut(text, hmm) == expected
    assert GROWN.cut(text, hmm) == expected


@pytest.mark.parametrize("name", ["lctt_zh_edit", "laws_tw_versions", "laws_tw_en_versions", "graph_zh_v1_beta"])
def test_few_words_cut_real_documents_as_all_do(name):
    assert not [text[:40] for text in sample(name, 25) if FewWords().cut(text) != rjieba.cut(text)]


@pytest.fixture
def fresh(monkeypatch):
    """Return a segmenter that has cut nothing yet."""
    made = fast.FastSegmenter()
    for module in ("simhash_hbase.words.fast", "simhash_hbase.words.segment"):
        monkeypatch.setattr(f"{module}.fast_segmenter", lambda: made)
    return made


def test_many_characters_are_cut_with_the_whole_dictionary(fresh, monkeypatch):
    monkeypatch.setattr(fresh._few, "left", 10)
    assert fresh.cut("我们都是中国人") == ["我们", "都", "是", "中国", "人"]
    assert not fresh.prepare(3)

    assert fresh.cut("我们都是中国人") == ["我们", "都", "是", "中国", "人"]
    assert fresh.prepare(0)
    assert fresh._cut_by_rjieba == fast._rjieba_cut()


def test_rjieba_has_all_its_own_words_where_few_would_be_others(monkeypatch):
    monkeypatch.setattr(fast, "dictionary_digest", lambda: "of another file")

    made = fast.FastSegmenter()

    assert made.prepare(0)
    assert made.cut("手扶拖拉机 and more") == fast.fast_segmenter().cut("手扶拖拉机 and more")


def test_a_process_that_cuts_few_texts_builds_no_dictionary_of_rjieba():
    program = "import sys; from simhash_hbase.words import fast; fast.fast_segmenter().cut('手扶拖拉机 and more'); "
    program += "print([name for name in sys.modules if 'jieba' in name], fast._rjieba_cut.cache_info().currsize)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[] 0\n"


def test_a_library_of_another_shape_is_imported_whole(monkeypatch):
    monkeypatch.setattr(few, "EXTENSION_SUFFIXES", [".none"])

    assert few.jieba_class.__wrapped__() is rjieba.Jieba


def test_the_whole_dictionary_is_probed_when_it_is_loaded(fresh, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with create_index("memory:", analyzer="jieba") as index:
        profile = index.profile
    probed = []
    plain = analysis_module.probe_digest
    monkeypatch.setattr(analysis_module, "probe_digest", lambda given: probed.append(fresh.prepare(0)) or plain(given))
    monkeypatch.setattr(fresh._few, "left", few.FEW)
    made = Analysis(profile)

    made.texts(["a"], ["我们都是中国人"])
    made.texts(["b"], ["我们都是中国人"])
    assert probed == [False]
    made.texts(["c"], ["我们都是中国人" * 10_000])
    made.texts(["d"], ["我们都是中国人"])
    assert probed == [False, True]

    again = Analysis(profile)
    again.texts(["a"], ["我们都是中国人"])
    assert probed == [False, True]


def test_an_analysis_that_was_sent_away_is_probed_there(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with create_index("memory:", analyzer="jieba") as index:
        sent = pickle.loads(pickle.dumps(index.analysis))
    monkeypatch.setattr(analysis_module, "probe_digest", lambda _given: "other")

    with pytest.raises(ProfileMismatch):
        sent.texts(["a"], ["我们都是中国人"])


def test_a_whole_dictionary_of_other_words_is_refused(fresh, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with create_index("memory:", analyzer="jieba") as index:
        profile = index.profile
    monkeypatch.setattr(fresh._few, "left", few.FEW)
    monkeypatch.setattr(fast, "_rjieba_cut", lambda: lambda text, hmm=True: list(text))
    made = Analysis(profile)

    assert made.texts(["a"], ["我们都是中国人"]).kept == [0]
    with pytest.raises(ProfileMismatch):
        made.texts(["b"], ["我们都是中国人" * 10_000])
