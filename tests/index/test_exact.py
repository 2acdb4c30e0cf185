"""A second look at the texts: similarities equal brute force, and no pair below the threshold is a duplicate."""

import random
from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st
from support.sketching import containment, jaccard

from simhash_hbase import InvalidArgument, Profile, create_index
from simhash_hbase.index.exact import Shingles, TextJudge
from simhash_hbase.profile.matching import hamming, rounded

WORDS = ["灯塔", "港口", "机器", "学习", "索引", "指纹", "文档", "重复", "法律", "条例", "新闻", "编辑", "snow", "rain"]
NEAR = 3


def grams_of(normal):
    return {normal[at : at + 5] for at in range(max(1, len(normal) - 4))}


def check_counts(one, other):
    shingles, shared = Shingles(one), grams_of(one) & grams_of(other)
    assert (len(shingles), shingles.count_in(other)) == (len(grams_of(one)), len(shared))


FEW = st.text("ab丙丁\0\ud800", max_size=40)


@pytest.mark.slow
@given(FEW | st.text(max_size=40), FEW | st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_shingles_are_counted_as_sets_of_strings_count_them(one, other):
    check_counts(one, other)
    check_counts(one, one + other)


@pytest.mark.slow
@pytest.mark.parametrize("different", [7_129, 7_130, 7_131, 9_000])
def test_shingles_of_a_text_of_very_many_characters_are_counted_too(different):
    """Up to 7,130 different characters five digits fit into 64 bits."""
    chance = random.Random(different)
    alphabet = [chr(0x4E00 + at) for at in range(different)]
    text = "".join([*alphabet, *chance.choices(alphabet, k=5_000), *alphabet[-9:]])
    for other in (text, text[:3_000] + "unseen characters" + text[2_000:], text[::-1], "short", text[-4:], ""):
        check_counts(text, other)
        check_counts(other, text)


def corpus(seed=3, families=25):
    """Make families of documents that were edited, and shortened or continued, around the threshold."""
    chance = random.Random(seed)
    texts = {}
    for family in range(families):
        words = chance.choices(WORDS, k=90) + [f"题{family}"] * 3
        for version in range(6):
            texts[f"{family}/{version}"] = "，".join(words[: chance.randint(70, len(words))])
            for _ in range(chance.randint(0, 5)):
                words[chance.randrange(len(words))] = chance.choice(WORDS)
    texts |= {"short": "灯塔", "short too": "灯 塔。", "other": "港口"}
    return dict(chance.sample(sorted(texts.items()), len(texts)))


@pytest.fixture(scope="module")
def texts():
    return corpus()


@pytest.fixture
def index():
    with create_index("memory:", analyzer="shingle", similarity=0.8) as made:
        yield made


def decide(index, texts, *, size=1000, contained=None, judged=True):
    items, decisions = list(texts.items()), []
    with TextJudge(index.profile, contained=contained) as judge:
        deduplicator = index.deduplicator(judge=judge if judged else None)
        for start in range(0, len(items), size):
            ids, some = map(list, zip(*items[start : start + size], strict=True))
            entries = index.analysis.texts(ids, some).entries
            decisions += index.dedup_entries(entries, deduplicator, texts=some)
    return {decision.id: decision for decision in decisions}


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_similarities_are_those_of_the_texts_whatever_the_batches(index, texts, size):
    decisions = decide(index, texts, size=size)

    duplicates = [decision for decision in decisions.values() if not decision.is_original]
    assert len(duplicates) > 40
    for decision in duplicates:
        assert decision.similarity == rounded(jaccard(texts[decision.id], texts[decision.of]))
        assert decision.containment == rounded(containment(texts[decision.id], texts[decision.of]))
        assert decision.similarity >= 0.8
    with create_index("memory:", analyzer="shingle", similarity=0.8) as other:
        assert decisions == decide(other, texts, size=3)


def test_the_margin_of_exact_judging_loses_no_pair(index, texts):
    decisions = decide(index, texts)
    with create_index("memory:", analyzer="shingle", similarity=0.8) as other:
        estimated = decide(other, texts, judged=False)
    originals = {name: index.get(name).simhash for name, decision in decisions.items() if decision.is_original}
    near = [pair for pair in combinations(originals, 2) if hamming(*map(originals.get, pair)) <= NEAR]
    assert [d for d in estimated.values() if d.of and jaccard(texts[d.id], texts[d.of]) < 0.8]
    assert not [(a, b) for a, b in near if jaccard(texts[a], texts[b]) >= 0.8]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 1000])
def test_a_near_copy_stays_when_too_little_of_it_is_in_the_kept_text(index, texts, size):
    decisions = decide(index, texts, size=size, contained=0.93)

    for decision in decisions.values():
        if decision.of is not None:
            assert containment(texts[decision.id], texts[decision.of]) >= 0.93
    near = {name: decision.near for name, decision in decisions.items() if decision.near is not None}
    assert len(near) > 5
    for name, copy in near.items():
        assert decisions[name].is_original
        assert copy.similarity == rounded(jaccard(texts[name], texts[copy.id]))
        assert copy.containment == rounded(containment(texts[name], texts[copy.id]))
        assert copy.similarity >= 0.8
        assert copy.containment < 0.93


@pytest.mark.parametrize("size", [1, 1000])
def test_an_original_without_a_text_has_to_hold_enough_by_the_estimate(index, texts, size):
    names = list(texts)
    held, given = names[::2], [name for name in names[1::2] if len(texts[name]) > 9]
    list(index.add_many((name, texts[name]) for name in held))
    near = {name: {match.id: match for match in index.query(texts[name]).matches} for name in given}

    decisions = decide(index, {name: texts[name] for name in given}, size=size, contained=0.95).values()

    by_held = [decision for decision in decisions if decision.of in held]
    assert len(by_held) > 5
    for decision in by_held:
        assert decision.containment == near[decision.id][decision.of].containment >= 0.95
        assert decision.containment == pytest.approx(containment(texts[decision.id], texts[decision.of]), abs=0.15)
    kept = [decision for decision in decisions if decision.near and decision.near.id in held]
    assert len(kept) > 5
    for decision in kept:
        assert decision.is_original
        match = near[decision.id][decision.near.id]
        assert (decision.near.similarity, decision.near.containment) == (match.similarity, match.containment)
        assert all(match.containment < 0.95 for match in near[decision.id].values())


def test_a_decided_original_of_the_same_batch_is_judged_by_its_text(index, texts):
    list(index.dedup_many(list(texts.items())[::2]))
    decisions = decide(index, texts)
    fresh = [decisions[name] for name in list(texts)[1::2] if decisions[name].of is not None]
    assert fresh
    for decision in fresh:
        assert decision.similarity == rounded(jaccard(texts[decision.id], texts[decision.of]))


def test_texts_are_judged_under_a_rule_of_similarity_each_by_its_own(index):
    with pytest.raises(InvalidArgument, match="this index has rule distance"):
        TextJudge(Profile.resolve(analyzer="shingle", match="distance"))
    with pytest.raises(InvalidArgument, match="wanted a share"):
        TextJudge(index.profile, contained=1.5)
    with TextJudge(index.profile) as judge, pytest.raises(InvalidArgument, match="give one for each document"):
        list(index.dedup_many([("a", "a text of some words")], deduplicator=index.deduplicator(judge=judge)))
