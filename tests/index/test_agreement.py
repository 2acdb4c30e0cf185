"""Near copies that must agree about a field of the metadata: those of other sources stay, whatever their text is."""

import datetime
import random
from dataclasses import replace

import pytest
from support.bruteforce import BASE, clustered, entries, flip, neighbours
from support.corpus import text

from simhash_hbase import create_index
from simhash_hbase.errors import InvalidProfile
from simhash_hbase.index.agree import agreed_value
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


def test_a_profile_freezes_the_field_that_documents_must_agree_in():
    assert b"agree" not in Profile.resolve(analyzer="shingle").encode()
    assert Profile.decode(Profile.resolve(analyzer="shingle", agree="site").encode()).agree == "site"
    with pytest.raises(InvalidProfile, match="agree is ''"):
        Profile.resolve(agree="")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (" https://A.example/1", "https://a.example/2\n"),
        ("\ufeffhttps://a.example/1", "\n http://a.example/2"),
        (b"https://a.example/1", "https://a.example/2"),
        (7, 7.0),
        (True, True),
    ],
)
def test_values_that_name_one_source_are_equal(one, other):
    assert agreed_value({"site": one}, "site") == agreed_value({"site": other}, "site") != ""


@pytest.mark.parametrize("value", [None, "", " ", "\ufeff", float("nan"), [], {}, b""])
def test_values_that_name_no_source_are_none(value):
    assert agreed_value({"site": value}, "site") == ""


def test_other_bytes_and_numbers_are_other_sources():
    values = [b"\xff", b"\xfe", 7, 7.5, float("inf"), float("-inf"), 0, False]
    assert len({agreed_value({"site": value}, "site") for value in values}) == len(values)


EAST = datetime.timezone(datetime.timedelta(hours=8))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (datetime.datetime(2026, 11, 29, 8, tzinfo=EAST), datetime.datetime(2026, 11, 29, tzinfo=datetime.UTC)),
        ({"a": 1, "b": [2.5]}, {"b": [2.5], "a": 1}),
        (bytearray(b"a.example"), b"a.example"),
    ],
    ids=["zones", "keys", "bytes"],
)
def test_a_given_value_is_compared_with_the_stored_one(one, other):
    with create_index("memory:", analyzer="shingle", agree="site") as index:
        assert index.claim("a1", text(1), metadata={"site": one}).is_original
        assert index.claim("a2", text(1), metadata={"site": one}).of == "a1"
        assert index.claim("a3", text(1), metadata={"site": other}).of == "a1"
