"""All block rows and sketch rows of a corpus in byte order, a range of prefixes at a time."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import NO_PREFIX, BlockRows, band_prefixes

U64 = np.uint64

ROWS_A_PASS = 1 << 22  # Rows that are sorted in memory at a time, at 40 bytes each.

SAMPLE = 1 << 12
# Prefixes of so many fingerprints are computed at a time; what does not belong to the pass is dropped at once.
CHUNK = 1 << 17


class Corpus(NamedTuple):
    """What the rows of documents are made of, in the order of the fingerprints."""

    scheme: Scheme
    simhashes: NDArray[np.uint64]
    segments: NDArray[np.uint32]  # Of the sketch rows, shape (n, bands).
    present: NDArray[np.bool_]  # Which documents have a sketch.

    @classmethod
    def of(
        cls,
        scheme: Scheme,
        simhashes: NDArray[np.uint64],
        segments: NDArray[np.uint32] | None = None,
        present: NDArray[np.bool_] | None = None,
    ) -> "Corpus":
        """Sort documents; most copies are dropped here, the others when their rows are sorted."""
        if segments is None or present is None:
            segments, present = np.empty((len(simhashes), 0), np.uint32), np.zeros(len(simhashes), np.bool_)
        order = np.argsort(simhashes, kind="stable")
        sorted_ = cls(scheme, simhashes[order], segments[order], present[order])
        new = np.ones(len(order), np.bool_)
        new[1:] = sorted_.simhashes[1:] != sorted_.simhashes[:-1]
        new[1:] |= (sorted_.segments[1:] != sorted_.segments[:-1]).any(axis=1)
        new[1:] |= sorted_.present[1:] != sorted_.present[:-1]
        return cls(scheme, sorted_.simhashes[new], sorted_.segments[new], sorted_.present[new])

    def prefixes(self, some: slice) -> NDArray[np.uint64]:
        """Compute the prefixes of some documents; `NO_PREFIX` where there is no row."""
        blocks = self.scheme.prefixes(self.simhashes[some])
        if not self.segments.shape[1]:
            return blocks
        return np.hstack([blocks, band_prefixes(self.scheme, self.segments[some], self.present[some])])


def sorted_rows(corpus: Corpus, *, rows_a_pass: int = ROWS_A_PASS) -> Iterator[BlockRows]:
    """Expand documents to all their rows.

    Every pass computes the prefixes of all documents again and keeps those of its own range. That costs less than
    writing rows down and reading them back would, and a corpus of 100 million documents needs 240 passes of some
    seconds.
    """
    if not len(corpus.simhashes):
        return
    for start, stop in pairwise(_bounds(corpus, rows_a_pass)):
        rows = _one_pass(corpus, start, stop)
        if len(rows.prefixes):
            yield rows


def _bounds(corpus: Corpus, rows_a_pass: int) -> list[int]:
    """Choose ranges of prefixes that hold about equally many rows, by a sample of the documents."""
    count = len(corpus.simhashes)
    prefixes = np.sort(corpus.prefixes(slice(None, None, max(1, count // SAMPLE))).reshape(-1))
    passes = -(-count * (len(corpus.scheme.tables) + corpus.segments.shape[1]) // rows_a_pass)
    inner = {int(prefixes[len(prefixes) * number // passes]) for number in range(1, passes)}
    # What has no row lies behind the last range.
    return [0, *sorted(inner - {int(NO_PREFIX)}), int(NO_PREFIX)]


def _one_pass(corpus: Corpus, start: int, stop: int) -> BlockRows:
    """Sort the rows of one range; prefix and owner are one integer where both fit, which sorts many times faster."""
    owner_bits = max(1, (len(corpus.simhashes) - 1).bit_length())
    fits = (stop - start - 1).bit_length() + owner_bits <= U64(0).nbytes * 8
    prefixes, owners = _select(corpus, start, stop)
    if not fits:
        order = np.lexsort((owners, prefixes))
        return BlockRows(prefixes[order], corpus.simhashes[owners[order]]).without_repeats()
    keys = (prefixes - U64(start)) << U64(owner_bits) | owners
    keys.sort()
    places = (keys & U64((1 << owner_bits) - 1)).astype(np.intp)
    # Documents of one fingerprint share rows.
    return BlockRows((keys >> U64(owner_bits)) + U64(start), corpus.simhashes[places]).without_repeats()


def _select(corpus: Corpus, start: int, stop: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Compute the prefixes in a range, and whose each is; the fingerprints ascend, so owners order rows by them."""
    found, whose = [], []
    for first in range(0, len(corpus.simhashes), CHUNK):
        prefixes = corpus.prefixes(slice(first, first + CHUNK))
        inside = (prefixes >= U64(start)) & (prefixes < U64(stop))
        found.append(prefixes[inside])
        whose.append(np.nonzero(inside)[0].astype(U64) + U64(first))
    return np.concatenate(found), np.concatenate(whose)
