"""rjieba for a few texts: its library without its dictionary, which takes a tenth of a second to build on import.

It is given the words that the texts so far can hold, from jieba's dictionary: the path of a text leads through no
others, so that it is the same.
"""

import threading
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from simhash_hbase.words.ascii import SEPARATOR
from simhash_hbase.words.dictionary import dictionary
from simhash_hbase.words.lexicon import BEGINNING
from simhash_hbase.words.runs import BLOCK

WEIGHT = 60_101_964
"""What all words of rjieba's own dictionary weigh, that of `simhash_hbase.words.dictionary.KNOWN`."""

FEW = 20_000
"""Characters that are worth less time than rjieba's own dictionary: a text of its own has new words all the time."""

# What all other words weigh is a word, too: weights are shares of the whole. No block of Han holds this character.
_OTHERS = "\uffff"


class FewWords:
    """Cuts by rjieba what texts hold of jieba's dictionary. Threads take turns."""

    def __init__(self) -> None:
        self._jieba = jieba_class().empty()
        self._words = dictionary()
        self._known: set[str] = set()
        self._blocks: set[str] = set()
        self._others = WEIGHT
        self._lock = threading.Lock()
        self.left = FEW  # Characters that are still few; below 0 the whole dictionary is worth its time.

    def cut(self, text: str, hmm: bool = True) -> list[str]:
        """Cut a text."""
        with self._lock:
            self.left -= len(text)
            blocks = set(BLOCK.findall(text)) - self._blocks
            if blocks:
                self._blocks |= blocks
                self._learn(SEPARATOR.join(blocks))
            tokens: list[str] = self._jieba.cut(text, hmm)
        return tokens

    def _learn(self, blocks: str) -> None:
        """Add the words of some blocks; to add one takes ten times as long as to see that they do not hold it."""
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place in range(len(blocks)):
            places[blocks[place : place + BEGINNING]].append(place)
        words = self._words.words_in(blocks)
        found = {
            word: int(frequency)
            for word, frequency in words.items()
            if word not in self._known and _is_at(word, blocks, places)
        }
        for word, frequency in found.items():
            self._jieba.add_word(word, frequency, "")
        self._known.update(found)
        self._others -= sum(found.values())
        self._jieba.add_word(_OTHERS, self._others, "")


def _is_at(word: str, text: str, places: Mapping[str, list[int]]) -> bool:
    """Return whether a text holds a word with one of the beginnings that it has, by the places of each."""
    return len(word) <= BEGINNING or True in [text.startswith(word, place) for place in places[word[:BEGINNING]]]


@cache
def jieba_class() -> Any:  # noqa: ANN401 - rjieba has no types for it
    """Load rjieba's library without the module around it, whose import builds the dictionary."""
    package = find_spec("rjieba")
    for folder in (package and package.submodule_search_locations) or ():
        for suffix in EXTENSION_SUFFIXES:
            file = Path(folder) / f"rjieba{suffix}"
            spec = spec_from_file_location("rjieba.rjieba", file)
            if spec and spec.loader and file.exists():
                library = module_from_spec(spec)
                spec.loader.exec_module(library)
                return library.Jieba
    import rjieba  # noqa: PLC0415 - a release of another shape

    return rjieba.Jieba
