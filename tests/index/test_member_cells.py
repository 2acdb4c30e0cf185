import numpy as np
import pytest
from support.bruteforce import entries

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.index.documentrows import bare_entries, document_cells, member_entries, member_values
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.documentcells import Change, DocumentState, decode_member
from simhash_hbase.rows.keys import id_digest, member_row


def columns(documents):
    """Return all columns of entries as plain values."""
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
    members = [decode_member(value, bands=bands) for value in member_values(mixed, [10, 20, 30])]

    assert [member.added for member in members] == [10, 20, 30]
    assert [member.shingles for member in members] == [2**32 - 1, 0, 3]
    assert columns(member_entries(members, mixed.simhashes.tolist(), bands=bands)) == columns(mixed)


def test_a_member_without_a_sketch_holds_no_bytes_of_one(mixed):
    bands = mixed.segments.shape[1]
    sketches = [decode_member(value, bands=bands).sketch for value in member_values(mixed, [1, 2, 3])]

    words = [b"".join((2**63 + n).to_bytes(8, "big") for n in range(8)), b"", (bytes(7) + b"\3") * 8]
    shingles = [b"\xff\xff\xff\xff", b"", b"\0\0\0\3"]
    behind = [b"\0\0\0\5\xff\xff\xff\xff", b"", b"\0\0\0\7\0\0\0\0"] if bands else [b""] * 3
    assert sketches == list(map(b"".join, zip(words, shingles, behind, strict=True)))


def test_a_member_with_more_or_fewer_segments_than_its_index_has_is_damaged(mixed):
    [value, bare, _] = member_values(mixed, [1, 2, 3])

    with pytest.raises(CorruptIndex, match="sketch of"):
        decode_member(value, bands=1)
    assert decode_member(bare, bands=1).sketch == b""


def test_a_member_cell_lies_under_its_fingerprint_and_has_the_stamp_of_its_document_cell():
    states = [DocumentState("a", 5, "added", seen=9, stamp=11, order=(8, 0)), DocumentState("b", 6, "added", 9, 12)]
    changes = [Change.of(at, id_digest(state.id), None, state) for at, state in enumerate(states)]

    cells = document_cells(entries({"a": 5, "b": 6}), changes)

    assert [cell[:2] for cell in cells] == [(member_row(5), id_digest("a")), (member_row(6), id_digest("b"))]
    assert [cell.timestamp for cell in cells] == [11, 12]
    assert [decode_member(cell.value, bands=0).added for cell in cells] == [8, 0]


def test_a_document_of_which_only_its_cell_is_left_is_a_bare_fingerprint():
    bare = bare_entries([DocumentState("a", 5, "duplicate", 9, 9), DocumentState("b", 2**64 - 1, "added", 9, 9)])

    assert columns(bare) == columns(Entries.of_fingerprints(["a", "b"], np.array([5, 2**64 - 1], np.uint64)))
