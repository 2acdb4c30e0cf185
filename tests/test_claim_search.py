"""Writers that are killed, slow and not answered keep one of all near copies; with less of the protocol they do not."""

import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from claim_search.checks import Judge
from claim_search.crew import Crew
from claim_search.faults import Trouble
from claim_search.mutations import MUTATIONS
from claim_search.places import make_place
from claim_search.plan import Document, as_entries, make_round
from claim_search.writers import Answer

from simhash_hbase import Index, Profile
from simhash_hbase.rows.keys import id_digest, member_row
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.memory import MemoryStore
from tests.stores.hbase_server import address

ROOT = Path(__file__).parents[1]
# Far more than the search takes on a slow machine: a search that hangs is to fail.
PATIENCE_S = 900
PROTOCOL = sorted(set(MUTATIONS) - {"transaction"})


def search(*arguments):
    """Run the search in a process of its own: what is taken out of the protocol stays out."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "claim_search", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def table(version):
    return f"hbase://{address(version)}/simhash_test_search?version={version}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claims", "options"), [("20000", ()), ("10000", ("--protocol",))], ids=["transactions", "compare-and-set"]
)
def test_processes_on_one_folder_find_no_counter_example(tmp_path, claims, options):
    code, said = search("--store", f"file:{tmp_path}", "--claims", claims, *options)

    assert code == 0, said
    assert_all_trouble_was_had(said)


@pytest.mark.hbase
@pytest.mark.slow
@pytest.mark.parametrize(("version", "claims"), [(2, "17000"), (1, "3000")], ids=["thrift2", "thrift1"])
def test_processes_on_a_server_find_no_counter_example(version, claims):
    code, said = search("--store", table(version), "--claims", claims)

    assert code == 0, said
    assert_all_trouble_was_had(said)


def assert_all_trouble_was_had(said):
    """A search in which nobody was killed and everything was answered would prove little."""
    parts = re.findall(r"contested claims: .* writers killed (\d+) times", said)
    assert sum(map(int, parts)) > 5, said
    assert re.search(r"\d Store(Timeout|Unavailable)", said), said


# Each is found within a few seconds; a minute is what the search may take. How processes are scheduled follows from no
# seed, and with it which of the things that are wrong comes first.
MUTANT = ("--claims", "1000000", "--seconds", "60", "--seed", "1", "--mutation")


@pytest.mark.slow
@pytest.mark.parametrize("mutation", PROTOCOL)
def test_the_search_finds_what_is_missing_in_memory(mutation):
    code, said = search("--store", "memory:", *MUTANT, mutation)

    assert code == 1, said
    assert "WRONG: " in said


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_the_search_finds_what_is_missing_in_a_folder(tmp_path, mutation):
    code, said = search("--store", f"file:{tmp_path}", *MUTANT, mutation)

    assert code == 1, said
    assert "WRONG: " in said


@pytest.mark.hbase
@pytest.mark.slow
@pytest.mark.parametrize("mutation", PROTOCOL)
def test_the_search_finds_what_is_missing_on_a_server(mutation):
    code, said = search("--store", table(2), *MUTANT, mutation)

    assert code == 1, said
    assert "WRONG: " in said


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
