"""Reach is symmetric, as claims need it: whoever finds a document is found by it, and is judged the same."""

import pytest
from support.bruteforce import crowd, matches, written_entries

from simhash_hbase.index.candidates import Queries
from simhash_hbase.index.dedup import UndecidedBatch
from simhash_hbase.index.search import find_nearest

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


def found_by(index, asked):
    """List what the queries of claims come upon: pairs of ids, each with the distance and the similarity told."""
    found = {}

    def take_hit(at, hit):
        found[asked.ids[at], hit.state.id] = hit.distance, hit.similarity
        return False

    find_nearest(index.store, Queries.of(index.profile, asked), lambda cell, simhash: cell, take_hit)
    return {(one, other): told for (one, other), told in found.items() if one != other}


@pytest.mark.parametrize("seed", range(6))
def test_whoever_finds_a_document_is_found_by_it_and_judged_the_same(index, seed):
    documents, asked = crowd_for(index, seed)
    index.add_entries(asked)

    pairs = found_by(index, asked)

    assert pairs == {(other, one): told for (one, other), told in pairs.items()}
    rule = index.profile.rule
    assert set(pairs) == {
        (a, b) for a, one in documents.items() for b, other in documents.items() if a != b and matches(one, other, rule)
    }
    assert len(pairs) > 20


@pytest.mark.parametrize("seed", range(6))
def test_documents_of_one_batch_reach_each_other_as_those_of_the_index_do(index, seed):
    _, asked = crowd_for(index, seed)
    batch = UndecidedBatch(asked, [None] * len(asked), index.profile, 0)
    within = {(at, later) for at in range(len(asked)) for later in batch.later_near(at)}
    index.add_entries(asked)

    found = found_by(index, asked)

    at = {name: number for number, name in enumerate(asked.ids)}
    assert within == {(at[one], at[other]) for one, other in found if at[one] < at[other]}
