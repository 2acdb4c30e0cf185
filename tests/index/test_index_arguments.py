"""What an index cannot keep or answer is refused in a sentence, and nothing of it is written."""

from dataclasses import replace

import pytest
from bruteforce import entries

from simhash_hbase.errors import InvalidArgument

TEXT = "A document long enough to leave some features. "
UNKEEPABLE = {
    "an object": ({"a": object()}, "cannot be stored"),
    "a long integer": ({"a": 2**70}, "cannot be stored"),
    "half a character": ({"a": "\ud800"}, "cannot be stored"),
    "a key that is a number": ({1: "a"}, "a key that is not a string"),
    "1,025 bytes": ({"a": "x" * 1017}, "takes more than 1024 bytes as JSON"),
}


def written(index):
    return [stored.id for stored in index.export()]


@pytest.mark.parametrize(
    ("document_id", "words"), [("", "is empty"), ("\ud800", "not Unicode"), ("字" * 21_846, "65536")]
)
def test_an_id_that_cannot_be_kept_is_refused_with_its_batch(make_index, document_id, words):
    index = make_index()

    with pytest.raises(InvalidArgument, match=words):
        index.add(document_id, TEXT)
    with pytest.raises(InvalidArgument, match=words):
        list(index.add_many([("before", TEXT), (document_id, TEXT)]))
    with pytest.raises(InvalidArgument, match=words):
        index.dedup_entries(entries({"before": 1, document_id: 2}), index.deduplicator())

    assert written(index) == []


def test_an_id_of_64_kilobytes_is_kept(make_index):
    index = make_index()
    name = "字" * 21_845

    index.add(name, TEXT)

    assert index.get(name).id == name


@pytest.mark.parametrize("kind", UNKEEPABLE)
def test_metadata_that_cannot_be_kept_is_refused_with_its_batch(make_index, kind):
    index = make_index()
    metadata, words = UNKEEPABLE[kind]

    with pytest.raises(InvalidArgument, match=words):
        index.add("a", TEXT, metadata=metadata)
    with pytest.raises(InvalidArgument, match=words):
        index.add_entries(replace(entries({"before": 1, "a": 2}), metadata=[None, metadata]))
    with pytest.raises(InvalidArgument, match=words):
        index.dedup_entries(replace(entries({"a": 1}), metadata=[metadata]), index.deduplicator())

    assert written(index) == []


def test_metadata_of_one_kilobyte_is_kept_as_it_is(make_index):
    index = make_index()
    metadata = {"url": "x" * 990, "字": [1, None, 0.5]}

    index.add("a", TEXT, metadata=metadata)

    assert index.get("a").metadata == metadata


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_no_answer_could_keep_is_refused(make_memory_index, limit):
    index = make_memory_index()
    index.add("a", TEXT)

    for ask in (
        lambda: index.query(TEXT, limit=limit),
        lambda: index.query_id("a", limit=limit),
        lambda: index.query_simhash(1, limit=limit),
        lambda: list(index.query_many([("b", TEXT)], limit=limit)),
    ):
        with pytest.raises(InvalidArgument, match=f"limit {limit}: wanted at least 1"):
            ask()
    assert len(index.query(TEXT, limit=1).matches) == 1
