"""jieba's token lists, several times faster, by rjieba (jieba-rs, the same algorithm in Rust).

rjieba cuts text without ASCII as jieba does. These rules make the two agree on all other text:

1. ASCII runs (``[a-zA-Z0-9+#&._%-]+``) are cut by `cut_ascii`, through a cache; the text between them
   is cut by rjieba in one call, with a separator in place of each run.
2. A block in which the two meet as in a dictionary word of mixed script (``T恤``, ``卡拉OK``) is cut
   by jieba as a whole, or as jieba does (see `mixed`).
3. jieba joins single characters beside an ASCII run with that run before it looks them up in the
   dictionary, so it runs its hidden Markov model where rjieba does not. This concerns only words that are
   rarer than their characters would be by chance: 8,000 of two characters, five of three.
4. Two paths of that model can weigh the same but for rounding, which jieba and rjieba round differently.
   In runs of Han with such a pair (`_TIES`, those found so far) rjieba finds the words of the dictionary,
   and `WordModel` cuts the rest.
5. Han characters outside U+4E00-U+9FD5, which are not Han to jieba, are single tokens, and so are lone
   surrogates, which rjieba does not accept.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache, cached_property, lru_cache
from itertools import chain, filterfalse, groupby
from typing import NamedTuple

from simhash_hbase.errors import MissingExtra
from simhash_hbase.words.ascii import SEPARATOR, cut_ascii
from simhash_hbase.words.dictionary import KNOWN, FewUnlikely, dictionary, dictionary_digest, jieba_cut, mixed, unlikely
from simhash_hbase.words.few import FewWords, jieba_class
from simhash_hbase.words.installed import fast_available
from simhash_hbase.words.long import pieces
from simhash_hbase.words.mixed import cut_block, split_han
from simhash_hbase.words.model import WordModel
from simhash_hbase.words.runs import ASCII, BLOCK, HAN, ascii_runs, is_han, run_of

_RARE_HAN = "\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00020000-\U0002ffff"
_SURROGATES = "\ud800-\udfff"

_split_ascii = re.compile(f"({run_of(ASCII)})").split
_find_ascii = re.compile(f"[{ASCII}]").search

_TIES = ("常在",)
_find_tie = re.compile("|".join(_TIES)).search
_MAX_CACHED_RUNS = 1 << 18
_MAX_CACHED_LENGTH = 40


# Compiled on first use, since each takes a thousandth of a second.
@cache
def _rare() -> re.Pattern[str]:
    return re.compile(f"({run_of(_RARE_HAN + _SURROGATES + SEPARATOR)})")


@cache
def _letters() -> re.Pattern[str]:
    return re.compile(f"[^\\W{HAN}{ASCII}]")


@cache
def _rjieba_cut() -> Callable[..., list[str]]:
    # To build its dictionary takes a tenth of a second. Others may add words to the one that its module shares.
    function: Callable[..., list[str]] = jieba_class()().cut
    return function


class Bag(NamedTuple):
    """The tokens of a text in any order."""

    tokens: list[str]  # Tokens.
    blocks: list[str]  # Runs of Han and ASCII, which are still to be cut: see `FastSegmenter.divided` and `cut_many`.


class FastSegmenter:
    """jieba's token lists, cut by rjieba where the two agree.

    Made once a process by `segmenter`. Threads may share it: its caches only ever gain entries
    that any thread would compute alike, up to a bound.
    """

    def __init__(self) -> None:
        if not fast_available():
            raise MissingExtra("The fast segmenter needs rjieba: pip install rjieba")
        # It is rjieba's own dictionary: with any other one, few words would cut otherwise than all.
        is_same = dictionary_digest() == KNOWN
        self._few = FewWords() if is_same else None
        self._cut_by_rjieba: Callable[..., list[str]] = self._cut_few if is_same else _rjieba_cut()
        self._borders, self._ascii_words = mixed()
        self._runs: dict[str, list[str]] = {}

    @property
    def _unlikely(self) -> Container[str]:
        return FewUnlikely() if self._few is not None else unlikely()

    @cached_property
    def _model(self) -> WordModel:
        return WordModel()

    def prepare(self, characters: int) -> bool:
        """Load rjieba's own dictionary where it is worth that; return whether it is loaded."""
        few = self._few
        if few is not None and characters > few.left:
            # In this order: another thread that finds no few words finds what takes their place.
            self._cut_by_rjieba = _rjieba_cut()
            self._few = None
        return self._few is None

    def _cut_few(self, text: str, hmm: bool = True) -> list[str]:
        few = self._few
        if few is None or self.prepare(len(text)):
            return self._cut_by_rjieba(text, hmm)
        return few.cut(text, hmm)

    def cut(self, text: str) -> list[str]:
        """Cut a text into the tokens that ``jieba.lcut`` gives."""
        tokens: list[str] = []
        for piece in pieces(text):
            for number, part in enumerate(_rare().split(piece)):
                tokens.extend(part if number % 2 else self._cut_plain(part))
        return tokens

    def cut_run(self, run: str) -> list[str]:
        """Cut one ASCII run, through a cache."""
        tokens = self._runs.get(run)
        if tokens is None:
            tokens = cut_ascii(run)
            if len(run) <= _MAX_CACHED_LENGTH and len(self._runs) < _MAX_CACHED_RUNS:
                self._runs[run] = tokens
        return tokens

    def divided(self, blocks: Iterable[str]) -> dict[str, list[str]]:
        """Divide mixed blocks into runs of Han and of ASCII, where these can be cut apart."""
        found: dict[str, list[str]] = {}
        for block in filter(_find_ascii, filterfalse(str.isascii, blocks)):
            parts = _split_ascii(block)
            if self._apart(parts):
                found[block] = list(filter(None, parts))
        return found

    def cut_many(self, blocks: Iterable[str]) -> Iterator[tuple[list[str], list[str]]]:
        """Cut blocks by few calls: yields some of them, and the tokens of each with `SEPARATOR` between two blocks.

        What is beside a block changes nothing.
        """
        found = list(blocks)
        yield from _joined(list(filter(str.isascii, found)), cut_ascii)
        han = list(filterfalse(str.isascii, found))
        others: list[str] = []
        # One search for all blocks: most texts have none that is to be cut alone.
        for find in (_find_ascii, _find_tie):
            if find(SEPARATOR.join(han)):
                others.extend(filter(find, han))
                han = list(filterfalse(find, han))
        yield from _joined(han, self._cut_by_rjieba)
        yield from (([block], self._cut_plain(block)) for block in others)

    def bag(self, text: str, *, letters: bool) -> "Bag":
        """Cut a text into a `Bag`, without blanks and punctuation."""
        if text.isascii():
            return Bag([], ascii_runs(text))
        blocks = list(chain.from_iterable(map(BLOCK.findall, pieces(text))))
        return Bag(_letters().findall(text) if letters else [], blocks)

    def _apart(self, parts: list[str]) -> bool:
        """Whether the parts of a mixed block are cut as if they stood alone (rules 2 and 3)."""
        borders, unlikely = self._borders, self._unlikely
        for at in range(1, len(parts), 2):
            before, run, after = parts[at - 1 : at + 2]
            if before[-1:] + run[0] in borders or before[-2:] in unlikely or before[-3:] in unlikely:
                return False
            if run[-1] + after[:1] in borders or after[:2] in unlikely or after[:3] in unlikely:
                return False
        return True

    def _mixed(self, between: list[str], runs: list[str]) -> bool:
        borders = {piece[-1:] + run[0] for piece, run in zip(between, runs, strict=False)}
        borders.update([run[-1] + piece[:1] for piece, run in zip(between[1:], runs, strict=True)])
        return not self._borders.isdisjoint(borders)

    def _cut_plain(self, text: str) -> list[str]:
        """Cut a text that has neither rare Han characters nor the separator, nor an overlong block."""
        parts = _split_ascii(text)
        between, runs = parts[::2], parts[1::2]
        if self._mixed(between, runs):
            return self._cut_mixed(text)
        tokens = self._cut_han(SEPARATOR.join(between))
        return self._put_back(tokens, runs) if runs else tokens

    def _cut_mixed(self, text: str) -> list[str]:
        """Cut the blocks with a border of a mixed word by jieba."""
        tokens: list[str] = []
        start = 0
        for match in BLOCK.finditer(text):
            parts = _split_ascii(match.group())
            if self._mixed(parts[::2], parts[1::2]):
                tokens.extend(self._cut_plain(text[start : match.start()]))
                tokens.extend(self._cut_block(match.group()))
                start = match.end()
        tokens.extend(self._cut_plain(text[start:]))
        return tokens

    def _cut_block(self, block: str) -> list[str]:
        # jieba is faster where it has cut many blocks before.
        return jieba_cut(block) if self._few is None else cut_block(block, self._model)

    def _put_back(self, tokens: list[str], runs: list[str]) -> list[str]:
        """Put the ASCII runs back in place of the separators, and repair the borders."""
        result: list[str] = []
        start = 0
        before = ""
        for run in runs:
            stop = tokens.index(SEPARATOR, start)
            result.extend(self._repair(tokens[start:stop], before, run))
            result.extend(self.cut_run(run))
            start = stop + 1
            before = run
        result.extend(self._repair(tokens[start:], before, ""))
        return result

    def _repair(self, tokens: list[str], before: str, after: str) -> list[str]:
        """Run jieba's model on the single characters beside an ASCII run (rule 3)."""
        if after and not after.startswith(self._ascii_words):
            start = len(tokens) - _singles(reversed(tokens))
            if not self._is_modelled(tokens[start - 1 : start]):
                tokens[start:] = self._modelled(tokens[start:])
        if before and not before.endswith(self._ascii_words):
            stop = _singles(tokens)
            if not self._is_modelled(tokens[stop : stop + 1]):
                tokens[:stop] = self._modelled(tokens[:stop])
        return tokens

    def _is_modelled(self, neighbours: list[str]) -> bool:
        """Whether the token beside single characters comes from the model, which then has seen these, too."""
        return any(
            len(token) > 1 and is_han(token) and (not _is_word(token) or token in self._unlikely)
            for token in neighbours
        )

    def _modelled(self, characters: list[str]) -> list[str]:
        word = "".join(characters)
        return self._model.cut(word) if word in self._unlikely else characters

    def _cut_han(self, text: str) -> list[str]:
        """Cut a text without ASCII (rule 4)."""
        if not _find_tie(text):
            return self._cut_by_rjieba(text)
        tokens: list[str] = []
        for part in split_han(text):
            tokens.extend(self._cut_tied(part) if _find_tie(part) else self._cut_by_rjieba(part))
        return tokens

    def _cut_tied(self, run: str) -> list[str]:
        """Cut a run of Han as jieba does: words of the dictionary first, then single characters by the model."""
        tokens: list[str] = []
        for single, words in groupby(self._cut_by_rjieba(run, False), lambda word: len(word) == 1):
            found = list(words)
            joined = "".join(found)
            modelled = single and len(found) > 1 and not _is_word(joined)
            tokens.extend(self._model.cut(joined) if modelled else found)
        return tokens


def _joined(blocks: list[str], cut: Callable[[str], list[str]]) -> Iterator[tuple[list[str], list[str]]]:
    """Cut blocks by one call."""
    if blocks:
        yield blocks, cut(SEPARATOR.join(blocks))


@lru_cache(maxsize=1 << 16)
def _is_word(token: str) -> bool:
    return int(dictionary().get(token) or 0) > 0


def _singles(tokens: Iterable[str]) -> int:
    """Count the single Han characters that a token list begins with."""
    count = 0
    for token in tokens:
        if len(token) != 1 or not "\u4e00" <= token <= "\u9fd5":
            break
        count += 1
    return count


@cache
def fast_segmenter() -> FastSegmenter:
    """Return this process's fast segmenter."""
    return FastSegmenter()
