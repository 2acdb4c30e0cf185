"""jieba itself: loaded when first needed, and the files that it ships.

Only jieba's default dictionary is supported, in a tokenizer of this package's own: words added to
``jieba.dt`` by others change nothing here. The tokenizer gets the words that a text can hold before it cuts the text,
from ``dict.txt`` itself. jieba's own loading takes a file of fixed name in the system's temporary folder instead, where
any user can leave one with other words, and all of it at once.
"""

import threading
from functools import cache, lru_cache

from simhash_hbase.words.exceptions import Mixed, is_unlikely, mixed_words, unlikely_words
from simhash_hbase.words.imported import imported_jieba
from simhash_hbase.words.installed import digest_of, jieba_file
from simhash_hbase.words.lexicon import Lexicon, beginnings_in

KNOWN = "abb0fde2fd1e81ed00bf609b85ac28bf"
"""Digest of ``dict.txt`` of jieba 0.42.1."""
_TOTAL = 60_101_967  # Of that file: to find it takes a tenth of a second.
_MAX_ASKED = 1 << 17  # Beginnings that are remembered as asked for: 10 MB. To ask for them again changes nothing.


_loading = threading.RLock()


class _Cutter:
    """jieba's tokenizer, which knows the words of the texts so far."""

    def __init__(self) -> None:
        self._words = dictionary()
        self._asked: set[str] = set()
        self._tokenizer = imported_jieba().Tokenizer()
        self._tokenizer.FREQ = {}
        self._tokenizer.total = total()
        # jieba reads its dictionary, through the temporary folder, only where this is not said.
        self._tokenizer.initialized = True
        self._learning = threading.Lock()

    def cut(self, text: str) -> list[str]:
        """Cut a text; jieba looks up nothing but parts of it."""
        with self._learning:
            self._learn(text)
        tokens: list[str] = self._tokenizer.lcut(text)
        return tokens

    def _learn(self, text: str) -> None:
        """Add words, and their beginnings with 0, as jieba does: they tell it to look for more characters."""
        frequencies = self._tokenizer.FREQ
        if len(self._asked) > _MAX_ASKED:
            self._asked.clear()
        beginnings = beginnings_in(text) - self._asked
        self._asked |= beginnings
        words = {word: int(frequency) for word, frequency in self._words.words(beginnings).items()}
        frequencies.update(words)
        for word in words:
            for stop in range(len(word) - 1, 0, -1):
                if word[:stop] in frequencies:
                    break
                frequencies[word[:stop]] = 0


@cache
def _loaded_cutter() -> _Cutter:
    return _Cutter()


@cache
def _loaded_dictionary() -> Lexicon:
    return Lexicon(dictionary_bytes())


def dictionary() -> Lexicon:
    """Return the words of the dictionary with their frequencies."""
    with _loading:
        return _loaded_dictionary()


@cache
def total() -> int:
    """Sum the frequencies of all lines."""
    if dictionary_digest() == KNOWN:
        return _TOTAL
    return sum(int(line.split()[1]) for line in dictionary_bytes().splitlines() if line.strip())


@cache
def mixed() -> Mixed:
    """Return the borders and the ASCII runs among the words that hold ASCII characters."""
    return mixed_words(dictionary())


@cache
def unlikely() -> frozenset[str]:
    """Return the Han words that jieba may cut into their characters."""
    if dictionary_digest() == KNOWN:
        return unlikely_words(dictionary(), total())
    # Another dictionary may have several lines about one word, of which the last one counts.
    return frozenset(filter(_is_unlikely, dictionary().all()))


class FewUnlikely:
    """The same words, looked up one by one: to find them all takes as long as to look up some thousands."""

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and _is_unlikely(word)


@lru_cache(maxsize=1 << 14)
def _is_unlikely(word: str) -> bool:
    return is_unlikely(dictionary(), total(), word)


@cache
def dictionary_bytes() -> bytes:
    """Read jieba's dictionary, once a process: its words are looked up in it."""
    return jieba_file("dict.txt").read_bytes()


@cache
def dictionary_digest() -> str:
    """Digest jieba's dictionary, to notice when another version cuts differently."""
    return digest_of(dictionary_bytes())


def jieba_cut(text: str) -> list[str]:
    """Cut a text by jieba itself."""
    with _loading:
        cutter = _loaded_cutter()
    return cutter.cut(text)
