"""From documents to entries: what is refused, and where it was."""

import pytest

from simhash_hbase import create_index
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.profile import Profile
from simhash_hbase.report.explain import Side, compare


@pytest.mark.parametrize(
    ("hash", "documents", "kept", "reason"),
    [
        ("none", [[(7, 1.0)], [("x", 1.0)], [(9, 1e300)], [(8, 2.0)]], [0, 3], "wanted"),
        ("murmur3", [[("apple", 0)], [("x", 3), ("x", -3)], [("x", 1e-6)], [("x", 1), ("y", 0)]], [3], "weights"),
    ],
)
def test_features_that_are_bad_or_weigh_nothing_refuse_their_document_and_no_other(hash, documents, kept, reason):
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


def test_texts_of_one_shingle_have_no_similarity_and_are_judged_by_distance():
    with create_index("memory:", analyzer="shingle") as index:
        for name, text in (("same", "天地玄黄"), ("other", "日月盈昃"), ("long", "天地玄黄宇宙洪荒")):
            index.add(name, text)

        answer = index.query("天地玄黄!")
        assert [(m.id, m.similarity, m.exact) for m in answer.matches] == [("same", None, True)]
        sides = [Side.of_text(name, text, index.analysis) for name, text in (("a", "天地玄黄"), ("b", "天地玄黄宇宙"))]
        assert compare(*sides, index.profile)["similarity"] is None
        assert index.claim("new", "天地玄黄").similarity is None
