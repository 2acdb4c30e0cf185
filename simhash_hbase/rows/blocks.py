"""Block schemes: how fingerprints are cut into blocks, so that row keys made of blocks find all near fingerprints.

A fingerprint is cut into *b* blocks. Two fingerprints that differ in at most *k* bits differ in at most *k* blocks, so
they agree in *b - k* of them: one table for every choice of *b - k* blocks, keyed by the bits of the chosen blocks,
finds every neighbour (Manku, Jain, Das Sarma: Detecting Near-Duplicates for Web Crawling, WWW 2007).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations
from math import comb
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidProfile
from simhash_hbase.rows.layout import FLAG_BITS, MAX_TABLES, SEGMENT_BITS, SIMHASH_BITS

U64 = np.uint64
# One fingerprint as an integer, or an array of them: the same operators work on both.
Simhashes: TypeAlias = Any
# Up to this number of fingerprints, integers are faster than arrays: 4 µs for one, rather than 50.
FEW = 4


@dataclass(frozen=True, slots=True)
class Table:
    """A block table: one choice of blocks of a fingerprint, whose bits begin the keys of the table's rows."""

    flag: int
    blocks: tuple[int, ...]
    bits: int


@dataclass(frozen=True)
class Scheme:
    """A block scheme, such as ``5x2``: fingerprints have `blocks` blocks, and `choose` of them key each table.

    Two fingerprints that differ in at most ``blocks - choose`` bits agree in the blocks of some table, so a search by
    its keys misses no such neighbour.

    Raises
    ------
    InvalidProfile
        When the numbers make no scheme, or need more tables than there are flags.

    Examples
    --------
    >>> scheme = Scheme.parse("5x2")
    >>> scheme.widths, len(scheme.tables), scheme.distance
    ((13, 13, 13, 13, 12), 10, 3)
    """

    blocks: int
    """Number of blocks of a fingerprint, as even as 64 bits allow; wider ones first."""
    choose: int
    """Number of blocks that make up a table's segment."""

    def __post_init__(self) -> None:
        if not 1 <= self.choose < self.blocks <= SIMHASH_BITS:
            raise InvalidProfile(f"scheme is {self}: wanted 1 <= chosen blocks < blocks <= {SIMHASH_BITS}")
        if (tables := comb(self.blocks, self.choose)) > MAX_TABLES:
            raise InvalidProfile(
                f"scheme {self} needs {tables:,} tables and a row key's flag has room for {MAX_TABLES}"
            )

    @classmethod
    def parse(cls, text: str) -> "Scheme":
        """Return the scheme that a text such as ``5x2`` or ``4x1`` names; raise `InvalidProfile` if it names none."""
        numbers = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text)
        if numbers is None:
            raise InvalidProfile(f"scheme is {text!r}: wanted BLOCKSxCHOSEN, such as 5x2 or 4x1")
        return cls(int(numbers[1]), int(numbers[2]))

    def __str__(self) -> str:
        return f"{self.blocks}x{self.choose}"

    @property
    def distance(self) -> int:
        """The largest Hamming distance, in bits, up to which a search misses no neighbour."""
        return self.blocks - self.choose

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of bits of each block, beginning with the block of the highest bits."""
        width, wider = divmod(SIMHASH_BITS, self.blocks)
        return (width + 1,) * wider + (width,) * (self.blocks - wider)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The block tables, one for each choice of blocks, in the order of their numbers (flags, from 1)."""
        choices = combinations(range(self.blocks), self.choose)
        return tuple(
            Table(flag, chosen, min(SEGMENT_BITS, sum(self.widths[i] for i in chosen)))
            for flag, chosen in enumerate(choices, 1)
        )

    def expected_rows(self, documents: int) -> float:
        """Return how many rows of unrelated documents a query is expected to read, in an index of this many documents.

        Their fingerprints are taken to be random.

        Examples
        --------
        >>> Scheme(5, 2).expected_rows(2**34), Scheme(4, 1).expected_rows(2**30)
        (3584.0, 65536.0)
        """
        return sum(documents / float(2**table.bits) for table in self.tables)

    def prefixes(self, simhashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the prefixes with which the keys of the block rows of fingerprints begin, one for each table.

        A block row has some blocks of a fingerprint in its key: documents that share one agree in these bits.

        Returns
        -------
        ndarray of uint64, shape (n, tables)
            ``segment << 8 | flag``, 40 bits; the segment is left-aligned in its 32 bits, so that rows spread over all
            regions of a table.
        """
        shape = (len(simhashes), len(self.tables))
        if len(simhashes) <= FEW:
            return np.array([list(self._prefixes(simhash)) for simhash in simhashes.tolist()], dtype=U64).reshape(shape)
        out = np.empty(shape, dtype=U64)
        for table, prefixes in enumerate(self._prefixes(simhashes)):
            out[:, table] = prefixes
        return out

    def agreeing(self, a: int, b: int) -> tuple[Table, ...]:
        """Return the tables in which two fingerprints have the same prefix: a search for one reads the other."""
        pairs = zip(self.tables, self._prefixes(a), self._prefixes(b), strict=True)
        return tuple(table for table, left, right in pairs if left == right)

    def differing_blocks(self, a: int, b: int) -> tuple[int, ...]:
        """Return the numbers of the blocks, from 0, in which two fingerprints differ; block 0 has the highest bits."""
        ends = enumerate(zip(self.widths, accumulate(self.widths), strict=True))
        return tuple(i for i, (width, end) in ends if (a ^ b) >> (SIMHASH_BITS - end) & ((1 << width) - 1))

    def _prefixes(self, simhashes: Simhashes) -> Iterator[Simhashes]:
        """Yield, for each table, the row-key prefix of one fingerprint, or those of an array of fingerprints."""
        for flag, moves in self._moves:
            prefix = flag
            for right, mask, left in moves:
                prefix = prefix | (simhashes >> right & mask) << left
            yield prefix

    @cached_property
    def _moves(self) -> tuple[tuple[int, tuple[tuple[int, int, int], ...]], ...]:
        """For each table its flag, and for each of its blocks how to move the bits into a prefix.

        These are three numbers: shift right, mask, shift left.
        """
        moves = []
        for table in self.tables:
            parts, room = [], SEGMENT_BITS
            for block in table.blocks:
                width = min(self.widths[block], room)
                room -= width
                behind = sum(self.widths[block + 1 :]) + self.widths[block] - width
                parts.append((behind, (1 << width) - 1, room + FLAG_BITS))
            moves.append((table.flag, tuple(parts)))
        return tuple(moves)
