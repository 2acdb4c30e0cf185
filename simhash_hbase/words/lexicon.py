"""The words of one of jieba's files and the number of each, looked up where they stand: no table is made of them.

A process that cuts a few sentences needs some hundred of jieba's 349,045 words, and a table of all of them takes half a
second to make. To find where lines begin, and their order by the first bytes of the words, takes some hundredths.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.words.keyranges import KEY_BYTES, key_ranges

_LINE_END = ord("\n")
_ZERO, _NINE = ord("0"), ord("9")
_PIECE = 1 << 17  # Bytes that are looked through at a time.
_MOST_IN_ORDER = 1 << 7  # Fewer lines than one in so many are before the one above them.
BEGINNING = 2  # Characters.


class Lexicon:
    r"""Looks up words in lines of a word, a number and perhaps more, with one blank between two.

    Of several lines about one word the last one counts.

    Examples
    --------
    >>> words = Lexicon("天 1 n\n天上 2 n\n天上人间 3 n".encode())
    >>> words.words(["天上", "人间"])
    {'天上': '2', '天上人间': '3'}
    """

    def __init__(self, content: bytes) -> None:
        self.content = content or b"\n"
        self.bytes: NDArray[np.uint8] = np.frombuffer(self.content, np.uint8)
        """The content as an array of bytes."""
        ends = (np.flatnonzero(piece == _LINE_END) + start for start, piece in pieces(self.bytes))
        self._ends = np.concatenate(
            [*(some.astype(np.int32) for some in ends), np.array([len(self.content)], np.int32)]
        )
        self.starts: NDArray[np.int32] = np.concatenate([np.zeros(1, np.int32), self._ends[:-1] + 1])
        """Where each line begins."""
        keys = self._first_bytes()
        # A sort that looks for runs takes a tenth of the time where nearly all lines are in order, and else triple.
        in_order = _MOST_IN_ORDER * np.count_nonzero(keys[1:] < keys[:-1]) < len(keys)
        self._lines = np.argsort(keys, kind="stable" if in_order else None).astype(np.int32)
        self._keys = keys[self._lines]

    def _first_bytes(self) -> NDArray[np.uint64]:
        """Read eight bytes from the beginning of each line as a number: in the order of the bytes."""
        stop = max(0, len(self.content) + 1 - KEY_BYTES)
        # Eight bytes from each place on; behind the content there are ends of lines.
        within = np.ndarray((stop,), ">u8", self.content, strides=(1,))
        behind = self.content[stop:] + b"\n" * KEY_BYTES
        last = np.ndarray((len(behind) + 1 - KEY_BYTES,), ">u8", behind, strides=(1,))
        lines = np.searchsorted(self.starts, stop)
        keys = (within[self.starts[:lines]], last[self.starts[lines:] - stop])
        return np.concatenate([some.astype(np.uint64) for some in keys])

    def bytes_at(self, places: NDArray[np.integer]) -> NDArray[np.uint8]:
        """Read the bytes at some places; behind the content there are ends of lines."""
        found: NDArray[np.uint8] = self.bytes[np.minimum(places, len(self.bytes) - 1)]
        found[places >= len(self.bytes)] = _LINE_END
        return found

    @cached_property
    def _sorted_keys(self) -> memoryview:
        # A search in a view takes a millionth of a second; a call of numpy takes several.
        return self._keys.data

    def words(self, beginnings: Iterable[str]) -> dict[str, str]:
        """Give the words with these beginnings of two characters. A beginning of one character is a word itself."""
        asked = [_encoded(f"{beginning} "[:BEGINNING]) for beginning in beginnings]
        return self._between(*(np.array(list(map(bound, asked)), np.uint64) for bound in (_least, _greatest)))

    def words_in(self, text: str) -> dict[str, str]:
        """Give the words that a text may hold, and their numbers.

        They are the words of one and two characters that it has, and of the longer ones those with eight bytes of it.
        """
        return self._between(*key_ranges(text))

    def _between(self, first: NDArray[np.uint64], last: NDArray[np.uint64]) -> dict[str, str]:
        left, right = np.searchsorted(self._keys, first), np.searchsorted(self._keys, last, "right")
        counts = right - left
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.lines(np.sort(self._lines[np.repeat(left, counts) + within]))

    def lines(self, lines: NDArray[np.integer]) -> dict[str, str]:
        """Give the words of some lines, in ascending order, and their numbers."""
        places = zip(self.starts[lines].tolist(), self._ends[lines].tolist(), strict=True)
        return _pairs([self.content[start:end] for start, end in places])

    def get(self, word: str) -> str | None:
        """Give the number of a word, or None."""
        asked = _encoded(f"{word} ")
        left = bisect_left(self._sorted_keys, _least(asked[:KEY_BYTES]))
        right = bisect_right(self._sorted_keys, _greatest(asked[:KEY_BYTES]), left)
        for line in sorted(self._lines[left:right].tolist(), reverse=True):
            if self.content.startswith(asked, self.starts[line]):
                return _pairs([self.content[self.starts[line] : self._ends[line]]]).get(word)
        return None

    def all(self) -> dict[str, str]:
        """Give all words and their numbers."""
        return _pairs(self.content.splitlines())

    def numbers_at(self, places: NDArray[np.integer]) -> NDArray[np.int64]:
        """Read the whole numbers that begin at some places of `bytes`."""
        numbers = np.zeros(len(places), np.int64)
        rest = np.arange(len(places))
        at = 0
        while len(rest):
            found = self.bytes_at(places[rest] + at)
            is_digit = (found >= _ZERO) & (found <= _NINE)
            rest = rest[is_digit]
            numbers[rest] = 10 * numbers[rest] + (found[is_digit] - _ZERO)
            at += 1
        return numbers


def pieces(array: NDArray[Any], *, overlap: int = 0) -> Iterator[tuple[int, NDArray[Any]]]:
    """Cut an array into pieces, with the place of each: what is computed of one piece fits in the processor's cache.

    To give new memory to results as large as one of jieba's files takes as long as to compute them.
    """
    for start in range(0, max(1, len(array) - overlap), _PIECE):
        yield start, array[start : start + _PIECE + overlap]


def beginnings_in(text: str) -> set[str]:
    """Find the beginnings of all words that a text can hold, and those of one character.

    Examples
    --------
    >>> sorted(beginnings_in("天天好"))
    ['天', '天天', '天好', '好']
    """
    return {*text, *map(add, text, text[1:])}


def _pairs(lines: list[bytes]) -> dict[str, str]:
    try:
        # One call decodes all lines.
        decoded = b"\n".join(lines).decode().split("\n")
        return {fields[0]: fields[1] for line in decoded if (fields := line.split(None, 2))}
    except IndexError as error:
        raise CorruptIndex("a list of words has a line without a number") from error


def _encoded(text: str) -> bytes:
    # A lone surrogate is in no word.
    return text.encode(errors="surrogatepass")


def _least(prefix: bytes) -> int:
    return int.from_bytes(prefix.ljust(KEY_BYTES, b"\0"))


def _greatest(prefix: bytes) -> int:
    return int.from_bytes(prefix.ljust(KEY_BYTES, b"\xff"))
