"""All block rows of a corpus in byte order, a range of prefixes at a time."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import ALL_PREFIXES, BlockRows

U64 = np.uint64

ROWS_A_PASS = 1 << 22
"""Rows sorted in memory at a time, 40 bytes each."""

SAMPLE = 1 << 12
# Prefixes are computed for this many fingerprints at a time; those outside the pass are dropped at once.
CHUNK = 1 << 17


def sorted_block_rows(
    scheme: Scheme, simhashes: NDArray[np.uint64], *, rows_a_pass: int = ROWS_A_PASS
) -> Iterator[BlockRows]:
    """Expand fingerprints to all their block rows.

    Every pass computes the prefixes of all fingerprints again and keeps those of its own range. That costs less than to
    write all rows to a file and read them back: 100 million documents need 240 passes of some seconds.
    """
    if not len(simhashes):
        return
    bounds = _bounds(scheme, simhashes, rows_a_pass)
    for start, stop in pairwise(bounds):
        rows = _one_pass(scheme, simhashes, start, stop)
        if len(rows.prefixes):
            yield rows


def _bounds(scheme: Scheme, simhashes: NDArray[np.uint64], rows_a_pass: int) -> list[int]:
    """Choose prefix ranges with about equally many rows, by a sample of the fingerprints."""
    passes = -(-len(simhashes) * len(scheme.tables) // rows_a_pass)
    sample = simhashes[:: max(1, len(simhashes) // SAMPLE)]
    prefixes = np.sort(scheme.prefixes(sample).reshape(-1))
    inner = {int(prefixes[len(prefixes) * number // passes]) for number in range(1, passes)}
    return [0, *sorted(inner), ALL_PREFIXES]


def _one_pass(scheme: Scheme, simhashes: NDArray[np.uint64], start: int, stop: int) -> BlockRows:
    """Sort the rows of one range; one integer holds prefix and owner where both fit, and sorts many times faster."""
    owner_bits = max(1, (len(simhashes) - 1).bit_length())
    fits = (stop - start - 1).bit_length() + owner_bits <= U64(0).nbytes * 8
    prefixes, owners = _select(scheme, simhashes, start, stop)
    if not fits:
        order = np.lexsort((owners, prefixes))
        return BlockRows(prefixes[order], simhashes[owners[order]])
    keys = (prefixes - U64(start)) << U64(owner_bits) | owners
    keys.sort()
    places = (keys & U64((1 << owner_bits) - 1)).astype(np.intp)
    return BlockRows((keys >> U64(owner_bits)) + U64(start), simhashes[places])


def _select(
    scheme: Scheme, simhashes: NDArray[np.uint64], start: int, stop: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the prefixes in a range, and the position of each one's fingerprint; fingerprints ascend."""
    found, whose = [], []
    for first in range(0, len(simhashes), CHUNK):
        prefixes = scheme.prefixes(simhashes[first : first + CHUNK])
        inside = (prefixes >= U64(start)) & (prefixes < U64(stop))
        found.append(prefixes[inside])
        whose.append(np.nonzero(inside)[0].astype(U64) + U64(first))
    return np.concatenate(found), np.concatenate(whose)
