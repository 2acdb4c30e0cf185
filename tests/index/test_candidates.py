"""Candidates share a table with a query and are near: no other, none twice; whoever finds a document is found by it."""

from collections import defaultdict
from itertools import permutations, product
from operator import eq

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support.bruteforce import clustered, crowd, matches, written_entries
from support.cost import NotingStore

from simhash_hbase.index import candidates
from simhash_hbase.index.candidates import (
    NO_PAIRS,
    CandidateLimits,
    CandidatePairs,
    Queries,
    find_candidates,
    find_crowded,
)
from simhash_hbase.index.dedup import UndecidedBatch
from simhash_hbase.index.search import find_nearest
from simhash_hbase.profile.matching import MatchRule
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import NO_PREFIX, band_prefixes, band_rows, block_rows
from simhash_hbase.stores.memory import MemoryStore
from simhash_hbase.testing.rows import uint64s

NEVER = 1 << 30
schemes = st.sampled_from(["5x2", "4x1", "7x3", "6x1"])


def whole(candidates):
    return CandidatePairs(*(np.concatenate(column) for column in zip(NO_PAIRS, *candidates.parts(), strict=True)))


def found_by(store, scheme, values, *, reach, limit=NEVER):
    simhashes = uint64s(*values)
    reached = CandidateLimits(len(scheme.tables), reach, None)
    return find_candidates(store, simhashes, scheme.prefixes(simhashes), reach=reached, limit=limit)


def crowded_by(scheme, values, *, reach):
    return find_crowded(uint64s(*values), scheme.prefixes(uint64s(*values)), reach=(reach,))


def stored(scheme, values):
    store = MemoryStore()
    store.put_rows(block_rows(scheme, uint64s(*values)), timestamp=1)
    return store


def plain(scheme, queries, values, reach):
    return [
        (at, other)
        for at, query in enumerate(queries)
        for other in sorted(set(values))
        if (query ^ other).bit_count() <= reach and scheme.agreeing(query, other)
    ]


def pairs(candidates):
    found = whole(candidates)
    return list(zip(found.queries.tolist(), found.simhashes.tolist(), strict=True))


@pytest.mark.slow
@given(seed=st.integers(0, 100), scheme=schemes, reach=st.integers(0, 9), queries=st.integers(0, 12))
def test_candidates_equal_those_of_comparing_everything(seed, scheme, reach, queries):
    parsed, values = Scheme.parse(scheme), clustered(40, seed=seed)
    asked = clustered(queries + 2, seed=seed)[2:]
    found = found_by(stored(parsed, values), parsed, asked, reach=reach)
    assert pairs(found) == plain(parsed, asked, values, reach)
    wanted = [(asked[at] ^ other).bit_count() for at, other in pairs(found)]
    assert whole(found).distances.tolist() == wanted
    assert not found.truncated.any()


@pytest.mark.slow
@given(seed=st.integers(0, 100), scheme=schemes, reach=st.integers(0, 9), count=st.sampled_from([0, 1, 2, 40]))
def test_what_is_crowded_equals_comparing_everything(seed, scheme, reach, count):
    parsed, values = Scheme.parse(scheme), list(dict.fromkeys(clustered(count, seed=seed)))
    found = crowded_by(parsed, values, reach=reach)
    others = {at for at, other in plain(parsed, values, values, reach) if other != values[at]}
    assert np.flatnonzero(found).tolist() == sorted(others)


@pytest.mark.slow
@given(seed=st.integers(0, 1_000), limits=st.lists(st.integers(0, 30), min_size=1, max_size=7).map(sorted).map(tuple))
def test_what_is_crowded_by_sketch_rows_shares_as_many_as_its_distance_needs(seed, limits):
    documents = [one for one in crowd(30, seed=seed).values() if one.sketch is not None]
    simhashes = uint64s(*(one.simhash for one in documents))
    prefixes = band_prefixes(Scheme.parse("5x2"), np.array([one.segments for one in documents], np.uint32),
                             np.ones(len(documents), np.bool_))  # fmt: skip

    found = find_crowded(simhashes, prefixes, reach=limits)

    rule = MatchRule(similarity=0, band_distance=limits, radius=0, distance=0)
    near = [
        any(other is not one and matches(one, other, rule) and any(map(eq, one.segments, other.segments))
            for other in documents)
        for one in documents
    ]  # fmt: skip
    assert found.tolist() == near


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_joins_that_are_cut_into_pieces_find_the_same(monkeypatch, at_once):
    scheme, values = Scheme.parse("4x1"), list(dict.fromkeys(clustered(60, seed=3)))
    crowded = crowded_by(scheme, values, reach=7).tolist()
    store = stored(scheme, values)
    found = pairs(found_by(store, scheme, values, reach=7))

    monkeypatch.setattr(candidates, "PAIRS_AT_ONCE", at_once)

    assert crowded_by(scheme, values, reach=7).tolist() == crowded
    cut = found_by(store, scheme, values, reach=7)
    assert pairs(cut) == found
    assert len(list(cut.parts())) > 1
    rows = [len(part.queries) for part in cut.parts()]
    # A query that makes more pairs than that is alone.
    assert all(rows <= at_once or len(set(part.queries)) == 1 for rows, part in zip(rows, cut.parts(), strict=True))


@pytest.mark.slow
@given(
    seed=st.integers(0, 1_000),
    queries=st.integers(1, 6),
    blocks=st.integers(0, 9),
    bands=st.none() | st.lists(st.integers(0, 30), min_size=1, max_size=7).map(sorted).map(tuple),
)
def test_sketch_rows_bring_what_shares_a_segment_within_their_own_reach(seed, queries, blocks, bands):
    scheme, documents = Scheme.parse("5x2"), list(crowd(30, seed=seed).values())
    simhashes = uint64s(*(one.simhash for one in documents))
    segments = np.array([one.segments for one in documents], np.uint32)
    sketched = np.array([one.sketch is not None for one in documents])
    store = stored(scheme, simhashes.tolist())
    sketch_prefixes = band_prefixes(scheme, segments, sketched)
    store.put_rows(band_rows(sketch_prefixes, simhashes), timestamp=1)
    prefixes = np.hstack([scheme.prefixes(simhashes), sketch_prefixes])[:queries]
    asked = prefixes if bands is not None else prefixes[:, : len(scheme.tables)]

    reach = CandidateLimits(len(scheme.tables), blocks, bands)
    found = whole(find_candidates(store, simhashes[:queries], asked, reach=reach, limit=NEVER))

    brought = defaultdict(set)
    for (at, own), other in product(enumerate(documents[:queries]), documents):
        common = enumerate(map(eq, own.segments, other.segments)) if own.sketch and other.sketch else ()
        brought[at, other.simhash] |= {group for group, is_common in common if is_common}
    wanted = {}
    for (at, other), shared in brought.items():
        own = documents[at].simhash
        apart = (own ^ other).bit_count()
        by_block = bool(scheme.agreeing(own, other)) and apart <= blocks
        # Rows do not say of which document of a fingerprint they are: together they are as many as one has at most.
        if by_block or (bands is not None and shared and apart <= [*bands][: len(shared)][-1]):
            wanted[at, other] = by_block
    assert list(zip(found.queries.tolist(), found.simhashes.tolist(), strict=True)) == sorted(wanted)
    assert found.by_blocks.tolist() == [wanted[pair] for pair in sorted(wanted)]


@pytest.mark.parametrize("queries", [1, 2])
def test_a_sketch_row_brings_only_what_is_within_its_reach(queries):
    scheme, prefixes = Scheme.parse("5x2"), np.full((3, 1), 7 << 8 | 11, np.uint64)
    # Every third bit: no block agrees with that of 0.
    near, far = (sum(1 << 3 * bit for bit in range(count)) for count in (20, 21))
    simhashes = uint64s(0, near, far)
    store = MemoryStore()
    store.put_rows(band_rows(prefixes, simhashes), timestamp=1)
    asked = np.hstack([scheme.prefixes(simhashes), prefixes])[:queries]

    found = find_candidates(
        store, simhashes[:queries], asked, reach=CandidateLimits(len(scheme.tables), 3, (20,)), limit=NEVER
    )

    assert [other for at, other in pairs(found) if at == 0] == [0, near]


def test_documents_do_not_meet_by_rows_that_they_lack():
    store, lacking = NotingStore(), np.array([[3, NO_PREFIX], [4, NO_PREFIX]], np.uint64)
    assert find_crowded(uint64s(1, 1), lacking, reach=(3,)).tolist() == [False, False]
    assert pairs(find_candidates(store, uint64s(1, 1), lacking, reach=CandidateLimits(1, 3, (3,)), limit=NEVER)) == []
    [(_, [asked])] = store.take()
    assert asked.tolist() == [3, 4]


def test_rows_are_counted_once_however_many_queries_share_them():
    scheme = Scheme.parse("4x1")
    found = found_by(stored(scheme, [1, 2]), scheme, [1] * 100, reach=3)
    # Three tables hold both under one prefix, the fourth holds only one that was asked for.
    assert found.rows == 7
    assert len(whole(found).queries) == 200


SETTINGS = {
    "blocks and bands": {"match": "verified", "bands": 6},
    "bands of any distance": {"match": "verified", "bands": 6, "band_distance": 64},
    "bands, the more the farther": {"match": "verified", "bands": 6, "band_distance": (4, 9, 14, 30)},
    "blocks": {"match": "verified", "bands": 0},
    "distance": {"match": "distance", "bands": 0},
}


@pytest.fixture(params=SETTINGS)
def index(request, make_memory_index):
    return make_memory_index(**SETTINGS[request.param])


def crowd_for(index, seed):
    """Make documents near each other, with sketch rows if the index has some, and what is written of them."""
    bands = index.profile.bands
    documents = crowd(50, seed=seed, bands=bands or 6)
    if not bands:
        documents = {name: one._replace(segments=()) for name, one in documents.items()}
    return documents, written_entries(documents, bands)


def met_by(index, asked):
    """List what the queries of claims come upon: pairs of ids, each with the distance and the similarity told."""
    found = {}

    def accept(at, hit):
        found[asked.ids[at], hit.state.id] = hit.distance, hit.similarity
        return "more"

    find_nearest(index.store, Queries.of(index.profile, asked), lambda cell, simhash: cell, accept)
    return {pair: told for pair, told in found.items() if pair[0] != pair[1]}


@pytest.mark.parametrize("seed", range(6))
def test_whoever_finds_a_document_is_found_by_it_alike(index, seed):
    documents, asked = crowd_for(index, seed)
    index.add_entries(asked)
    pairs = met_by(index, asked)
    assert pairs == {(other, one): told for (one, other), told in pairs.items()}
    near = {(a, b) for a, b in permutations(documents, 2) if matches(documents[a], documents[b], index.profile.rule)}
    assert set(pairs) == near
    assert len(pairs) > 20


@pytest.mark.parametrize("seed", range(6))
def test_documents_of_one_batch_reach_each_other_as_those_of_the_index_do(index, seed):
    _, asked = crowd_for(index, seed)
    batch = UndecidedBatch(asked, [None] * len(asked), index.profile, 0)
    within = {(at, later) for at in range(len(asked)) for later in batch.later_near(at)}
    index.add_entries(asked)
    found = met_by(index, asked)
    at = {name: number for number, name in enumerate(asked.ids)}
    assert within == {(at[one], at[other]) for one, other in found if at[one] < at[other]}
