"""Near copies that must agree about a field of the metadata: those of other sources stay, whatever their text is."""

import random
from dataclasses import replace

import pytest
from support.bruteforce import BASE, clustered, entries, flip, neighbours
from support.corpus import text

from simhash_hbase import create_index
from simhash_hbase.errors import InvalidProfile
from simhash_hbase.index.search import FIRST_MEMBERS
from simhash_hbase.profile import Profile

SITES = ("a.example", "https://b.example/1", "https://B.example/2", "", None, 7)


def agreeing(one, other):
    """Compare two values as README says: hosts of URLs, and a missing one agrees with all."""
    hosts = ["b.example" if "b.example" in str(value).lower() else str(value or "") for value in (one, other)]
    return "" in hosts or hosts[0] == hosts[1]


def crowd(count, *, seed):
    """Return fingerprints around few centres, and the site of each document."""
    chosen = random.Random(seed)
    simhashes = clustered(count, seed=seed, spread=2)
    sites = {f"document {at}": chosen.choice(SITES) for at in range(count)}
    return dict(zip(sites, simhashes, strict=True)), sites


def of_sites(documents, sites):
    """Return entries with their metadata; those without a site have none, or a field without a value."""
    metadata = [None if sites[name] is None else {"site": sites[name]} for name in documents]
    return replace(entries(documents), metadata=metadata)


def kept_greedily(documents, sites, distance):
    """Return the documents that are kept, each one compared with all that were kept before it."""
    kept = {}
    for name, simhash in documents.items():
        near = [other for other, _ in neighbours(kept, simhash, distance)]
        if not any(agreeing(sites[name], sites[other]) for other in near):
            kept[name] = simhash
    return set(kept)


@pytest.fixture
def index(make_claiming_index):
    return make_claiming_index(agree="site")


@pytest.mark.parametrize("act", ["claim", "dedup"])
def test_decisions_and_answers_are_those_of_comparing_all_documents(index, act):
    documents, sites = crowd(120, seed=5)
    given = of_sites(documents, sites)
    decide = index.claim_entries if act == "claim" else lambda few: index.dedup_entries(few, index.deduplicator())

    decided = [each for start in (0, 60) for each in decide(given.take(range(start, start + 60)))]
    answers = index.query_entries(given)

    kept = kept_greedily(documents, sites, index.profile.distance)
    assert {each.id for each in decided if each.is_original} == kept
    assert all(agreeing(sites[each.id], sites[each.of]) for each in decided if each.of is not None)
    assert len(kept) > len(kept_greedily(documents, dict.fromkeys(sites), index.profile.distance))
    stored = {name: documents[name] for name in documents if name in kept}
    for name, answer in zip(documents, answers, strict=True):
        near = neighbours(stored, documents[name], index.profile.distance)
        agreed = [pair for pair in near if pair[0] != name and agreeing(sites[name], sites[pair[0]])]
        assert [(match.id, match.distance) for match in answer.matches] == agreed


def test_a_copy_is_found_behind_a_flood_of_copies_of_another_site(index):
    count = FIRST_MEMBERS + 20
    flood = replace(entries([(f"{at}", BASE) for at in range(count)]), metadata=[{"site": "a"}] * count)
    index.add_entries(flood)
    own = replace(entries({"own": BASE, "copy": flip(BASE, [3])}), metadata=[{"site": "b"}] * 2)
    index.add_entries(own.take([0]))

    [decision] = index.claim_entries(own.take([1]))

    assert decision.of == "own"


@pytest.mark.parametrize("match", ["verified", "copied"])
def test_the_same_text_of_two_sites_is_kept_twice(match):
    with create_index("memory:", analyzer="shingle", match=match, agree="site") as index:
        given = [(name, text(1), name and {"site": name[0]}) for name in ("a1", "b1", "a2", "b2")]

        decided = dict(index.claim_many([*given, ("none", text(1))]))

        assert {name: decision.of for name, decision in decided.items() if decision.of} == {
            "a2": "a1",
            "b2": "b1",
            "none": decided["none"].of,
        }
        assert [match.id for match in index.query_id("a1").matches] == []
        [match] = index.query_id("b2").matches
        assert match.id == "b1"
        assert len(index.query(text(1)).matches) == 2


def test_the_field_is_frozen_in_the_profile_and_missing_from_others():
    assert b"agree" not in Profile.resolve(analyzer="shingle").encode()
    assert Profile.decode(Profile.resolve(analyzer="shingle", agree="site").encode()).agree == "site"
    with pytest.raises(InvalidProfile, match="agree is ''"):
        Profile.resolve(agree="")
