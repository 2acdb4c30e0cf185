"""Rule copied joins documents that share rare passages; brute force over the whole set says which."""

import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier, local

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from support.cost import count_cells
from support.patience import END_S
from support.places import Swapping
from support.serving import serving

from simhash_hbase import InvalidArgument, InvalidProfile, LocalIndex, Profile, create_index
from simhash_hbase.client import RemoteIndex
from simhash_hbase.index import search
from simhash_hbase.index.claim import protocol
from simhash_hbase.profile.matching import accept, hamming
from simhash_hbase.rows.keys import unpack_simhashes

LENGTH = 20
RARE = 8  # Fingerprints.
OPTIONS = {"analyzer": "shingle", "match": "copied", "share": 0.5, "passages": LENGTH, "bands": 6}


def paragraph(seed, *, count=120):
    chosen = random.Random(seed)
    return "".join(chr(chosen.randrange(0x4E00, 0x9FA5)) for _ in range(count))


def corpus(seed):
    """Make texts of paragraphs of their own, of some that a few have, and of two that most have."""
    chosen = random.Random(seed)
    common = [paragraph(f"common {n}", count=chosen.choice([40, 100, 200])) for n in range(2)]
    pool = [paragraph(n, count=chosen.choice([8, 15, 30, 60, 120])) for n in range(chosen.randint(3, 12))]
    texts = []
    for number in range(chosen.randint(5, 45)):
        parts = [each for each in common if chosen.random() < 0.5]
        parts += chosen.sample(pool, chosen.choice([0, 1, 1, 2, 3]))
        if chosen.random() < 0.7:
            parts.append(paragraph(f"own {seed} {number}", count=chosen.choice([10, 25, 60, 150, 300])))
        chosen.shuffle(parts)
        texts.append("".join(parts) or chosen.choice([*texts, common[0]]))
    return texts


corpora = st.integers(0, 1_000_000).map(corpus)
# A corpus is made of one number, so there is nothing to shrink.
thorough = settings(
    max_examples=10,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


class BruteForce:
    """The rule over whole sets: documents that have rows, and those that are found."""

    def __init__(self, index):
        self._index = index
        self._verified = index.profile.replace(match="verified").rule
        self._holders = defaultdict(set)
        self.found = {}

    def analysed(self, text):
        [entries] = [self._index.analysis.texts(["asked"], [text]).entries]
        return entries

    def add(self, name, entries):
        self.found[name] = entries
        for passage in passages(entries):
            self._holders[passage].add(int(entries.simhashes[0]))

    def matches(self, asked):
        return {name for name, other in self.found.items() if self._joins(asked, other)}

    def best(self, asked):
        """Return the original that a document duplicates: the nearest, the most similar, the first."""
        ranked = []
        for order, (name, other) in enumerate(self.found.items()):
            if self._joins(asked, other):
                distance = hamming(int(asked.simhashes[0]), int(other.simhashes[0]))
                _, similarity = accept(self._verified, distance, asked, other, by_blocks=True)
                ranked.append((distance, -similarity, order, name))
        return min(ranked)[-1] if ranked else None

    def _joins(self, asked, other):
        own, theirs = passages(asked), passages(other)
        simhash, other_simhash = int(asked.simhashes[0]), int(other.simhashes[0])
        if min(len(own), len(theirs)) < 2:
            by_blocks = bool(self._index.profile.blocks.agreeing(simhash, other_simhash))
            return accept(self._verified, hamming(simhash, other_simhash), asked, other, by_blocks=by_blocks)[0]
        holders = self._holders
        rare = {p for p in own | theirs if len(holders[p] | ({simhash} if p in own else set())) <= RARE}
        shared = len(own & theirs & rare)
        enough = shared >= 2 and shared >= 0.5 * min(len(own & rare), len(theirs & rare))
        return enough or asked.digests[0] == other.digests[0]


def passages(entries):
    return set(unpack_simhashes(entries.packed_passages[0]).tolist())


@thorough
@given(corpora)
def test_queries_find_what_the_rule_joins_over_the_whole_set(texts):
    with create_index("memory:", **OPTIONS) as index:
        expected = BruteForce(index)
        for number, text in enumerate(texts[:-3]):
            expected.add(f"d{number}", expected.analysed(text))
        list(index.add_many((f"d{number}", text) for number, text in enumerate(texts[:-3])))
        answers = [answer for _, answer in index.query_many((f"q{n}", text) for n, text in enumerate(texts))]
        for text, answer in zip(texts, answers, strict=True):
            assert {match.id for match in answer.matches} == expected.matches(expected.analysed(text))
            assert not answer.truncated
        assert [index.query(text) for text in texts[-3:]] == answers[-3:]


@thorough
@given(corpora, st.integers(1, 50))
def test_decisions_are_those_of_the_rule_one_after_the_other(texts, size):
    with create_index("memory:", **OPTIONS) as index, create_index("memory:", **OPTIONS) as claimed:
        expected, named = BruteForce(index), {}
        for number, text in enumerate(texts):
            entries = expected.analysed(text)
            named[f"d{number}"] = expected.best(entries)
            if named[f"d{number}"] is None:
                expected.add(f"d{number}", entries)
        decided, deduplicator = {}, index.deduplicator()
        given_documents = [(f"d{number}", text) for number, text in enumerate(texts)]
        for start in range(0, len(texts), size):
            batch = given_documents[start : start + size]
            decided |= {name: d.of for name, d in index.dedup_many(batch, deduplicator=deduplicator)}
        assert decided == named
        assert {name: decision.of for name, decision in claimed.claim_many(given_documents)} == named


HEAD, TAIL = paragraph("head", count=150), paragraph("tail", count=150)


@pytest.fixture
def index(make_claiming_index):
    """Return an index in which twenty documents have the same head and tail."""
    made = make_claiming_index(**OPTIONS)
    list(made.claim_many((f"d{n}", HEAD + paragraph(n, count=400) + TAIL) for n in range(20)))
    return made


def test_an_article_with_another_head_and_tail_is_a_duplicate(index):
    article = paragraph(7, count=400)
    repost = paragraph("x", count=250) + article[:200] + paragraph("notice", count=60) + article[200:] + TAIL

    [(_, decision)] = index.claim_many([("repost", repost)])
    [(_, other)] = index.claim_many([("other", HEAD + paragraph("new", count=40) + TAIL)])
    assert (decision.of, other.of) == ("d7", None)
    assert 0.3 < decision.containment < 0.9
    answer = index.query(repost)
    assert [match.id for match in answer.matches] == ["d7"]
    assert answer.matches[0].containment == decision.containment
    assert (answer.complete, answer.truncated) == (False, False)


def test_the_later_of_two_reposts_in_one_batch_is_a_duplicate(make_claiming_index):
    article, index = paragraph(1, count=300), make_claiming_index(**OPTIONS)
    batch = [("a", article + TAIL), ("b", HEAD + article), ("c", paragraph(2)), ("d", paragraph(3) + paragraph(2))]
    assert [decision.of for _, decision in index.claim_many(batch)] == [None, "a", None, "c"]


def test_a_repost_with_the_fingerprint_of_its_original_is_found(make_claiming_index):
    index = make_claiming_index(**{**OPTIONS, "analyzer": "jieba"})
    chosen = random.Random(5)
    words = ["".join(chosen.choices("bcdfgaeiou", k=7)) for _ in range(100)]
    # The last words are in another order: that changes passages and sketch, and no fingerprint.
    original, copy = " ".join(words), " ".join(words[:60] + chosen.sample(words[60:], 40))
    index.add("original", original)
    assert index.query(copy, rule=index.rule(match="verified")).matches == []

    assert [(match.id, match.distance) for match in index.query(copy).matches] == [("original", 0)]
    assert [decision.of for _, decision in index.dedup_many([("a", copy)])] == ["original"]
    assert index.claim("b", copy).of == "original"


def repost(of, name):
    return paragraph(f"{name} head", count=60) + of + paragraph(f"{name} tail", count=60)


def test_of_reposts_that_are_claimed_at_the_same_moment_one_is_the_original(tmp_path, clock, monkeypatch):
    index = LocalIndex.create(Swapping(tmp_path, clock).create(), Profile.resolve(**OPTIONS))
    article, together, have_waited = paragraph(0, count=600), Barrier(12), local()

    def after_all_have_written(run, claims, *, query=protocol.second_query):
        if not getattr(have_waited, "once", False):
            have_waited.once = True
            together.wait(END_S)
        query(run, claims)

    monkeypatch.setattr(protocol, "second_query", after_all_have_written)
    with ThreadPoolExecutor(12) as threads:
        names = [f"d{n}" for n in range(12)]
        decided = list(threads.map(lambda name: index.claim(name, repost(article, name)), names))

    [original] = [decision.id for decision in decided if decision.is_original]
    assert {decision.of for decision in decided if not decision.is_original} == {original}
    # The rows of those that lost are there still.
    assert index.claim("later", repost(article, "later")).of == original


CLAIMERS = 80  # More than rows of a passage are counted.


@pytest.fixture(params=["folder", pytest.param("service", marks=pytest.mark.server)])
def shared_index(request, tmp_path):
    """Return an index of rule copied in a folder, or behind a service over one."""
    with ExitStack() as stack:
        index = stack.enter_context(create_index(f"file:{tmp_path / 'shared.index'}", **OPTIONS))
        if request.param == "service":
            server = stack.enter_context(serving(index.address, tmp_path))
            index = stack.enter_context(RemoteIndex(server.address, key=server.keys["all"]))
        yield index


@pytest.mark.slow
def test_of_more_reposts_at_once_than_rows_are_counted_one_is_the_original(shared_index):
    article, together = paragraph(0, count=600), Barrier(CLAIMERS)

    def claim(name):
        together.wait(END_S)
        return shared_index.claim(name, repost(article, name))

    with ThreadPoolExecutor(CLAIMERS) as threads:
        decided = list(threads.map(claim, [f"d{n}" for n in range(CLAIMERS)]))
    later = shared_index.claim("later", repost(article, "later"))

    [original] = [decision.id for decision in decided if decision.is_original]
    assert {decision.of for decision in (*decided, later) if not decision.is_original} == {original}


def test_earlier_texts_and_removed_documents_make_no_passage_common(make_claiming_index):
    index = make_claiming_index(**OPTIONS)
    article, other = paragraph(0, count=600), paragraph(1, count=600)
    for number in range(10):
        index.claim("page", paragraph(f"head {number}", count=300) + article)
        index.add(f"d{number}", repost(other, f"d{number}"))
    for number in range(1, 10):
        index.remove(f"d{number}")

    assert index.claim("new", repost(article, "new")).of == "page"
    assert [match.id for match in index.query(repost(other, "asked")).matches] == ["d0"]
    assert [d.of for _, d in index.dedup_many([("again", repost(other, "again"))])] == ["d0"]


def test_rows_of_removed_documents_make_no_passage_common_at_the_limit_either():
    article = paragraph(0, count=600)
    with create_index("memory:", **OPTIONS) as index:
        list(index.add_many((f"d{n}", repost(article, f"d{n}")) for n in range(RARE)))
        list(index.remove_many(f"d{n}" for n in range(1, RARE)))
        assert [match.id for match in index.query(repost(article, "asked")).matches] == ["d0"]


@pytest.mark.slow
def test_of_a_flood_of_one_text_few_documents_are_read_to_decide_a_repost(make_claiming_index, monkeypatch):
    index, article, flood = make_claiming_index(**OPTIONS), paragraph(0, count=600), 1_500
    list(index.add_many((f"d{number}", article) for number in range(flood)))
    counts = count_cells(index.store, monkeypatch)
    decision = index.claim("repost", repost(article, "repost"))
    others = [each.of for _, each in index.dedup_many([("other", repost(article, "other"))])]

    assert decision.of == others[0] is not None
    # Twice the members, and of each first hundred the document cells.
    assert sum(counts) < 2 * (flood + 4 * search.FIRST_MEMBERS)


def test_of_forms_only_copies_are_duplicates_after_examples_of_the_form():
    form = [paragraph(f"form {n}", count=60) for n in range(8)]

    def contract(seed):
        return "".join(part + paragraph(f"{seed} {n}", count=40) for n, part in enumerate(form))

    with create_index("memory:", **OPTIONS) as index:
        list(index.add_many((f"example {n}", contract(f"example {n}")) for n in range(10)))
        batch = [(f"c{n}", contract(n)) for n in range(12)] + [("copy", paragraph("head") + contract(3))]
        decided = {name: decision.of for name, decision in index.dedup_many(batch)}
    assert decided == {**{f"c{n}": None for n in range(12)}, "copy": "c3"}


def test_exact_copies_are_found_however_common_their_passages_are(make_claiming_index):
    index = make_claiming_index(**OPTIONS)
    whole = paragraph(0, count=200)
    list(index.add_many([(f"d{n}", whole[: 150 + n]) for n in range(20)] + [("same", whole[:155])]))
    assert [match.id for match in index.query(whole[:155]).matches] == ["d5", "same"]
    assert index.claim("again", whole[:155]).of == "d5"


def test_texts_without_two_passages_and_fingerprints_are_judged_as_before(make_claiming_index):
    index = make_claiming_index(**OPTIONS)
    short = paragraph(0, count=LENGTH - 2)
    index.add("short", short)
    simhash = index.add("long", paragraph(1))
    assert [match.id for match in index.query(short).matches] == ["short"]
    assert [match.id for match in index.query_simhash(simhash ^ 1).matches] == ["long"]


def test_a_collection_counts_its_own_documents(make_claiming_index):
    index = make_claiming_index(**OPTIONS)
    list(index.add_many((f"d{n}", paragraph(0) + paragraph(n + 1)) for n in range(20)))
    news = index.in_collection("news")
    news.add("a", paragraph(0) + paragraph("a", count=40))
    asked = paragraph(0) + paragraph("b", count=40)
    assert [match.id for match in news.query(asked).matches] == ["a"]
    assert index.query(asked).matches == []


def test_only_a_profile_with_rule_copied_has_a_share():
    made = Profile.resolve(match="copied")
    assert (made.passages, made.passage_gram, made.share, made.bands) == (50, 12, 0.5, 6)
    assert Profile.decode(made.encode()) == made
    assert b"share" not in Profile.resolve(passages=50).encode()
    assert made.replace(match="verified").share is None
    for options in ({"share": 0.5}, {"match": "copied", "sketch": False}, {"match": "copied", "share": 0.0}):
        with pytest.raises(InvalidProfile):
            Profile.resolve(**options)


def test_one_query_may_ask_by_another_rule():
    with create_index("memory:", analyzer="shingle", passages=LENGTH) as index:
        index.add("a", paragraph(1) + paragraph(2))
        asked = paragraph(1) + paragraph(3)
        assert index.query(asked).matches == []
        assert [match.id for match in index.query(asked, rule=index.rule(match="copied")).matches] == ["a"]
    with create_index("memory:", **OPTIONS) as index:
        index.add("a", paragraph(1) + paragraph(2))
        assert index.query(asked, rule=index.rule(match="verified")).matches == []
    with create_index("memory:") as index, pytest.raises(InvalidArgument, match="keeps no passages"):
        index.rule(match="copied")
