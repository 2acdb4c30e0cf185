"""The search for a counter-example to claim: what it does is repeatable, and what is wrong is seen."""

from random import Random

import pytest
from claim_search.checks import Judge
from claim_search.crew import Crew
from claim_search.faults import Trouble
from claim_search.places import make_place
from claim_search.plan import Document, as_entries, make_round
from claim_search.writers import Answer

from simhash_hbase import Index, Profile
from simhash_hbase.rows.keys import id_digest, member_row
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.memory import MemoryStore


def test_a_round_is_the_same_for_the_same_seed_and_every_cluster_in_it_is_contested():
    made, again, other = (make_round(seed, 4, 24, [], sketched=True) for seed in ("a", "a", "b"))

    assert made == again != other
    writers = {}
    for number, task in enumerate(made.tasks):
        for document in (document for batch in task for document in batch):
            writers.setdefault(document.cluster, set()).add(number)
    assert len(writers) == 24
    assert min(map(len, writers.values())) >= 2
    assert made.contested == sum(len(batch) for task in made.tasks for batch in task)


def test_what_was_claimed_before_is_claimed_again():
    earlier = list(make_round("a", 4, 24, [], sketched=False).documents.values())

    made = make_round("b", 4, 24, earlier, sketched=False)

    again = set(made.documents) & {document.id for document in earlier}
    assert len(again) == 6
    assert made.contested == sum(len(batch) for task in made.tasks for batch in task) - 6


def test_a_writer_that_is_killed_comes_back_and_claims_the_rest():
    profile = Profile.resolve(analyzer="shingle", match="distance", lease_s=0.05)
    made = make_round("a", 3, 8, [], sketched=False)
    often = Trouble(killed=0.2, paused=0.0)

    with (
        make_place("memory:", profile) as place,
        Crew(
            open_store=place.open_store, seed="a", writers=3, trouble=often, are_threads=True, hides_transactions=True
        ) as crew,
    ):
        answers = crew.claim(made.tasks)
        wrong = Judge(place.index).wrong_round(made.documents, answers)

    assert crew.kills > 3
    assert {answer.id for answer in answers} == set(made.documents)
    assert wrong == []


BASE = Random(1).getrandbits(64)
COPIES = [Document("a", BASE, None, "c"), Document("b", BASE ^ 1, None, "c")]
RIGHT = [Answer("a", "original"), Answer("b", "duplicate", "a", 1)]


@pytest.fixture
def index():
    return Index.create(MemoryStore(), Profile.resolve(analyzer="shingle", match="distance"))


def judged(index, answers):
    judge = Judge(index)
    wrong = judge.wrong_round({document.id: document for document in COPIES}, answers)
    return wrong or judge.wrong_index()


@pytest.mark.parametrize(
    ("answers", "wrong"),
    [
        (RIGHT, []),
        ([Answer("a", "StoreTimeout"), *RIGHT], []),
        (RIGHT[:1], ["b was not answered"]),
        ([*RIGHT, Answer("a", "KeyError")], ["a was answered KeyError"]),
        (
            [*RIGHT, Answer("a", "duplicate", "b", 1)],
            ["a was answered original, then duplicate of b (distance 1, similarity None)"],
        ),
        ([RIGHT[0], Answer("b", "original")], ["b was answered original, stored is ('duplicate', 'a', 1, None)"]),
        (
            [RIGHT[0], Answer("b", "duplicate", "a", 2)],
            ["b was answered duplicate of a (distance 2, similarity None), stored is ('duplicate', 'a', 1, None)"],
        ),
    ],
)
def test_answers_are_compared_with_each_other_and_with_what_is_stored(index, answers, wrong):
    index.claim_entries(as_entries(COPIES))

    assert judged(index, answers) == wrong


def test_two_originals_are_found(index):
    index.add_entries(as_entries(COPIES))

    told = [Answer("a", "StoreTimeout"), Answer("b", "StoreTimeout")]

    assert judged(index, told) == ["two originals within reach of each other: a, b"]


def test_a_duplicate_of_nothing_is_found(index):
    index.claim_entries(as_entries(COPIES))
    list(index.remove_many(["a"]))

    assert judged(index, [Answer("a", "StoreTimeout"), RIGHT[1]]) == ["b is a duplicate of a, which is removed"]


def test_a_cluster_without_an_original_is_found(index):
    answers = [Answer("a", "StoreTimeout"), Answer("b", "ClaimContended")]

    assert judged(index, answers) == ["a cluster without an original: c"]


def test_what_is_stored_of_nobody_s_decision_is_judged_too(index):
    index.claim_entries(as_entries([COPIES[0]]))
    far = Document("b", ~BASE % 2**64, None, "c")
    index.claim_entries(as_entries([COPIES[1]]))
    judge = Judge(index)

    wrong = judge.wrong_round({"a": COPIES[0], "b": far}, [RIGHT[0], Answer("b", "StoreTimeout")])

    assert wrong == ["b is a duplicate of a by [1, None], measured are [64, None]"]


def test_an_original_that_queries_miss_is_found(index):
    index.claim_entries(as_entries(COPIES))
    index.store.delete("d", [Cell(member_row(BASE), id_digest("a"), b"", 2**62)])

    assert "missing_members=1" in " ".join(judged(index, RIGHT))
