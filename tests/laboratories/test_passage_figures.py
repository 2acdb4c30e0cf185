"""The figures of passages, of Chinese copies, and of scripts without blanks that the evaluation prints."""

import random
from dataclasses import replace

import pytest
from demo import chinese
from hypothesis import given, strategies as st
from support.chinese_copies import answers, first_release, kinds
from support.shared_runs import cut_site, decontaminated, hide, judge, longest_run, made_site, shared_runs
from support.unspaced import measure, parts, read_articles

from simhash_hbase import create_index
from simhash_hbase.kernel.texts import normalize


def text(seed, *, count=300, letters=5_000):
    chosen = random.Random(seed)
    return "".join(chr(0x4E00 + chosen.randrange(letters)) for _ in range(count))


class Altered:
    """An index that answers otherwise."""

    def __init__(self, index, change):
        self.index, self.change = index, change

    def __getattr__(self, name):
        return getattr(self.index, name)

    def passages(self, asked, **search):
        answer = self.index.passages(asked, **search)
        return replace(answer, passages=self.change(answer.passages))


@given(st.lists(st.text("ab", max_size=20), min_size=1, max_size=5), st.integers(1, 9))
def test_shared_runs_are_those_that_a_search_finds_in_other_texts(texts, length):
    for number, (one, shared) in enumerate(zip(texts, shared_runs(texts, length), strict=True)):
        others = texts[:number] + texts[number + 1 :]
        runs = (one[at : at + length] for at in range(len(one) - length + 1))
        assert shared.tolist() == [any(run in other for other in others) for run in runs]


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (list, set()),
        (lambda passages: passages[1:], {"missed"}),
        (lambda passages: [replace(each, start=0) for each in passages[:1]] + passages[1:], {"false", "bridged"}),
        (lambda passages: [replace(each, first="3") for each in passages], {"wrong_names"}),
    ],
    ids=["as it is", "one left out", "one too long", "another document"],
)
def test_wrong_passages_are_counted(change, wrong):
    common = text(9, count=80)
    texts = [text(1) + common + text(2), text(3) + common, common + text(4), text(5)]
    with create_index("memory:", analyzer="shingle", passages=50) as index:
        verdict = judge(Altered(index, change), texts)

    counts = {
        "missed": verdict.missed,
        "false": verdict.false,
        "wrong_names": verdict.wrong_names,
        "bridged": verdict.bridged,
    }
    assert {name for name, count in counts.items() if count} == wrong
    assert (verdict.documents, verdict.runs, verdict.truncated) == (4, 3 * 31, 0)
    assert verdict.characters == sum(map(len, texts))


def test_only_the_template_of_a_site_is_cut():
    texts = [
        "\n".join(text(100 * page + line, count=60) for line in range(12)) + "\n本文来自网络" for page in range(20)
    ]
    site = made_site(texts, 20)
    with create_index("memory:", analyzer="shingle", passages=20) as index:
        for _ in index.add_many((str(at), page) for at, page in enumerate(site.pages())):
            pass
        cut = cut_site(index, site, 3, 4)

    assert not any("本文来自网络" in page for page in site.pages())
    assert cut.pages == 20
    assert cut.boilerplate_cut > 0.8
    assert cut.article_cut < 0.1


def test_items_are_counted_by_what_became_of_them():
    sources, texts = ([text(seed, count=1_000) for seed in seeds] for seeds in (range(9), range(100, 140)))
    hidden = hide(sources, texts, 10, random.Random(1))
    with create_index("memory:", analyzer="shingle", passages=20) as index:
        counts = decontaminated(index, hidden)

    assert len(hidden.places) == 30
    assert counts[0.5]["whole"] == counts[0.2]["edited"] == 10
    assert counts[0.8]["phrase"] == 0
    assert counts[0.8]["others"] == 0


def test_the_longest_run_of_an_item_is_measured():
    assert longest_run("abcdef", "xxcdexabx") == 3
    assert longest_run("abc", "") == 0


def test_copies_are_exact_where_characters_have_only_another_form():
    texts = [each.text + "〇2" for each in chinese()[:8]]
    copied = {kind: [copy(each) for each in texts] for kind, copy in kinds(texts).items()}
    exact = {kind for kind, copies in copied.items() if list(map(normalize, copies)) == list(map(normalize, texts))}

    assert all(texts != copies for copies in copied.values())
    assert len(exact) == 7
    assert not any("OCR" in kind or "〇" in kind for kind in exact)


def test_an_index_of_the_first_release_misses_copies_with_blanks():
    texts = [each.text * 3 for each in chinese()[:8]]
    copies = [(at, " ".join(each)) for at, each in enumerate(texts)]
    with create_index("memory:") as now:
        for _ in now.add_many((str(at), each) for at, each in enumerate(texts)):
            pass
        assert dict(answers(now, copies)) == {at: {at: True} for at in range(8)}
    assert [found for _, found in answers(first_release(texts, None), copies)] == [{}] * 8
    assert dict(answers(first_release(texts, texts), list(enumerate(texts)))) == {at: {at: True} for at in range(8)}


def test_articles_of_a_declaration_are_texts_whose_words_are_pairs_or_runs_of_three():
    thai = random.Random(2)
    bodies = ["".join(chr(0x0E01 + thai.randrange(30)) for _ in range(900)) for _ in range(9)]
    page = "<html><h1>ปฏิญญา</h1>" + "".join(
        f"<article><h2>{at}</h2><p>{each}</p></article>" for at, each in enumerate(bodies)
    )
    articles = read_articles(page)
    pairs, threes = (measure(articles, form) for form in (2, 3))

    assert articles == [f"{at} {each}" for at, each in enumerate(bodies)]
    assert len(parts(articles)) == 3
    assert pairs.texts == threes.texts == 9
    assert pairs.found == threes.found == 1.0
    assert pairs.mean < threes.mean
