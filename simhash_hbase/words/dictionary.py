"""jieba itself: loaded when first needed, and the files that it ships.

Only jieba's default dictionary is supported, in a tokenizer of this package's own: words added to
``jieba.dt`` by others change nothing here. The tokenizer gets the words that a text can hold before it cuts the text,
from a lexicon of ``dict.txt``. jieba's own loading takes a file of fixed name in the system's temporary folder instead,
where any user can leave one with other words, and all of it at once.
"""

import threading
import warnings
from functools import cache
from types import ModuleType
from typing import Any

import msgspec

from simhash_hbase.words.exceptions import Exceptions, exceptions_in
from simhash_hbase.words.installed import jieba_file
from simhash_hbase.words.keeping import Made, kept_digest, lexicon_of
from simhash_hbase.words.lexicon import Words, beginnings_in

_FIELDS = 3  # Of a line: word, frequency and part of speech.
_MAX_ASKED = 1 << 17  # Beginnings that are remembered as asked for: 10 MB. To ask for them again changes nothing.


@cache
def _jieba() -> ModuleType:
    with warnings.catch_warnings():
        # jieba 0.42.1 asks pkg_resources for its files and has old escapes in its source.
        warnings.simplefilter("ignore")
        import jieba  # noqa: PLC0415 - not every index needs it
    module: ModuleType = jieba
    return module


_loading = threading.RLock()


class _Cutter:
    """jieba's tokenizer, which knows the words of the texts so far."""

    def __init__(self) -> None:
        self._words = dictionary()
        self._asked: set[str] = set()
        self._tokenizer = _jieba().Tokenizer()
        self._tokenizer.FREQ = {}
        self._tokenizer.total = self._words.facts["total"]
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
def _loaded_dictionary() -> Words:
    return lexicon_of(jieba_file("dict.txt"), _made)


def dictionary() -> Words:
    """Return the words of the dictionary with their frequencies, and what is to be known of all of them."""
    with _loading:
        return _loaded_dictionary()


@cache
def exceptions() -> Exceptions:
    """Return the words that need a rule of their own."""
    return msgspec.convert([dictionary().facts[name] for name in Exceptions._fields], Exceptions)


def _made(content: bytes) -> Made:
    """Read the words with their frequencies, and find those about which jieba decides otherwise than rjieba."""
    text = content.decode()
    # No word holds a blank.
    fields = text.split()
    if len(fields) == _FIELDS * text.count("\n"):
        words, numbers = fields[::3], list(map(int, fields[1::3]))
        frequencies, total = dict(zip(words, numbers, strict=True)), sum(numbers)
    else:
        with jieba_file("dict.txt").open("rb") as file:
            frequencies, total = _jieba().Tokenizer().gen_pfdict(file)
    if 0 in frequencies.values():
        frequencies = {word: frequency for word, frequency in frequencies.items() if frequency}
    facts = {"total": total, "words": sum(frequencies.values()), **exceptions_in(frequencies, total)._asdict()}
    return dict(zip(frequencies, map(str, frequencies.values()), strict=True)), facts


def dictionary_bytes() -> bytes:
    """Read jieba's dictionary."""
    return jieba_file("dict.txt").read_bytes()


@cache
def dictionary_digest() -> str:
    """Digest jieba's dictionary, to notice when another version cuts differently."""
    return kept_digest(jieba_file("dict.txt"))


def jieba_cut(text: str) -> list[str]:
    """Cut a text by jieba itself."""
    with _loading:
        cutter = _loaded_cutter()
    return cutter.cut(text)


def jieba_model() -> Any:  # noqa: ANN401 - jieba has no types
    """Return the module with the tables of jieba's hidden Markov model."""
    return _jieba().finalseg
