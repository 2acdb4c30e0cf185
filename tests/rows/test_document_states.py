"""The stored states of a document: their meaning to queries, writers and claims, and their columns."""

from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pytest
from support.bruteforce import entries

from simhash_hbase.errors import CorruptIndex, InvalidArgument
from simhash_hbase.rows.analysed import Entries, check_storable
from simhash_hbase.rows.documentcells import (
    DocumentState,
    Member,
    Text,
    decode_document,
    decode_member,
    decode_sketches,
    encode,
)

STATES = ("added", "original", "duplicate", "pending", "yielded", "aborted", "removed")


def cell(state, *, simhash=5, seen=100, stamp=200, previous=None, digest=b""):
    return DocumentState("a", simhash, state, seen, stamp, previous=previous, digest=digest)


def named(predicate):
    return {state for state in STATES if predicate(cell(state))}


def test_each_state_says_whether_it_is_in_force_shown_or_found():
    assert named(lambda held: held.is_found) == {"added", "original"}
    assert named(lambda held: held.is_duplicate) == {"duplicate"}
    assert named(lambda held: held.is_undecided) == {"pending", "yielded"}
    assert named(lambda held: held.is_gone) == {"aborted", "removed"}
    # What is decided is in force itself, whatever was before.
    assert named(lambda held: held.in_force() is held) == set(STATES) - {"pending", "yielded"}
    assert named(lambda held: held.in_force() is None) == {"pending", "yielded"}
    assert cell("duplicate", previous=cell("original", simhash=7)).in_force().state == "duplicate"
    assert named(lambda held: held.shown() is not None) == {"added", "original", "duplicate"}
    assert named(lambda held: held.found() is not None) == {"added", "original"}
    assert named(lambda held: held.found_under(Text(5)) is not None) == {"added", "original"}
    assert named(lambda held: held.member_texts() == {Text(5)}) == {"added", "original", "pending", "yielded"}
    assert named(lambda held: not held.member_texts()) == {"duplicate", "aborted", "removed"}


@pytest.mark.parametrize("claim", ["pending", "yielded"])
def test_the_decision_before_a_claim_is_in_force(claim):
    held = cell(claim, previous=cell("original", simhash=7, seen=50, stamp=60))
    assert held.in_force() == held.abandoned() == cell("original", simhash=7, seen=50, stamp=200)
    assert cell(claim).abandoned() == cell("aborted")


@pytest.mark.parametrize(("since", "shown"), [(99, True), (100, True), (101, False)])
def test_what_was_last_seen_before_a_time_is_not_shown_since_then(since, shown):
    held = cell("original", seen=100)
    answers = held.shown(since), held.found(since), held.found_under(Text(5), since)
    assert [answer is held for answer in answers] == [shown] * 3
    assert shown or answers == (None, None, None)


def test_a_document_is_found_under_its_fingerprint_alone_a_moving_one_under_the_old():
    held = cell("original", simhash=5)
    moving = cell("pending", simhash=9, seen=900, previous=cell("added", simhash=5, seen=100))
    assert (held.found_under(Text(5)), held.found_under(Text(4))) == (held, None)
    assert (moving.found_under(Text(5)).simhash, moving.found_under(Text(9))) == (5, None)
    assert moving.found_under(Text(5), 101) is None


def test_a_document_is_found_under_its_own_text_alone_among_equal_fingerprints():
    before = cell("original", simhash=5, digest=b"one")
    held = cell("pending", simhash=5, digest=b"other", previous=before)
    assert held.found_under(Text(5, b"one")).digest == b"one"
    assert held.found_under(Text(5, b"other")) is held.found_under(Text(5)) is None
    assert held.member_texts() == {Text(5, b"one"), Text(5, b"other")}


@pytest.mark.parametrize(("before", "simhashes"), [("original", {5, 7}), ("duplicate", {5}), ("removed", {5})])
def test_a_moving_document_may_have_members_under_both_fingerprints(before, simhashes):
    assert cell("pending", previous=cell(before, simhash=7)).member_texts() == set(map(Text, simhashes))


def test_cells_are_read_as_they_are_written():
    before, of_text = cell("original"), Text(7, b"another.")
    held = DocumentState(
        "a", 2**64 - 1, "duplicate", 1, 2, (3, 4), b"token", "b", 3, 0.5, 0.625, before, b"8 bytes.", of_text
    )
    assert decode_document(encode(held, checksum=False)) == held


@pytest.mark.parametrize("decode", [decode_document, partial(decode_member, bands=0)])
@pytest.mark.parametrize("value", [b"", b"\xc1", b"\x91\xa1a", b"\xa1\xff"])
def test_what_does_not_decode_is_damage(decode, value):
    with pytest.raises(CorruptIndex, match="does not decode"):
        decode(value)


SKETCHED = encode(Member("a", 5, 10, 3, bytes(16), bytes(range(68)), {"source": "x"}), checksum=False)
UNFIT = encode(Member("c", 5, 10, 3, bytes(16), bytes(67)), checksum=False)
BARE = encode(Member("b", 5, 0, 0, b"", b""), checksum=False)


@pytest.mark.parametrize("damaged", [None, b"", b"\xff", SKETCHED[:-1], SKETCHED + b"\xc0", UNFIT])
def test_sketches_of_many_cells_are_those_of_each(damaged):
    cells = [SKETCHED, BARE, *([] if damaged is None else [damaged]), SKETCHED]
    found = decode_sketches(cells, bands=0)
    assert found == [bytes(range(68)), b"", *([] if damaged is None else [b""]), bytes(range(68))]
    assert decode_sketches([], bands=0) == []


def with_bands(names, *bands):
    return entries({name: at for at, name in enumerate(names)}, sketches=range(1, len(names) + 1), bands=bands)


def test_entries_that_are_put_together_are_those_of_the_parts():
    one, other = with_bands("ab", (1, 2), (3, 4)), with_bands("c", (5, 6))
    joined = Entries.joined([one, other])
    assert joined.ids == ["a", "b", "c"]
    assert joined.segments.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert joined.take([2, 0]).segments.tolist() == [[5, 6], [1, 2]]
    assert Entries.joined([one]) is one


def test_entries_without_bands_get_empty_ones_only_beside_others():
    bare = entries({"x": 9})
    assert Entries.joined([bare, with_bands("a", (1, 2))]).segments.tolist() == [[0, 0], [1, 2]]
    assert Entries.joined([with_bands("a", (1, 2)), bare]).segments.tolist() == [[1, 2], [0, 0]]
    assert Entries.joined([bare, bare]).bands is None
    assert bare.take([0]).bands is None


def test_entries_need_all_columns_unless_they_are_empty():
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


def test_a_reader_of_fourteen_fields_passes_the_batch_over():
    fields = [(name, Any, None) for name in DocumentState.__struct_fields__[:-1]]
    former = msgspec.msgpack.Decoder(msgspec.defstruct("Former", fields, array_like=True))
    plain = DocumentState("b", 7, "original", seen=5, stamp=5, digest=b"text")
    brought = msgspec.structs.replace(plain, batch="monday")

    assert former.decode(encode(brought, checksum=False)) == former.decode(encode(plain, checksum=False))
    assert (
        decode_document(encode(plain, checksum=False))
        == plain
        != brought
        == decode_document(encode(brought, checksum=False))
    )
