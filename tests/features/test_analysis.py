"""Documents become entries, or are refused with their place, and texts become what they became before."""

import pickle
from importlib.metadata import version

import msgspec
import numpy as np
import pytest

from simhash_hbase import create_index
from simhash_hbase.api import open_index
from simhash_hbase.errors import ProfileMismatch
from simhash_hbase.features import analysis as analysis_module
from simhash_hbase.features.analysis import Analysis, probe_digest
from simhash_hbase.features.analyzers import LearnedAnalyzer, ShingleAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.kernel import texts as texts_module
from simhash_hbase.kernel.texts import Batch, kernel_tables
from simhash_hbase.profile import Profile, versions
from simhash_hbase.report.explain import ComparedDocument, compare


@pytest.mark.parametrize(
    ("hash", "documents", "kept", "reason"),
    [
        ("none", [[(7, 1.0)], [("x", 1.0)], [(9, 1e300)], [(8, 2.0)]], [0, 3], "wanted"),
        ("murmur3", [[("apple", 0)], [("x", 3), ("x", -3)], [("x", 1e-6)], [("x", 1), ("y", 0)]], [3], "weights"),
    ],
)
def test_bad_or_weightless_features_refuse_their_document_alone(hash, documents, kept, reason):
    done = Analysis(Profile.resolve(analyzer="weighted", hash=hash)).features("abcd", documents)

    assert done.kept == kept
    assert done.entries.ids == ["abcd"[at] for at in kept]
    assert done.entries.features.tolist() == [1] * len(kept)
    assert sorted([*kept, *done.refused]) == [0, 1, 2, 3]
    assert all(reason in sentence for sentence in done.refused.values())


def test_a_document_without_features_is_refused_at_its_place():
    analysis = Analysis(Profile.resolve(analyzer="shingle"))

    done = analysis.texts(["a", "b", "c"], ["one text", "……", "another"])

    assert (done.entries.ids, done.kept, list(done.refused)) == (["a", "c"], [0, 2], [1])


def test_texts_of_one_shingle_are_judged_by_distance():
    with create_index("memory:", analyzer="shingle") as index:
        for name, text in (("same", "天地玄黄"), ("other", "日月盈昃"), ("long", "天地玄黄宇宙洪荒")):
            index.add(name, text)

        answer = index.query("天地玄黄!")
        assert [(m.id, m.similarity, m.exact) for m in answer.matches] == [("same", None, True)]
        sides = [
            ComparedDocument.of_text(name, text, index.analysis)
            for name, text in (("a", "天地玄黄"), ("b", "天地玄黄宇宙"))
        ]
        assert compare(*sides, index.profile)["similarity"] is None
        assert index.claim("new", "天地玄黄").similarity is None


SAMPLE = ["我们都是中国人", "我们 are here", "они тоже здесь"]


@pytest.fixture(params=["jieba", "learned", "shingle"])
def index(request):
    options = {"learn_from": SAMPLE} if request.param == "learned" else {"analyzer": request.param}
    with create_index("memory:", **options) as made:
        yield made


@pytest.fixture
def url(tmp_path):
    return f"file:{tmp_path / 'a.index'}"


def again(index):
    """Analyse as another process would that opens the index."""
    return pickle.loads(pickle.dumps(Analysis(index.profile, getattr(index.analysis.analyzer, "idf", None))))


@pytest.fixture
def change_jieba(monkeypatch):
    """Return what puts a jieba in place whose best path has as many words as can be."""

    def change():
        arrays = dict(kernel_tables())
        arrays["weights"] = np.full_like(arrays["weights"], 10.0)
        monkeypatch.setattr(texts_module, "kernel_tables", lambda: arrays)
        monkeypatch.setattr(analysis_module, "installed_versions", lambda **_: {"jieba": "9.9"})

    return change


@pytest.mark.parametrize("options", [{"analyzer": "jieba"}, {"learn_from": SAMPLE}])
def test_another_segmentation_is_refused_with_both_versions_for_texts_alone(options, change_jieba, monkeypatch):
    with create_index("memory:", **options) as index:
        index.add("a", "我们都是中国人，我们爱中国")
        change_jieba()
        with pytest.raises(ProfileMismatch, match="make the index anew") as raised:
            again(index).texts(["a"], ["文本"])
        for version_of_jieba in ("9.9", index.profile.versions["jieba"]):
            assert f"jieba {version_of_jieba}" in str(raised.value)
        assert again(index).fingerprints(["b"], [7]).kept == [0]
        assert index.get("a").id == "a"

        monkeypatch.setattr(analysis_module, "installed_versions", lambda **_: index.profile.versions)
        with pytest.raises(ProfileMismatch, match="same versions"):
            again(index).texts(["a"], ["文本"])


def test_other_versions_that_make_the_same_fingerprints_analyse_texts(index, monkeypatch):
    assert len(index.profile.probe) == 32
    monkeypatch.setattr(analysis_module, "installed_versions", lambda **_: {"jieba": "9"})

    assert again(index).texts(["a"], ["一个文本 with words"]).kept == [0]


def test_a_profile_without_a_probe_is_not_probed(change_jieba):
    old = msgspec.structs.asdict(Profile.resolve(analyzer="jieba"))
    for name in ("jieba_idf", "probe", "versions", "extractor"):
        del old[name]
    profile = Profile.decode(msgspec.json.encode(old))
    change_jieba()

    assert Analysis(profile).texts(["a"], ["一个文本 with words"]).kept == [0]
    profile.check_same(profile.replace(probe="0" * 32, jieba_idf="0" * 32, versions={"jieba": "9"}))


def test_an_existing_index_is_taken_by_versions_of_the_same_effect_alone(url, change_jieba, monkeypatch):
    with create_index(url, analyzer="jieba") as index:
        made_with = index.profile.versions["jieba"]
    monkeypatch.setattr(analysis_module, "installed_versions", lambda **_: {"jieba": "9"})
    create_index(url, analyzer="jieba", if_not_exists=True).close()
    change_jieba()

    with pytest.raises(ProfileMismatch) as raised:
        create_index(url, analyzer="jieba", if_not_exists=True)
    assert f"it was made with jieba {made_with}" in str(raised.value)
    assert "here is jieba 9.9" in str(raised.value)
    assert "probe" not in str(raised.value)


def test_creating_an_existing_index_names_the_chosen_options_that_differ(url):
    create_index(url, analyzer="shingle").close()

    with pytest.raises(ProfileMismatch) as raised:
        create_index(url, analyzer="shingle", hash="md5", if_not_exists=True)
    assert str(raised.value) == "the index was made with hash='murmur3'; asked for was hash='md5'"


def test_another_idf_of_jieba_is_refused_when_the_index_is_opened(url, monkeypatch):
    create_index(url, analyzer="jieba").close()
    monkeypatch.setattr("simhash_hbase.api.jieba_idf_digest", lambda: "0" * 32)

    with pytest.raises(ProfileMismatch, match="jieba_idf"):
        open_index(url)


def test_features_of_the_callers_own_are_not_probed():
    with create_index("memory:", analyzer="weighted") as index:
        assert (index.profile.probe, index.profile.versions) == (None, None)


def digest(analyzer=None, **options):
    return probe_digest(Fingerprinter(analyzer or ShingleAnalyzer(), **options))


def test_a_probe_differs_where_anything_that_counts_differs(monkeypatch):
    tables = [IdfTable(documents=9, frequencies={"我": count}) for count in (2, 3)]
    digests = [digest(), digest(ShingleAnalyzer(size=5)), digest(ShingleAnalyzer(binary=True)), digest(seed=1)]
    digests += [digest(hash="md5"), *(digest(LearnedAnalyzer(idf=table)) for table in tables)]
    plain = Batch.sketch
    with monkeypatch.context() as patch:
        patch.setattr(Batch, "sketch", lambda self: plain(self)._replace(sketches=plain(self).sketches ^ 1))
        digests.append(digest())
    monkeypatch.setattr(analysis_module, "_TEXTS", analysis_module._TEXTS[:-1])
    digests.append(digest())

    assert len(set(digests)) == len(digests)


def test_an_analysis_is_probed_once(monkeypatch):
    probed = []
    plain = analysis_module.probe_digest
    monkeypatch.setattr(analysis_module, "probe_digest", lambda *given: probed.append(1) or plain(*given))
    with create_index("memory:", analyzer="shingle") as index:
        made = again(index)
        for analysis in (index.analysis, index.analysis, made, made):
            analysis.texts(["a"], ["some text about nothing at all"])

    assert len(probed) == 2


def test_versions_are_those_of_what_is_installed(monkeypatch):
    monkeypatch.setattr(versions, "_EXTRACTORS", ("lxml", "nothing-of-this-name"))

    assert versions.extractor_versions() == {"lxml": version("lxml")}
    assert versions.installed_versions(jieba=True)["jieba"] == version("jieba")
