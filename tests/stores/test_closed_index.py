"""An index that was closed raises one permanent error, whatever keeps its rows."""

import inspect

import pytest
from support.bruteforce import entries

from simhash_hbase.errors import IndexClosed, Permanent
from simhash_hbase.features.chunks import whole_chunk
from simhash_hbase.index.arguments import OWN_RULE, PassageSearch, given_document
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.profile import Profile

TEXT = "A document long enough to leave some features."


def prepared(index):
    return whole_chunk([given_document(1, ("b", TEXT))], index.analysis)


CALLS = {
    "add": lambda index: index.add("b", TEXT),
    "add_many": lambda index: list(index.add_many([("b", TEXT)])),
    "add_entries": lambda index: index.add_entries(entries({"b": 1})),
    "claim": lambda index: index.claim("b", TEXT),
    "claim_many": lambda index: list(index.claim_many([("b", TEXT)])),
    "claim_entries": lambda index: index.claim_entries(entries({"b": 1})),
    "write_groups": lambda index: index.write_groups(),
    "deduplicator": lambda index: index.deduplicator(),
    "dedup_many": lambda index: list(index.dedup_many([("b", TEXT)])),
    "dedup_entries": lambda index: index.dedup_entries(entries({"b": 1}), index.deduplicator()),
    "remove": lambda index: index.remove("a"),
    "__len__": len,
    "__contains__": lambda index: "a" in index,
    "remove_many": lambda index: list(index.remove_many(["a"])),
    "batches": lambda index: index.batches(),
    "batches_after": lambda index: index.batches_after(None, pages=1),
    "remove_batch": lambda index: list(index.remove_batch("monday", yes=True)),
    "remove_batch_after": lambda index: index.remove_batch_after("monday", None, pages=1),
    "added": lambda index: index.added(prepared(index)),
    "claimed": lambda index: index.claimed(prepared(index)),
    "answered": lambda index: list(index.answered(prepared(index), OWN_RULE)),
    "query": lambda index: index.query(TEXT),
    "query_many": lambda index: list(index.query_many([("b", TEXT)])),
    "query_entries": lambda index: index.query_entries(entries({"b": 1})),
    "answer_entries": lambda index: next(index.answer_entries(entries({"b": 1}))),
    "query_simhash": lambda index: index.query_simhash(1),
    "query_id": lambda index: index.query_id("a"),
    "entries_of": lambda index: index.entries_of("a"),
    "find": lambda index: index.find(TEXT),
    "find_many": lambda index: list(index.find_many([("b", TEXT)])),
    "found": lambda index: list(index.found(prepared(index))),
    "passages": lambda index: index.passages(TEXT),
    "passages_many": lambda index: list(index.passages_many([("b", TEXT)])),
    "repeated": lambda index: list(index.repeated(prepared(index), PassageSearch())),
    "items": lambda index: index.items(TEXT),
    "items_many": lambda index: list(index.items_many([("b", TEXT)])),
    "held": lambda index: list(index.held(prepared(index), at_share=0.5)),
    "count_items": lambda index: index.count_items(),
    "compare_passages": lambda index: index.compare_passages(entries({"b": 1}), entries({"c": 2})),
    "get": lambda index: index.get("a"),
    "get_many": lambda index: index.get_many([]),
    "copies": lambda index: index.copies("a"),
    "export": lambda index: list(index.export()),
    "stats": lambda index: index.stats(),
    "verify": lambda index: index.verify(),
    "expiry_warning": lambda index: index.expiry_warning(),
    "vacuum": lambda index: index.vacuum(),
    "backup": lambda index: index.backup("nowhere"),
    "note_backup": lambda index: index.note_backup("1h"),
}


@pytest.fixture
def closed(make_store):
    index = LocalIndex.create(make_store(), Profile.resolve(analyzer="shingle", passages=30))
    index.add("a", TEXT)
    index.query(TEXT)
    index.close()
    return index


def test_every_method_that_reads_or_writes_says_that_the_index_was_closed(closed):
    for call in CALLS.values():
        with pytest.raises(IndexClosed, match="was closed"):
            call(closed)
    assert issubclass(IndexClosed, Permanent)
    closed.close()
    assert (closed.rule(distance=2).distance, closed.profile.analyzer) == (2, "shingle")


def test_no_method_of_the_index_is_left_out():
    public = {name for name, kind in inspect.getmembers(LocalIndex, inspect.isfunction) if not name.startswith("_")}

    assert public - {"close", "rule", "in_collection", "counted_spans"} == {
        name for name in CALLS if not name.startswith("_")
    }


def test_what_was_made_before_goes_on_no_longer(make_store):
    index = LocalIndex.create(make_store(), Profile.resolve(analyzer="shingle"))
    index.add("a", TEXT)
    begun = [index.remove_many(["a", "b"]), index.query_many([("b", TEXT)])]
    deduplicator = index.deduplicator()
    index.close()

    for answers in begun:
        with pytest.raises(IndexClosed):
            next(answers)
    with pytest.raises(IndexClosed):
        index.dedup_entries(entries({"b": 1}), deduplicator)
