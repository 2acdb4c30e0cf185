"""Segmentation of Chinese text: jieba's token lists, several times faster where rjieba is installed.

rjieba (jieba-rs, the same algorithm in Rust) cuts text without ASCII as jieba does. Elsewhere it
does not, and these rules make the two agree:

1. ASCII runs (``[a-zA-Z0-9+#&._%-]+``) are cut by jieba, through a cache; what lies between them
   is cut by rjieba in one call, with a separator in place of each run.
2. A block in which the two meet as in a dictionary word of mixed script (``T恤``, ``卡拉OK``) is cut
   by jieba as a whole.
3. jieba joins single characters beside an ASCII run with that run before it asks whether they are
   a dictionary word, so it runs its hidden Markov model where rjieba does not. Only words of two
   characters that are rarer than their characters would be by chance come into question.
4. Han characters outside U+4E00-U+9FD5, which jieba does not know as such, are single tokens.

Only jieba's default dictionary is supported, in a tokenizer of this module's own: words added to
``jieba.dt`` by others change nothing here.
"""

import logging
import re
import threading
import warnings
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Any

from simhash_hbase.errors import InvalidProfile, MissingExtra

__all__ = [
    "ASCII_RUN",
    "HAN_RUN",
    "SEGMENTERS",
    "FastSegmenter",
    "ascii_runs",
    "cut",
    "dictionary_digest",
    "fast_available",
    "jieba_file",
    "segmenter",
]

SEGMENTERS: tuple[str, ...] = ("fast", "jieba")
"""The names that `segmenter` knows."""

_ASCII = r"a-zA-Z0-9+#&._%\-"
_HAN = "\u4e00-\u9fd5"
_RARE_HAN = "\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00020000-\U0002ffff"
_SEPARATOR = "\x00"

ASCII_RUN = re.compile(f"[{_ASCII}]+")
"""A run of the ASCII characters that jieba takes into a block."""
HAN_RUN = re.compile(f"[{_HAN}]+")
"""A run of the Han characters that jieba takes into a block."""

_split_ascii = re.compile(f"([{_ASCII}]+)").split
_split_rare = re.compile(f"([{_RARE_HAN}{_SEPARATOR}]+)").split
_find_blocks = re.compile(f"[{_HAN}{_ASCII}]+").finditer

_MAX_CACHED_RUNS = 1 << 18
_MAX_CACHED_LENGTH = 40
_TO_BLANK = bytes(
    byte if byte < 128 and ASCII_RUN.fullmatch(chr(byte)) else 0x20 for byte in range(256)
)


def ascii_runs(text: str) -> list[bytes]:
    """List the ASCII runs of a text, in order.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of bytes
        What ``ASCII_RUN.findall`` finds, as bytes; several times faster.

    Examples
    --------
    >>> ascii_runs("用TF-IDF 和 k=3")
    [b'TF-IDF', b'k', b'3']
    """
    return text.encode("ascii", "replace").translate(_TO_BLANK).split()


@cache
def _jieba() -> ModuleType:
    with warnings.catch_warnings():
        # jieba 0.42.1 asks pkg_resources for its files and has old escapes in its source.
        warnings.simplefilter("ignore")
        import jieba  # noqa: PLC0415 - loading it takes a second, and not every index needs it
    module: ModuleType = jieba
    return module


@cache
def _rjieba_cut() -> Callable[[str], list[str]] | None:
    try:
        import rjieba  # noqa: PLC0415 - optional
    except ImportError:
        return None
    function: Callable[[str], list[str]] = rjieba.cut
    return function


_loading = threading.Lock()


@cache
def _loaded_tokenizer() -> Any:  # noqa: ANN401 - jieba has no types
    tokenizer = _jieba().Tokenizer()
    logger = logging.getLogger("jieba")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        tokenizer.initialize()
    finally:
        logger.setLevel(level)
    return tokenizer


def _tokenizer() -> Any:  # noqa: ANN401 - jieba has no types
    with _loading:
        return _loaded_tokenizer()


def jieba_file(*names: str) -> Path:
    """Give the path of a file that jieba ships, such as its dictionary.

    Parameters
    ----------
    *names : str
        Folders and file below jieba's own folder.

    Returns
    -------
    Path
        Where the file lies.
    """
    return Path(str(_jieba().__file__)).parent.joinpath(*names)


@cache
def dictionary_digest() -> str:
    """Digest jieba's dictionary, to notice when another version cuts differently.

    Returns
    -------
    str
        BLAKE2b, 16 bytes, of ``dict.txt``, in hexadecimal digits.
    """
    return blake2b(jieba_file("dict.txt").read_bytes(), digest_size=16).hexdigest()


def fast_available() -> bool:
    """Tell whether rjieba is installed, so that ``fast`` is faster than jieba.

    Returns
    -------
    bool
        True if it is.
    """
    return _rjieba_cut() is not None


class FastSegmenter:
    """jieba's token lists, cut by rjieba where the two agree.

    Notes
    -----
    Made once a process by `segmenter`. Threads may share it: its caches only ever gain entries
    that any thread would compute alike, up to a bound.
    """

    def __init__(self) -> None:
        cut_han = _rjieba_cut()
        if cut_han is None:
            raise MissingExtra("The fast segmenter needs rjieba: pip install rjieba")
        tokenizer = _tokenizer()
        self._cut_han = cut_han
        self._cut_jieba: Callable[[str], list[str]] = tokenizer.lcut
        self._borders, self._ascii_words = _mixed_words(tokenizer.FREQ)
        self._unlikely = _unlikely_pairs(tokenizer.FREQ, tokenizer.total)
        self._runs: dict[str, list[str]] = {}
        self._pairs: dict[str, list[str]] = {}

    def cut(self, text: str) -> list[str]:
        """Cut a text into the tokens that ``jieba.lcut`` gives.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of str
            The tokens, blanks and punctuation among them; together they are the text.
        """
        pieces = _split_rare(text)
        if len(pieces) == 1:
            return self._cut_plain(text)
        tokens: list[str] = []
        for number, piece in enumerate(pieces):
            tokens.extend(piece if number % 2 else self._cut_plain(piece))
        return tokens

    def cut_run(self, run: str) -> list[str]:
        """Cut one ASCII run, through a cache.

        Parameters
        ----------
        run : str
            A match of `ASCII_RUN`.

        Returns
        -------
        list of str
            Its tokens; not to be changed.
        """
        tokens = self._runs.get(run)
        if tokens is None:
            tokens = self._cut_jieba(run)
            if len(run) <= _MAX_CACHED_LENGTH and len(self._runs) < _MAX_CACHED_RUNS:
                self._runs[run] = tokens
        return tokens

    def cut_stretches(self, stretches: list[str]) -> list[str]:
        """Cut several stretches without ASCII, none of which touches an ASCII run in a way that counts.

        Parameters
        ----------
        stretches : list of str
            Runs of Han characters.

        Returns
        -------
        list of str
            The tokens of all, with separators of one character between the stretches.
        """
        return self._cut_han(_SEPARATOR.join(stretches))

    def needs_order(self, between: list[str], runs: list[str]) -> bool:
        """Tell whether rule 2 or 3 may apply in a text, so that `cut` must see it whole.

        Parameters
        ----------
        between, runs : list of str
            The text, split at its ASCII runs: ``between`` has one entry more than ``runs``.

        Returns
        -------
        bool
            False if stretches and runs may be cut each for themselves.
        """
        ends = {piece[-2:] for piece in between[:-1]}
        starts = {piece[:2] for piece in between[1:]}
        return not self._unlikely.isdisjoint(ends | starts) or self._mixed(between, runs)

    def _mixed(self, between: list[str], runs: list[str]) -> bool:
        borders = {piece[-1:] + run[0] for piece, run in zip(between, runs, strict=False)}
        borders.update([run[-1] + piece[:1] for piece, run in zip(between[1:], runs, strict=True)])
        return not self._borders.isdisjoint(borders)

    def _cut_plain(self, text: str) -> list[str]:
        """Cut a text that has neither rare Han characters nor the separator."""
        parts = _split_ascii(text)
        between, runs = parts[::2], parts[1::2]
        if self._mixed(between, runs):
            return self._cut_mixed(text)
        tokens = self._cut_han(_SEPARATOR.join(between))
        return self._put_back(tokens, runs) if runs else tokens

    def _cut_mixed(self, text: str) -> list[str]:
        """Give the blocks that hold a border of a mixed word to jieba."""
        tokens: list[str] = []
        start = 0
        for match in _find_blocks(text):
            parts = _split_ascii(match.group())
            if self._mixed(parts[::2], parts[1::2]):
                if match.start() > start:
                    tokens.extend(self._cut_plain(text[start : match.start()]))
                tokens.extend(self._cut_jieba(match.group()))
                start = match.end()
        if start < len(text):
            tokens.extend(self._cut_plain(text[start:]))
        return tokens

    def _put_back(self, tokens: list[str], runs: list[str]) -> list[str]:
        """Put the ASCII runs back in place of the separators, and repair the borders."""
        result: list[str] = []
        start = 0
        before = ""
        for run in runs:
            stop = tokens.index(_SEPARATOR, start)
            if stop > start:
                result.extend(self._repair(tokens[start:stop], before, run))
            result.extend(self.cut_run(run))
            start = stop + 1
            before = run
        if start < len(tokens):
            result.extend(self._repair(tokens[start:], before, ""))
        return result

    def _repair(self, tokens: list[str], before: str, after: str) -> list[str]:
        """Run jieba's model on two single characters beside an ASCII run (rule 3)."""
        if len(tokens) == 1:
            return tokens
        end = tokens[-2] + tokens[-1]
        if after and end in self._unlikely and _alone(tokens, -3):
            if not after.startswith(self._ascii_words):
                tokens[-2:] = self._model(end)
            if len(tokens) == 1:
                return tokens
        start = tokens[0] + tokens[1]
        if (
            before
            and start in self._unlikely
            and _alone(tokens, 2)
            and not before.endswith(self._ascii_words)
        ):
            tokens[:2] = self._model(start)
        return tokens

    def _model(self, pair: str) -> list[str]:
        tokens = self._pairs.get(pair)
        if tokens is None:
            tokens = self._pairs[pair] = list(_jieba().finalseg.cut(pair))
        return tokens


def _alone(tokens: list[str], position: int) -> bool:
    """Tell that the token at a position, if any, is no single Han character."""
    if not -len(tokens) <= position < len(tokens):
        return True
    token = tokens[position]
    return len(token) > 1 or not "\u4e00" <= token <= "\u9fd5"


def _mixed_words(frequencies: dict[str, int]) -> tuple[set[str], tuple[str, ...]]:
    """Find the borders of script inside dictionary words, and the words that are ASCII runs."""
    borders: set[str] = set()
    ascii_words: list[str] = []
    starts_or_holds_ascii = re.compile(f"^.*[{_ASCII}].*$", re.MULTILINE)
    for word in starts_or_holds_ascii.findall("\n".join(frequencies)):
        if len(word) < 2 or not frequencies[word]:
            continue
        if ASCII_RUN.fullmatch(word):
            ascii_words.append(word)
        for first, second in zip(word, word[1:], strict=False):
            if bool(ASCII_RUN.match(first)) != bool(ASCII_RUN.match(second)):
                borders.add(first + second)
    return borders, tuple(ascii_words)


def _unlikely_pairs(frequencies: dict[str, int], total: int) -> set[str]:
    """Find the words of two Han characters that jieba may cut into its two characters.

    Longer words never are: their characters one by one are less likely in the default dictionary.
    """
    get = frequencies.get
    # One part in a million more than exact, since jieba compares sums of logarithms.
    margin = total * (1 - 1e-6)
    return {
        word
        for word, frequency in frequencies.items()
        if frequency
        and len(word) == 2  # noqa: PLR2004
        and frequency * margin <= (get(word[0]) or 1) * (get(word[1]) or 1)
        and HAN_RUN.fullmatch(word)
    }


@cache
def _fast() -> FastSegmenter:
    return FastSegmenter()


def _jieba_cut(text: str) -> list[str]:
    tokens: list[str] = _tokenizer().lcut(text)
    return tokens


def fast_segmenter() -> FastSegmenter | None:
    """Give this process's fast segmenter.

    Returns
    -------
    FastSegmenter or None
        None if rjieba is not installed.
    """
    return _fast() if fast_available() else None


def cut(text: str) -> list[str]:
    """Cut a text into the tokens that ``jieba.lcut`` gives, as fast as this machine can.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of str
        The tokens, blanks and punctuation among them.

    Examples
    --------
    >>> cut("用TF-IDF找T恤，版本12.1.2")
    ['用', 'TF', '-', 'IDF', '找', 'T恤', '，', '版本', '12.1', '.', '2']
    """
    return _fast().cut(text) if fast_available() else _jieba_cut(text)


def segmenter(name: str) -> Callable[[str], list[str]]:
    """Give a function that cuts text into tokens.

    Parameters
    ----------
    name : str
        ``fast``, or ``jieba`` for jieba itself.

    Returns
    -------
    callable
        From a text to the list of its tokens. ``fast`` is jieba too where rjieba is missing.

    Raises
    ------
    InvalidProfile
        There is no segmenter of this name.
    """
    if name not in SEGMENTERS:
        raise InvalidProfile(
            f"Unknown segmenter {name!r}: choose one of {', '.join(SEGMENTERS)}."
        )
    return cut if name == "fast" else _jieba_cut
