"""Decisions of ``dedup`` equal those of a comparison of every document with every original kept before it."""

import itertools
import random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support.bruteforce import ALL_BITS, clustered, entries, flip, similarity, sketch_near
from support.places import Clock, IndexMaker, Memory

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.stores.memory import MemoryStore

BASE = 0x9E3779B97F4A7C15
CHECKED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


# The rank of a similarity that is not known: before every known one.
UNKNOWN = 2


class PlainDedup:
    """The rule of `dedup`, by comparison of everything with everything.

    Parameters
    ----------
    likeness : callable
        Of two (fingerprint, sketch) pairs: the similarity, or `UNKNOWN`, or None where the rule does not accept.
    """

    def __init__(self, likeness):
        self._likeness = likeness
        self.documents, self.decisions, self.originals = {}, {}, []

    def add(self, name, document):
        self.documents[name], self.decisions[name] = document, (name, True, None, None, None)
        self.originals.append(name)

    def decide(self, name, document):
        if self.documents.get(name) == document:
            return self.decisions[name]
        if name in self.originals:
            self.originals.remove(name)
        ranked = sorted(self._near(document))
        if ranked:
            distance, opposite, _, original = ranked[0]
            likeness = None if -opposite == UNKNOWN else round(-opposite, 4)
            self.documents[name], self.decisions[name] = document, (name, False, original, distance, likeness)
        else:
            self.add(name, document)
        return self.decisions[name]

    def _near(self, document):
        for order, name in enumerate(self.originals):
            other = self.documents[name]
            likeness = self._likeness(document, other)
            if likeness is not None:
                yield (document[0] ^ other[0]).bit_count(), -likeness, order, name


def within(k):
    return lambda a, b: UNKNOWN if (a[0] ^ b[0]).bit_count() <= k else None


def verified(a, b):
    distance, likeness = (a[0] ^ b[0]).bit_count(), similarity(a[1], b[1])
    candidate = distance <= 7 and Scheme.parse("5x2").agreeing(a[0], b[0])
    return likeness if candidate and likeness >= 0.77 else None


def shown(decision):
    return (decision.id, decision.is_original, decision.of, decision.distance, decision.similarity)


def as_entries(documents):
    return entries([(name, document[0]) for name, document in documents], sketches=[d[1] for _, d in documents])


def run(index, documents, cuts=(), *, deduplicator=None):
    """Decide documents, cut into batches at some places."""
    decider = deduplicator or index.deduplicator()
    parts = itertools.pairwise([0, *sorted(set(cuts)), len(documents)])
    batches = (index.dedup_entries(as_entries(documents[start:stop]), decider) for start, stop in parts)
    return [shown(decision) for decisions in batches for decision in decisions]


def make_index(clock=None, **options):
    clock = clock or Clock()
    return IndexMaker(Memory(None, clock), clock)(**options)


def plain_corpus(count, seed):
    return [(f"document {i}", (s, None)) for i, s in enumerate(clustered(count, seed=seed, spread=4))]


def sketched_corpus(count, seed):
    chosen = random.Random(seed)
    middles = [chosen.getrandbits(512) for _ in range(3)]
    return [
        (f"document {i}", (s, sketch_near(chosen.choice(middles), chosen.randint(0, 60), seed=i)))
        for i, s in enumerate(clustered(count, seed=seed, centres=5, spread=4))
    ]


@pytest.mark.parametrize(("scheme", "k"), [("5x2", 3), ("4x1", 3), ("7x3", 4), ("6x1", 5), (None, None)])
def test_decisions_equal_those_of_the_plain_way_however_the_input_is_cut(scheme, k):
    options = {"scheme": scheme, "distance": k} if k else {"match": "verified"}
    documents = plain_corpus(400, seed=k) if k else sketched_corpus(300, seed=4)
    plain = PlainDedup(within(k) if k else verified)
    expected = [plain.decide(*document) for document in documents]

    for cuts in (range(90, len(documents), 90), range(40), random.Random(k).sample(range(len(documents)), 25)):
        assert run(make_index(**options), documents, cuts) == expected
    assert 20 < sum(is_original for _, is_original, *_ in expected) < 380
    assert k or {distance for *_, distance, _ in expected} >= {0, 2, 4, 5, 6, None}


@pytest.mark.slow
@CHECKED
@given(seed=st.integers(0, 10_000), cuts=st.lists(st.integers(1, 59), max_size=8))
def test_known_and_moved_ids_are_decided_in_their_turn(seed, cuts):
    chosen, held = random.Random(seed), plain_corpus(40, seed)
    index, plain = make_index(), PlainDedup(within(3))
    index.add_entries(as_entries(held[:20]))
    for name, document in held[:20]:
        plain.add(name, document)
    assert run(index, held[20:]) == [plain.decide(*document) for document in held[20:]]
    known, names = dict(held), [f"document {i}" for i in range(40)] + [f"new {i}" for i in range(20)]
    chosen.shuffle(names)
    documents = [
        (name, known[name] if name in known and chosen.random() < 0.4 else (text, None))
        for name, text in zip(names, clustered(60, seed=seed, spread=4), strict=True)
    ]

    decisions = run(index, documents, cuts)

    exported = list(index.export())
    assert decisions == [plain.decide(*document) for document in documents]
    assert index.verify().wrong == 0
    assert {stored.id for stored in exported if stored.state != "duplicate"} == set(plain.originals)
    assert run(index, documents, cuts[:1]) == decisions
    assert list(index.export()) == exported


@pytest.mark.slow
@CHECKED
@given(seed=st.integers(0, 10_000), cuts=st.lists(st.integers(1, 39), max_size=6))
def test_a_dry_run_with_moved_ids_decides_as_the_real_one(seed, cuts):
    index = make_index()
    run(index, plain_corpus(30, seed))
    documents = [(f"document {i}", (s, None)) for i, s in enumerate(clustered(40, seed=seed, spread=4)[::-1])]
    before = list(index.export()), index.verify()

    dry = run(index, documents, cuts, deduplicator=index.deduplicator(scratch=MemoryStore()))

    assert (list(index.export()), index.verify()) == before
    assert run(index, documents, cuts) == dry


def test_a_batch_with_an_id_twice_writes_nothing():
    index = make_index()
    with pytest.raises(InvalidArgument, match="twice"):
        run(index, [("a", (BASE, None)), ("b", (1, None)), ("a", (BASE, None))])

    assert list(index.export()) == []


@pytest.mark.parametrize("change", ["removed", "another text"])
def test_an_original_that_is_gone_is_told_with_its_duplicate(change):
    index = make_index()
    documents = [("a", (BASE, None)), ("b", (BASE, None))]
    run(index, documents)
    if change == "removed":
        list(index.remove_many(["a"]))
    else:
        index.add_entries(entries({"a": ~BASE & ALL_BITS}))

    [again] = index.dedup_entries(as_entries(documents[1:]), index.deduplicator())

    assert (shown(again), again.of_removed) == (("b", False, "a", 0, None), True)
    assert run(index, [("c", (BASE, None))]) == [("c", True, None, None, None)]


def test_short_documents_are_told():
    index, documents = make_index(), entries({"a": 1, "b": ALL_BITS, "c": 2}, features=[29, 30, 5])
    decisions = index.dedup_entries(documents, index.deduplicator())
    assert [decision.short for decision in decisions] == [True, False, True]


def test_whether_an_original_is_gone_does_not_depend_on_the_cut():
    gone = []
    for parts in ([range(2)], [[0], [1]]):
        index = make_index()
        run(index, [("a", (BASE, None)), ("b", (BASE, None))])
        list(index.remove_many(["a"]))
        decider, documents = index.deduplicator(), as_entries([("b", (BASE, None)), ("a", (BASE, None))])
        decisions = [each for part in parts for each in index.dedup_entries(documents.take(part), decider)]
        gone.append([decision.of_removed for decision in decisions])

    assert gone[0] == gone[1]


def test_a_crowded_prefix_does_not_change_decisions():
    chosen = random.Random(1)
    # All share the first block of 4x1; the last one shares nothing else with its original.
    crowd = [(f"document {i}", (chosen.getrandbits(48), None)) for i in range(10)]
    documents = [*crowd, ("copy", (flip(crowd[-1][1][0], [0, 16, 32]), None))]

    whole, cut = (run(make_index(scheme="4x1", max_rows_per_prefix=3), documents, cuts) for cuts in ((), range(11)))

    assert whole == cut
