"""Members: as cells that are read back as they were written, and once for all parts of a search, up to a bound."""

import numpy as np
import pytest
from support.bruteforce import entries
from support.cost import NotingStore

from simhash_hbase import CorruptIndex, LocalIndex, Profile
from simhash_hbase.index import members as members_module
from simhash_hbase.index.documentrows import member_entries, member_values
from simhash_hbase.index.members import Members, found_since
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.documentcells import DocumentState, Text, decode_member, encode
from simhash_hbase.rows.keys import document_row, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell

PROFILE = Profile.resolve(analyzer="shingle", match="distance")
DOCUMENTS = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 3}


@pytest.fixture
def store():
    made = NotingStore()
    LocalIndex.create(made, PROFILE).add_entries(entries(DOCUMENTS))
    made.take()
    return made


def reader(store, limit=100):
    return Members(store, PROFILE, found_since(0), limit=limit)


def page_of(members, *simhashes):
    return members.page(np.array(simhashes, np.uint64))


def names(members, *simhashes):
    """Read fingerprints, and give the ids that each page says."""
    page = page_of(members, *simhashes)
    members.know(map(page.id_digest, range(len(page.keys))))
    where = page.where(np.array(simhashes, np.uint64))
    ranges = zip(simhashes, page.first[where].tolist(), page.stop[where].tolist(), strict=True)
    found = [members.found(Text(simhash), page, at) for simhash, first, stop in ranges for at in range(first, stop)]
    return sorted(one[0].id for one in found if one)


def test_what_was_read_is_not_read_again(store):
    members = reader(store)
    # What is read later has the lower fingerprint.
    found = [names(members, 2, 3), names(members, 1, 2), names(members, 1)]
    assert found == [list("de"), list("abcd"), list("abc")]
    assert store.take_names() == ["get_rows", "get", "get_rows", "get"]


@pytest.mark.parametrize(("held", "calls"), [(3, ["get_rows", "get"]), (2, ["get_rows", "get"] * 2)])
def test_above_a_number_of_members_all_are_forgotten(store, monkeypatch, held, calls):
    monkeypatch.setattr(members_module, "HELD_MEMBERS", held)
    members = reader(store)
    assert names(members, 1) == names(members, 1) == ["a", "b", "c"]
    assert store.take_names() == calls


def written(name, simhash, state="added"):
    """Make a document cell; it lies where the document `a` has its own."""
    state = DocumentState(name, simhash, state, seen=0, stamp=9)
    return Cell(document_row(id_digest("a")), STATE_QUALIFIER, encode(state, checksum=True))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (written("a", 1), ["a", "b", "c"]),
        (written("a", 7), ["b", "c"]),
        (written("a", 1, "removed"), ["b", "c"]),
        (written("a", 1, "duplicate"), ["b", "c"]),
        # Two ids with one digest.
        (written("z", 1), ["b", "c"]),
        (None, ["b", "c"]),
    ],
)
def test_a_member_stands_for_the_document_that_its_cell_names_under_its_fingerprint(store, cell, expected):
    if cell is None:
        store.delete(FAMILY_DOCUMENTS, [written("a", 1)._replace(timestamp=1 << 60)])
    else:
        store.put(FAMILY_DOCUMENTS, [cell])
    assert names(reader(store), 1) == expected


def columns(documents):
    names = "ids simhashes sketches shingles features lengths digests metadata segments"
    return [np.asarray(getattr(documents, name)).tolist() for name in names.split()]


@pytest.fixture(params=[0, 2])
def mixed(request):
    """Return documents with and without a sketch, a text and metadata, in an index with and without bands."""
    return Entries(
        ids=["a", "b", "c"],
        simhashes=np.array([1, 2**64 - 1, 7], np.uint64),
        sketches=np.array([[2**63 + n for n in range(8)], [0] * 8, [3] * 8], np.uint64),
        shingles=np.array([2**32 - 1, 0, 3], np.uint32),
        features=np.array([4, 0, 5], np.int32),
        lengths=np.array([100, 0, 7], np.int32),
        digests=[b"d" * 16, b"", b"e" * 16],
        metadata=[{"source": "x"}, None, None],
        bands=np.array([[5, 2**32 - 1], [0, 0], [7, 0]], np.uint32)[:, : request.param],
    )


def test_documents_read_back_from_their_member_cells_are_as_they_were_written(mixed):
    bands = mixed.segments.shape[1]
    members = [decode_member(value, bands=bands) for value in member_values(mixed, [10, 20, 30], checksum=False)]

    assert [member.added for member in members] == [10, 20, 30]
    assert [member.shingles for member in members] == [2**32 - 1, 0, 3]
    assert columns(member_entries(members, mixed.simhashes.tolist(), bands=bands)) == columns(mixed)
    # Without a sketch there are no bytes of one.
    words = [b"".join((2**63 + n).to_bytes(8, "big") for n in range(8)), b"", (bytes(7) + b"\3") * 8]
    shingles = [b"\xff\xff\xff\xff", b"", b"\0\0\0\3"]
    behind = [b"\0\0\0\5\xff\xff\xff\xff", b"", b"\0\0\0\7\0\0\0\0"] if bands else [b""] * 3
    assert [member.sketch for member in members] == list(map(b"".join, zip(words, shingles, behind, strict=True)))


def test_a_member_with_more_or_fewer_segments_than_its_index_has_is_damaged(mixed):
    [value, bare, _] = member_values(mixed, [1, 2, 3], checksum=False)
    with pytest.raises(CorruptIndex, match="sketch of"):
        decode_member(value, bands=1)
    assert decode_member(bare, bands=1).sketch == b""
