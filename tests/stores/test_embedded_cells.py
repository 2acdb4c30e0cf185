"""Cells that are written as columns, and the filter of the keys that a folder has."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.keys import band_rows, document_row, document_rows
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.columns import CellColumns
from simhash_hbase.stores.embedded import EmbeddedStore, prefixes
from simhash_hbase.stores.embedded.prefixes import BloomFilter
from simhash_hbase.stores.memory import MemoryStore
from simhash_hbase.testing.rows import all_cells, pairs_of

CELLS = st.lists(
    st.builds(
        Cell,
        st.sampled_from([b"aaaa", b"bbbb", b"cccc"]),
        st.sampled_from([b"", b"q", b"r"]),
        st.binary(max_size=2),
        st.one_of(st.none(), st.integers(0, 3)),
    ),
    max_size=8,
)
NUMBERS = np.random.default_rng(1).integers(0, 2**63, 60_000, dtype=np.uint64)


@given(cells=CELLS)
def test_columns_are_a_sequence_of_their_cells(cells):
    columns = CellColumns.of(cells)

    assert (columns, list(columns), len(columns)) == (cells, cells, len(cells))
    assert CellColumns.of(columns) is columns
    assert columns.keys == [cell.row + cell.qualifier for cell in cells]
    assert [columns[at] for at in range(-len(cells), len(cells))] == 2 * cells
    assert columns[1:3] == cells[1:3]
    assert columns.take(range(len(cells))[::-1]) == cells[::-1]
    with pytest.raises(IndexError):
        columns[len(cells)]


@pytest.mark.parametrize("groups", [0, 2])
@given(before=CELLS, calls=st.lists(CELLS, max_size=4))
def test_calls_with_old_new_and_repeated_cells_leave_those_of_the_model(tmp_path_factory, groups, before, calls):
    model = MemoryStore(clock=lambda: 2)
    store = EmbeddedStore.create(str(tmp_path_factory.mktemp("folder") / "index"), clock=lambda: 2)
    rows, qualifiers = (b"aaaa", b"bbbb", b"cccc"), (b"", b"q", b"r")
    keys = [(row, qualifier) for row in rows for qualifier in qualifiers]

    def put(cells):
        model.put("d", cells)
        store.put("d", CellColumns.of(cells))
        assert store.get("d", keys) == model.get("d", keys)
        assert list(store.get_rows("d", rows, limit=9)) == model.get_rows("d", rows, limit=9)

    put(before)
    for _ in range(groups):
        with store.gathered():
            for cells in calls:
                put(cells)
    for cells in calls:
        put(cells)
    assert all_cells(store, "d") == all_cells(model, "d")
    store.close()


@pytest.mark.parametrize(
    "cell",
    [Cell(b"r" * 256, b"q", b"v"), Cell(b"r", b"q" * 511, b"v"), Cell(b"", b"", b"v"), Cell(b"r", b"q", b"v", -1)],
    ids=["row", "key", "nothing", "timestamp"],
)
def test_no_cell_is_written_with_one_that_cannot_be(tmp_path, cell):
    store = EmbeddedStore.create(str(tmp_path / "index"))

    with pytest.raises(InvalidArgument):
        store.put("d", [Cell(b"row", b"q", b"v", 1), cell])

    assert store.get("d", [(b"row", b"q")]) == [None]
    store.close()


def test_a_filter_has_what_was_added_to_each_of_its_layers(monkeypatch):
    monkeypatch.setattr(prefixes, "LAYER_BITS", (12, 16, 22))
    known = BloomFilter()

    for part in np.split(NUMBERS[:40_000], 400):
        known.add(part)

    assert known.may_hold(NUMBERS[:40_000]).all()
    assert known.may_hold(NUMBERS[40_000:]).mean() < 0.2


def test_two_numbers_of_one_word_are_added_at_once():
    known = BloomFilter()

    known.add(np.arange(1 << 20, dtype=np.uint64))

    assert known.may_hold(np.arange(1 << 20, dtype=np.uint64)).all()
    assert not known.may_hold(NUMBERS).all()


def test_a_small_index_has_a_small_filter():
    known = BloomFilter()

    known.add(NUMBERS)

    assert known.may_hold(NUMBERS).all()
    assert sum(layer._words.nbytes for layer in known._layers) == 4 << 20


@given(
    simhashes=st.lists(st.integers(0, 7), max_size=6),
    segments=st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), min_size=6, max_size=6),
)
def test_sketch_rows_are_sorted_and_none_is_there_twice(simhashes, segments):
    wanted = np.array(segments[: len(simhashes)], np.uint64).reshape(-1, 2)

    rows = band_rows(wanted, np.array(simhashes, np.uint64))

    owners = zip(wanted.tolist(), simhashes, strict=True)
    assert pairs_of(rows) == sorted({(segment, simhash) for both, simhash in owners for segment in both})


def test_the_rows_of_documents_are_those_of_each():
    digests = [bytes([number]) * 16 for number in range(3)]

    assert document_rows(digests) == list(map(document_row, digests))
