"""Texts as rows of a table of words, in place of the words themselves.

A word's row is found when it is first seen, and kept. So are the rows of a block: half of the characters of ordinary
texts, and most of templates, stand in blocks that were cut before. All new blocks of a text are cut by a few calls,
and no step of Python is made a word or a block that is known.
"""

import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain, filterfalse
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.digests import blake2b
from simhash_hbase.words.ascii import SEPARATOR
from simhash_hbase.words.fast import Bag, FastSegmenter
from simhash_hbase.words.segment import block_cutter

MAX_BLOCKS = 1 << 17
"""Blocks whose rows are remembered: one takes some 250 bytes, so 30 MB in all."""

# A row takes some 300 bytes with its word and the dictionaries that lead to it: 80 MB in all.
_MAX_ROWS = 1 << 18
# Words are short, but a run of letters may take megabytes.
_MAX_CHARACTERS = 1 << 24
_ROW = np.dtype(np.intc)
# No row's highest byte is 0xFF, and four bytes in line hold one such byte: this is found between rows only.
_BETWEEN = b"\xff" * _ROW.itemsize

_AT_ONCE = 256  # Blocks that are cut together, of a million characters at most, whose tokens take 70 MB.
_KEY_BYTES = 16

Rows = NDArray[np.intc]
Counts = NDArray[np.int64]


class WordSource(Protocol):
    """What an analyzer says of words."""

    def bag(self, text: str) -> Bag:
        """Give the tokens of a text in any order, and the blocks that are yet to be cut."""

    def word(self, token: str) -> str | None:
        """Give the word that a token counts for, None if for none."""


class _Tokens(dict[str, bytes]):
    """The row of a token's word as bytes, none for a token that does not count; new words get new rows."""

    def __init__(self, source: WordSource) -> None:
        super().__init__({SEPARATOR: _BETWEEN})
        self._word = source.word
        self._rows: dict[str, bytes] = {}
        self.characters = 0
        self.words: list[str] = []

    def __missing__(self, token: str) -> bytes:
        word = self._word(token)
        self[token] = row = b"" if word is None else self._row_of(word)
        self.characters += len(token)
        return row

    def _row_of(self, word: str) -> bytes:
        row = self._rows.get(word)
        if row is None:
            self._rows[word] = row = len(self.words).to_bytes(_ROW.itemsize, sys.byteorder)
            self.words.append(word)
        return row


class _Blocks(dict[str, bytes]):
    """The rows of a block's words."""

    def __init__(self, tokens: _Tokens) -> None:
        super().__init__()
        self._tokens = tokens
        self.characters = 0

    @cached_property
    def _cutter(self) -> FastSegmenter:
        return block_cutter()

    def rows(self, blocks: list[str]) -> bytes:
        """Give the rows of blocks one behind the other."""
        return b"".join(self._some(blocks[at : at + _AT_ONCE]) for at in range(0, len(blocks), _AT_ONCE))

    def _some(self, blocks: list[str]) -> bytes:
        new = self._new(blocks)
        if new:
            divided = self._cutter.divided(new)
            self._cut(self._new(chain(filterfalse(divided.__contains__, new), *divided.values())))
            for block, parts in divided.items():
                self[block] = b"".join(map(self.__getitem__, parts))
            self.characters += sum(map(len, divided))
        return b"".join(map(self.__getitem__, blocks))

    def _new(self, blocks: Iterable[str]) -> dict[str, None]:
        return dict.fromkeys(filterfalse(self.__contains__, blocks))

    def _cut(self, blocks: Iterable[str]) -> None:
        rows = self._tokens.__getitem__
        for few, tokens in self._cutter.cut_many(blocks):
            self.update(zip(few, b"".join(map(rows, tokens)).split(_BETWEEN), strict=True))
            self.characters += sum(map(len, few))


class WordRows:
    """Counts the words of texts, by rows.

    The table starts anew after 262,144 words, or 16 million characters of words and blocks; that of blocks alone after
    131,072 blocks. One thread at a time.
    """

    def __init__(self, source: WordSource) -> None:
        self._source = source
        self._reset()

    def _reset(self) -> None:
        self._tokens = _Tokens(self._source)
        self._blocks = _Blocks(self._tokens)
        self._places = np.zeros(1, np.int64)

    @property
    def words(self) -> list[str]:
        """The words of all rows."""
        return self._tokens.words

    def make_room(self) -> bool:
        """Start anew where the tables have become too large; return whether the rows given so far say nothing now."""
        if len(self._tokens) > _MAX_ROWS or self._tokens.characters + self._blocks.characters > _MAX_CHARACTERS:
            self._reset()
            return True
        if len(self._blocks) > MAX_BLOCKS:
            self._blocks = _Blocks(self._tokens)
        return False

    def counted(self, text: str) -> tuple[Rows, Counts]:
        """Give the distinct rows of a text's words, and how often each occurs."""
        tokens, blocks = self._source.bag(text)
        found = self._blocks.rows(blocks)
        if tokens:
            # A text may hold the separator, which is no word.
            found += b"".join(map(self._tokens.__getitem__, tokens)).replace(_BETWEEN, b"")
        return self._merged(np.frombuffer(found, _ROW))

    def _merged(self, rows: Rows) -> tuple[Rows, Counts]:
        """Count equal rows."""
        if len(self.words) > len(self._places):
            self._places = np.zeros(2 * len(self.words), np.int64)
        self._places[rows] = np.arange(len(rows))
        counts = np.bincount(self._places[rows])
        kept = np.flatnonzero(counts)
        return rows[kept], counts[kept]


class CountedTexts(NamedTuple):
    """What was counted of some texts, and the rows that it says so by."""

    words: WordRows  # Its owner from now on is whoever takes this.
    texts: Mapping[bytes, tuple[Rows, Counts]]  # By `text_key`.


def text_key(text: str) -> bytes:
    """Digest a text as it is."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()
