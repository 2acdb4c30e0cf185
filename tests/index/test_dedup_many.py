"""De-duplicating a stream of texts by the library's own method."""

import random

import pytest
from support.bruteforce import entries
from support.server_doubles import SwappingOnly

from simhash_hbase import LocalIndex, Profile
from simhash_hbase.index import dedup
from simhash_hbase.stores.memory import MemoryStore

LETTERS = random.Random(0)
WORDS = ["".join(LETTERS.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(2_000)]


def corpus(documents, *, seed=1):
    """Make texts of which every third is a near copy of an earlier one."""
    chance = random.Random(seed)
    made = []
    for number in range(documents):
        words = made[chance.randrange(number)][1].split() if number and number % 3 == 0 else chance.sample(WORDS, 80)
        words[chance.randrange(len(words))] = f"edit{number}"
        made.append((f"document-{number}", " ".join(words)))
    return made


@pytest.fixture
def index(make_index):
    return make_index()


@pytest.mark.parametrize("batch", [1, 7, 2_000])
def test_decisions_in_order_do_not_depend_on_the_batch(make_index, monkeypatch, batch):
    monkeypatch.setattr(LocalIndex, "_batch_documents", batch)
    documents, (index, other) = corpus(60), (make_index() for _ in range(2))
    decided = list(index.dedup_many(documents))

    # By hand, each in a batch of its own.
    deduplicator, alone = other.deduplicator(), [other.analysis.texts([n], [text]).entries for n, text in documents]
    assert [decision for _, decision in decided] == [other.dedup_entries(one, deduplicator)[0] for one in alone]
    assert [name for name, _ in decided] == [name for name, _ in documents]
    assert 10 < sum(not decision.is_original for _, decision in decided) < 30


def test_a_text_without_words_has_no_decision(index):
    [first, second] = corpus(2)
    decided = list(index.dedup_many([first, ("empty", "……！？"), second, ("blank", "")]))
    assert [name for name, _ in decided] == [first[0], "empty", second[0], "blank"]
    assert [decision and decision.is_original for _, decision in decided] == [True, None, True, None]
    assert list(index.dedup_many([])) == []


@pytest.mark.parametrize("batch", [1, 2, 2_000])
def test_an_id_that_comes_twice_has_no_second_decision_as_in_the_command(index, monkeypatch, batch):
    monkeypatch.setattr(LocalIndex, "_batch_documents", batch)
    [(_, text), (_, other)] = corpus(2)
    outcomes = [
        ("a", text, True),
        ("a", text, None),
        ("b", text, "a"),
        ("b", other, None),
        ("a", other, None),
        ("c", other, True),
        ("e", "!", None),
        ("e", text, "a"),
    ]
    documents = [(name, given) for name, given, _ in outcomes]

    # What the first text became stands, and a second run over the same input decides alike.
    for _ in range(2):
        decided = [(name, one and (one.is_original or one.of)) for name, one in index.dedup_many(documents)]
        assert decided == [(name, outcome) for name, _, outcome in outcomes]
    assert index.query(text).matches[0].exact


def test_documents_are_read_a_batch_at_a_time(index, monkeypatch):
    monkeypatch.setattr(LocalIndex, "_batch_documents", 3)
    read = []
    decided = index.dedup_many(read.append(document) or document for document in corpus(9))

    assert read == []
    next(decided)
    assert len(read) == 3
    next(decided), next(decided), next(decided)
    assert len(read) == 6


@pytest.mark.parametrize("method", ["dedup_many", "add_many", "claim_many"])
def test_metadata_is_kept_with_a_document_of_many(index, method):
    [(a, text), (b, other)] = corpus(2)
    assert [name for name, _ in getattr(index, method)([(a, text, {"source": "x"}), (b, other)])] == [a, b]
    assert [stored.metadata for stored in index.get_many([a, b])] == [{"source": "x"}, None]


def test_a_document_that_another_writer_adds_meanwhile_is_no_duplicate_of_itself(monkeypatch):
    index = LocalIndex.create(SwappingOnly(MemoryStore()), Profile.resolve(analyzer="shingle", match="distance"))
    document, read, added = entries({"a": 5}), dedup.read_states, []

    def read_before_the_other_writer(*given):
        states = read(*given)
        if not added:
            added.append(index.add_entries(document))
        return states

    monkeypatch.setattr(dedup, "read_states", read_before_the_other_writer)
    [decision] = index.dedup_entries(document, index.deduplicator())

    assert added
    assert decision.is_original
    assert [match.id for match in index.query_simhash(5).matches] == ["a"]
    assert index.verify().wrong == 0
