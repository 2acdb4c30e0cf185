"""Each changed bit of a document's cells is noticed by its checksum, and put back by `verify --repair`."""

from itertools import combinations

import pytest

from simhash_hbase.rows.checksums import is_sealed, mended, sealed
from simhash_hbase.rows.keys import FLAGS, row_flag
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_COPIES, FLAG_DOCUMENT, FLAG_MEMBERS, FLAG_PASSAGES
from simhash_hbase.stores.base import Swap
from simhash_hbase.testing.rows import all_cells, all_pairs, rows_of

TRAIN = "the train from the north is late today because of snow on the line, and tickets stay valid until noon"
BREAD = "a recipe for bread needs flour, water, salt and yeast, and about six hours of patience before baking"
STEP = 97  # One of so many bits is changed, in all cells at once: 1 takes minutes.


@pytest.fixture
def index(make_claiming_index):
    """Return a filled index, once for each kind of store."""
    return filled(make_claiming_index)


def filled(make):
    """Make an index with sketches, passages, metadata, a batch, a duplicate, a collection and a removed document."""
    index = make(match="verified", bands=6, passages=30, grace_s=0)
    index.add("bread", BREAD)
    index.claim("train", TRAIN, metadata={"source": "north"}, batch="monday")
    assert index.claim("copy", TRAIN.upper() + "!", metadata={"source": "south"}, batch="周二").of == "train"
    index.in_collection("news").add("train", TRAIN)
    index.add("gone", BREAD + BREAD)
    index.remove("gone")
    return index


def flipped(value, *places):
    changed = bytearray(value)
    for place in places:
        changed[place // 8 % len(value)] ^= 1 << place % 8
    return bytes(changed)


def write_over(index, old, values):
    """Write values where others are, as a disk changes them: no timestamp is later, but a server's of a document."""
    pairs = list(zip(old, values, strict=True))
    documents = [Swap(*cell[:3], value) for cell, value in pairs if row_flag(cell.row) == FLAG_DOCUMENT]
    assert all(index.store.compare_and_set(documents))
    others = [cell._replace(value=value) for cell, value in pairs if row_flag(cell.row) != FLAG_DOCUMENT]
    index.store.put(FAMILY_DOCUMENTS, others)


def contents(index):
    return all_pairs(index.store), [cell[:3] for cell in all_cells(index.store)]


class Told(list):
    """The errors that a verification tells."""

    def __call__(self, row, error):
        self.append(str(error))


def test_a_repair_puts_back_every_changed_bit_of_every_cell(index):
    before, cells = contents(index), all_cells(index.store)
    assert {row_flag(cell.row) for cell in cells} == {FLAG_MEMBERS, FLAG_COPIES, FLAG_DOCUMENT}
    assert (len(cells), index.verify().wrong) == (5 + 3 + 1, 0)

    for place in range(0, 8 * max(len(cell.value) for cell in cells), STEP):
        cells = all_cells(index.store)
        write_over(index, cells, [flipped(cell.value, place) for cell in cells])
        told = Told()
        found, repaired = index.verify(), index.verify(repair=True, on_damage=told)

        assert found.wrong_checksums + found.undecodable == len(cells) <= found.wrong
        assert (repaired.restored, repaired.wrong) == (len(cells), 0)
        assert len([line for line in told if "was put back: '" in line]) == len(told) == len(cells)
        assert contents(index) == before


@pytest.mark.parametrize(
    ("kind", "old", "new", "name"),
    [
        (FLAG_MEMBERS, b"north", b"nprtj", "train"),
        (FLAG_COPIES, b"south", b"spvth", "copy"),
        (FLAG_DOCUMENT, b"monday", b"mondzx", "train"),
        (FLAG_DOCUMENT, b"\xa5train", b"\xa5tsahn", "copy"),
    ],
    ids=["metadata of a member", "metadata of a copy", "batch", "original"],
)
def test_a_cell_with_several_changed_bits_is_left_as_it_is(index, clock, kind, old, new, name):
    cells = [cell for cell in all_cells(index.store) if row_flag(cell.row) == kind]
    [cell] = [cell for cell in cells if old in cell.value[9:] and name.encode() in cell.value[:9]]
    write_over(index, [cell], [cell.value[:9] + cell.value[9:].replace(old, new)])
    damaged, told = contents(index), Told()

    repaired = index.verify(repair=True, on_damage=told)
    clock.advance(ms=200_000)
    index.vacuum()

    assert (repaired.wrong_checksums, repaired.not_repaired, repaired.wrong) == (1, 1, 1)
    [line] = told
    assert (line.startswith("the checksum of a "), line.endswith(f" is wrong: '{name}'")) == (True, True)
    lost = set(damaged[1]) - set(contents(index)[1])
    assert all(b"removed" in value for _, _, value in lost)


def test_a_checksum_names_a_changed_bit_only_where_it_is_the_only_one():
    value = sealed(b"bytes of a cell" + bytes(4))
    places = range(8 * len(value))
    assert is_sealed(value)
    assert {mended(flipped(value, place)) for place in places} == {value}
    for pair in combinations(places, 2):
        assert not is_sealed(flipped(value, *pair))
        assert mended(flipped(value, *pair)) is None


def test_a_cell_so_long_that_two_bits_may_look_like_one_is_not_mended():
    longest = sealed(bytes(range(256)) * 44 + bytes(4))
    assert mended(flipped(longest, 7)) == longest
    assert mended(flipped(sealed(longest * 2), 7)) is None


@pytest.mark.parametrize("flag", [11, FLAG_PASSAGES], ids=["sketch", "passage"])
@pytest.mark.parametrize("swept", [False, True], ids=["", "after vacuum"])
def test_a_row_with_one_bit_changed_is_written_anew_from_its_member(make_index, clock, flag, swept):
    index = filled(make_index)
    before = contents(index)
    prefix, simhash = next(pair for pair in before[0] if pair[0] & FLAGS == flag)
    index.store.delete_rows(rows_of((prefix, simhash)), timestamp=clock())
    index.store.put_rows(rows_of((prefix ^ 1 << 20, simhash)), timestamp=clock())
    clock.advance(ms=10)

    if swept:
        index.vacuum()
    repaired = index.verify(repair=True)
    clock.advance(ms=10)
    index.vacuum()

    assert (repaired.incomplete, repaired.repaired, repaired.wrong) == (1, 1, 0)
    assert (prefix, simhash) in contents(index)[0]
    assert (prefix ^ 1 << 20, simhash) not in contents(index)[0]
