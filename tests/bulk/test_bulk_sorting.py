"""Bulk load: rows and cells come in the order of their bytes, however little memory there is."""

from dataclasses import replace

import numpy as np
import pytest

from simhash_hbase.bulk.sorting import KEY, CellBlock, Corpus, Sorter, document_cells, sorted_rows
from simhash_hbase.bulk.spool import DIGEST, SeenIds, SpoolPart, id_digests, read_part, write_part
from simhash_hbase.inputs import Place, Reject
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import BlockRows, block_rows, distinct
from simhash_hbase.testing.rows import pairs_of


def draw(count, *, seed=1, repeated=0):
    found = np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)
    found[:repeated] = found[-1]
    return found


def entries_of(simhashes):
    return Entries.of_fingerprints([f"document {number}" for number in range(len(simhashes))], simhashes)


def joined(pieces):
    return BlockRows(*(np.concatenate(column) for column in zip(*pieces, strict=True)))


@pytest.mark.parametrize("scheme", [Scheme(5, 2), Scheme(4, 1), Scheme(7, 3)], ids=str)
@pytest.mark.parametrize("rows_a_pass", [1 << 30, 5_000, 700])
def test_rows_in_passes_are_the_rows_of_all_at_once(scheme, rows_a_pass):
    simhashes = np.append(draw(3_000, repeated=500), np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64))
    found = joined(sorted_rows(Corpus.of(scheme, simhashes), rows_a_pass=rows_a_pass))
    assert pairs_of(found) == pairs_of(block_rows(scheme, simhashes))


def test_passes_are_about_as_large_as_wanted_also_where_fingerprints_are_crowded():
    crowded = distinct(draw(20_000) >> np.uint64(20))
    sizes = [len(rows.prefixes) for rows in sorted_rows(Corpus.of(Scheme(5, 2), crowded), rows_a_pass=20_000)]

    # Two of the ten tables have the same segment for all: those rows cannot be cut.
    assert sorted(sizes)[-3] < 30_000


@pytest.mark.parametrize("ranges", [1, 7])
def test_sorted_cells_are_all_cells_in_the_order_of_their_keys(tmp_path, ranges):
    blocks = [document_cells(entries_of(draw(300, seed=seed, repeated=20)), 5, 0, checksum=True) for seed in range(3)]
    wanted = sorted({(cell.row, cell.qualifier): cell for block in blocks for cell in block.cells(9)}.values())
    bounds = np.sort(blocks[0].keys)[:: 600 // ranges + 1][1:]
    sorter = Sorter(tmp_path, bounds)

    sorter.add_many(blocks)
    found = [cell for block in sorter.blocks() for cell in block.cells(9)]

    assert [cell.row + cell.qualifier for cell in found] == sorted(cell.row + cell.qualifier for cell in found)
    assert set(found) >= set(wanted)
    assert len(found) == 1800
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("qualifier", [b"\x00" * 16, b"\x05" * 16 + b"\x00" * 7 + b"\x01", b"\x05" * 17 + b"\x00" * 7])
def test_a_key_that_ends_with_zero_bytes_keeps_them(qualifier):
    keys = np.array([b"\x01\x02\x03\x04\x00" + b"\x07" * 8 + qualifier], dtype=KEY)
    [cell] = CellBlock(keys, [b"value"]).cells(3)
    assert (cell.row, cell.qualifier) == (b"\x01\x02\x03\x04\x00" + b"\x07" * 8, qualifier)


def test_seen_ids_know_every_digest_of_many_batches_even_with_zero_bytes_at_the_end():
    zeros = np.array([b"\x01" * 15 + b"\x00", b"\x01" * 15 + b"\x01", b"\x01" * 14 + b"\x00\x00"], dtype=DIGEST)
    names = np.append(id_digests(str(number * number % 700) for number in range(2_000)), zeros)
    seen, known, came = SeenIds(), set(), []

    for first in range(0, len(names), 30):
        came += seen.add(names[first : first + 30]).tolist()

    assert came == [not (digest not in known and not known.add(digest)) for digest in names.tolist()]
    assert len(seen) == len(known)


def test_a_part_is_read_as_it_was_written(tmp_path):
    rejects = [Reject(Place("a\udcff.txt", 3), "no id", b"\xff\x00", None), Reject(Place("b", 0), "gone", b"", "id")]
    simhashes, segments, present = banded(50)
    part = SpoolPart(replace(entries_of(simhashes), bands=segments, shingles=300 * present.astype(np.uint32)), rejects)
    found = read_part(tmp_path / "part", write_part(tmp_path / "part", part))

    assert found.rejects == rejects
    assert list(found.entries.ids) == list(part.entries.ids)
    assert np.array_equal(found.entries.simhashes, part.entries.simhashes)
    assert np.array_equal(found.entries.segments, segments)
    assert np.array_equal(found.entries.shingles, part.entries.shingles)
    assert np.array_equal(found.entries.sketched, present)
    assert list(tmp_path.iterdir()) == [tmp_path / "part"]


def banded(count, *, seed=3, bands=6):
    """Fingerprints, segments and who has them, many of each more than once."""
    drawn = np.random.default_rng(seed)
    simhashes = drawn.choice(draw(count // 2, seed=seed), count)
    return simhashes, drawn.integers(0, 50, (count, bands), dtype=np.uint32), drawn.random(count) < 0.8


@pytest.mark.parametrize("rows_a_pass", [1 << 30, 5_000, 700])
def test_sketch_rows_come_with_the_block_rows_in_one_order(rows_a_pass):
    simhashes, segments, present = banded(2_000)
    scheme = Scheme(5, 2)
    found = joined(sorted_rows(Corpus.of(scheme, simhashes, segments, present), rows_a_pass=rows_a_pass))

    expected = set(pairs_of(block_rows(scheme, simhashes)))
    for simhash, own, has in zip(simhashes.tolist(), segments.tolist(), present.tolist(), strict=True):
        expected |= {(segment << 8 | 11 + band, simhash) for band, segment in enumerate(own) if has}
    assert pairs_of(found) == sorted(expected)
