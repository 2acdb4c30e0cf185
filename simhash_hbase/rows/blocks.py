"""Block schemes: which bits of a fingerprint must agree, so that no neighbour within k is missed.

A fingerprint is cut into *b* blocks. Two fingerprints that differ in at most *k* bits differ in at most *k* blocks, so
they agree in *b - k* of them: one table for every choice of *b - k* blocks, keyed by the bits of the chosen blocks,
finds every neighbour (Manku, Jain, Das Sarma: Detecting Near-Duplicates for Web Crawling, WWW 2007).
"""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidProfile
from simhash_hbase.rows.layout import FLAG_BITS, MAX_TABLES, SEGMENT_BITS, SIMHASH_BITS

U64 = np.uint64
# Up to so many fingerprints, integers are faster than arrays.
FEW = 4


@dataclass(frozen=True, slots=True)
class Table:
    """One choice of blocks."""

    flag: int
    blocks: tuple[int, ...]
    bits: int


@dataclass(frozen=True)
class Scheme:
    """*blocks* blocks of which *choose* must agree; complete up to distance ``blocks - choose``.

    Parameters
    ----------
    blocks : int
        Number of blocks, as even as 64 bits allow; wider ones first.
    choose : int
        Blocks that make up a table's segment.

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
    choose: int

    def __post_init__(self) -> None:
        if not 1 <= self.choose < self.blocks <= SIMHASH_BITS:
            raise InvalidProfile(f"scheme {self}: wanted 1 <= chosen blocks < blocks <= {SIMHASH_BITS}")
        if (tables := comb(self.blocks, self.choose)) > MAX_TABLES:
            raise InvalidProfile(
                f"scheme {self} needs {tables:,} tables and a row key's flag has room for {MAX_TABLES}"
            )

    @classmethod
    def parse(cls, text: str) -> "Scheme":
        """Read the written form, such as ``5x2`` or ``4x1``.

        Parameters
        ----------
        text : str
            Blocks, an ``x``, chosen blocks.

        Returns
        -------
        Scheme

        Raises
        ------
        InvalidProfile
            When the text has another form.
        """
        found = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text)
        if found is None:
            raise InvalidProfile(f"scheme {text!r}: wanted BLOCKSxCHOSEN, such as 5x2 or 4x1")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.blocks}x{self.choose}"

    @property
    def distance(self) -> int:
        """The largest Hamming distance up to which no neighbour is missed."""
        return self.blocks - self.choose

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Bits of each block, from the most significant end."""
        width, wider = divmod(SIMHASH_BITS, self.blocks)
        return (width + 1,) * wider + (width,) * (self.blocks - wider)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Every choice of blocks, in the order of their flags."""
        choices = combinations(range(self.blocks), self.choose)
        return tuple(
            Table(flag, chosen, min(SEGMENT_BITS, sum(self.widths[i] for i in chosen)))
            for flag, chosen in enumerate(choices, 1)
        )

    def expected_rows(self, documents: int) -> float:
        """Rows that one query reads though unrelated, for uniform fingerprints.

        Parameters
        ----------
        documents : int
            Fingerprints in the index.

        Returns
        -------
        float
            Summed over all tables.

        Examples
        --------
        >>> Scheme(5, 2).expected_rows(2**34), Scheme(4, 1).expected_rows(2**30)
        (3584.0, 65536.0)
        """
        return sum(documents / float(2**table.bits) for table in self.tables)

    def prefixes(self, simhashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Compute segment and flag of every row of every fingerprint.

        Parameters
        ----------
        simhashes : ndarray of uint64, shape (n,)
            Fingerprints.

        Returns
        -------
        ndarray of uint64, shape (n, tables)
            ``segment << 8 | flag``, 40 bits; the segment is left-aligned in its 32 bits, so that rows
            spread over all regions of a table.
        """
        if len(simhashes) <= FEW:
            few = [self._prefixes_of(simhash) for simhash in simhashes.tolist()]
            return np.array(few, dtype=U64).reshape(len(few), len(self.tables))
        blocks = self._split(simhashes)
        out = np.empty((len(simhashes), len(self.tables)), dtype=U64)
        for column, table in enumerate(self.tables):
            out[:, column] = self._segment(blocks, table) << U64(FLAG_BITS) | U64(table.flag)
        return out

    def agreeing(self, a: int, b: int) -> tuple[Table, ...]:
        """List the tables that join two fingerprints.

        Parameters
        ----------
        a, b : int
            Fingerprints.

        Returns
        -------
        tuple of Table
            Those in which both have the same segment; empty when no scan of one finds the other.
        """
        left, right = self.prefixes(np.array([a, b], dtype=U64))
        return tuple(self.tables[i] for i in np.flatnonzero(left == right))

    def differing_blocks(self, a: int, b: int) -> tuple[int, ...]:
        """List the blocks in which two fingerprints differ, counted from the most significant end."""
        blocks = self._split(np.array([a, b], dtype=U64))
        return tuple(i for i, (left, right) in enumerate(blocks) if left != right)

    def _prefixes_of(self, simhash: int) -> list[int]:
        """Compute the prefixes of one fingerprint without numpy, whose calls cost more than the bits do."""
        if self.choose == 2:  # noqa: PLR2004 - the default scheme, written out: a query does not wait for the loop
            return [
                (simhash >> right & mask) << left | (simhash >> right2 & mask2) << left2 | flag
                for flag, ((right, mask, left), (right2, mask2, left2)) in self._moves
            ]
        prefixes = []
        for flag, parts in self._moves:
            for right, mask, left in parts:
                flag |= (simhash >> right & mask) << left  # noqa: PLW2901
            prefixes.append(flag)
        return prefixes

    @cached_property
    def _moves(self) -> tuple[tuple[int, tuple[tuple[int, int, int], ...]], ...]:
        """For each table how its blocks' bits move into the segment: shift right, mask, shift left into a prefix."""
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

    def _split(self, simhashes: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
        out, shift = [], SIMHASH_BITS
        for width in self.widths:
            shift -= width
            out.append(simhashes >> U64(shift) & U64((1 << width) - 1))
        return out

    def _segment(self, blocks: list[NDArray[np.uint64]], table: Table) -> NDArray[np.uint64]:
        """Concatenate the chosen blocks, keep the first 32 bits, left-align them."""
        segment, room = np.zeros(len(blocks[0]), dtype=U64), SEGMENT_BITS
        for block in table.blocks:
            width = min(self.widths[block], room)
            room -= width
            segment = segment << U64(width) | blocks[block] >> U64(self.widths[block] - width)
        return segment << U64(room)
