"""Columns of documents: put together, selected, and refused where an index could not keep them."""

from dataclasses import replace

import numpy as np
import pytest
from support.bruteforce import entries

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.analysed import Entries, check_storable


def with_bands(names, *bands):
    return entries({name: at for at, name in enumerate(names)}, sketches=range(1, len(names) + 1), bands=bands)


def test_entries_that_are_put_together_are_those_of_the_parts():
    one, other = with_bands("ab", (1, 2), (3, 4)), with_bands("c", (5, 6))

    joined = Entries.joined([one, other])

    assert joined.ids == ["a", "b", "c"]
    assert joined.segments.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert joined.take([2, 0]).segments.tolist() == [[5, 6], [1, 2]]
    assert Entries.joined([one]) is one


def test_entries_without_bands_get_empty_ones_beside_others_and_none_among_themselves():
    bare = entries({"x": 9})
    assert Entries.joined([bare, with_bands("a", (1, 2))]).segments.tolist() == [[0, 0], [1, 2]]
    assert Entries.joined([with_bands("a", (1, 2)), bare]).segments.tolist() == [[1, 2], [0, 0]]
    assert Entries.joined([bare, bare]).bands is None
    assert bare.take([0]).bands is None


def test_no_documents_need_no_columns_and_one_needs_all():
    assert len(Entries(ids=[], simhashes=np.empty(0, np.uint64))) == 0
    with pytest.raises(InvalidArgument, match=r"\[0, 1\]"):
        Entries(ids=["a"], simhashes=np.zeros(1, np.uint64))


@pytest.mark.parametrize("character", ["a", "é", "中", "😀"])
def test_an_id_may_have_as_many_bytes_as_fit(character):
    most = character * (65_536 // len(character.encode()))
    check_storable(entries({most: 1}))
    with pytest.raises(InvalidArgument, match="longer than 65536"):
        check_storable(entries({most + character: 1}))


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"a": "x" * 1016}, None),
        ({"a": "x" * 1017}, "takes more than 1024 bytes as JSON"),
        ({"n": 1, 2: 3}, "has a key that is not a string"),
        ({"a": object()}, "cannot be stored"),
        ({"a": 2**70}, "cannot be stored"),
        ({"a": "\ud800"}, "cannot be stored"),
    ],
)
def test_metadata_that_cannot_be_kept_is_refused_by_the_name_of_its_document(metadata, problem):
    documents = replace(entries({"a": 1, "b": 2}), metadata=[{"n": 1}, metadata])

    if problem is None:
        check_storable(documents)
    else:
        with pytest.raises(InvalidArgument, match=f"metadata of 'b' {problem}"):
            check_storable(documents)
