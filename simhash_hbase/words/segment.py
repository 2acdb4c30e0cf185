"""Segmentation: the one place where the choice of a segmenter and of a version of words becomes a function.

``fast`` gives jieba's token lists by rjieba where that is installed (see `fast`), and is
jieba itself elsewhere; ``jieba`` is always jieba. Both are for Chinese and ASCII. With words ``unicode-1`` the other
scripts are cut by `unicode` before; with None, as in indexes of the first release, each of their letters is a
token.
"""

from collections.abc import Callable
from typing import NamedTuple

from simhash_hbase.errors import InvalidProfile
from simhash_hbase.words.ascii import cut_ascii
from simhash_hbase.words.dictionary import jieba_cut
from simhash_hbase.words.fast import Bag, FastSegmenter, fast_segmenter
from simhash_hbase.words.installed import fast_available
from simhash_hbase.words.long import MAX_BLOCK, pieces
from simhash_hbase.words.runs import ASCII_RUN
from simhash_hbase.words.unicode import Stretch, canonical, stretches, unusual

SEGMENTERS: tuple[str, ...] = ("fast", "jieba")  # The names that `segmenter` knows.

WORDS = "unicode-1"  # The version of words that new indexes get.


class Wording(NamedTuple):
    """How a text is cut into words."""

    segmenter: str = "fast"  # ``fast`` or ``jieba``.
    words: str | None = WORDS  # `WORDS`, or None as in indexes of the first release.
    folded: bool = False  # Whether NFKC and lower case come before; only with `WORDS`.


def cut(text: str) -> list[str]:
    """Cut a text into the tokens that ``jieba.lcut`` gives, as fast as this machine can.

    Examples
    --------
    >>> cut("用TF-IDF找T恤，版本12.1.2")
    ['用', 'TF', '-', 'IDF', '找', 'T恤', '，', '版本', '12.1', '.', '2']
    """
    return fast_segmenter().cut(text) if fast_available() else _plain_cut(text)


def block_cutter() -> FastSegmenter:
    """Return what cuts the blocks of a `Bag`; only the fast segmenter leaves any."""
    return fast_segmenter()


def prepare(name: str, characters: int) -> bool:
    """Load what so many characters are worth; return whether rjieba's own dictionary is used from now on."""
    return name == "fast" and fast_available() and fast_segmenter().prepare(characters)


def tokens(text: str, wording: Wording) -> list[str]:
    """Cut a text into its tokens, in order.

    Examples
    --------
    >>> tokens("L'été：用TF-IDF", Wording())
    ["L'été", '：', '用', 'TF', '-', 'IDF']
    """
    cut_rest = segmenter(wording.segmenter)
    if wording.words is None:
        return cut_rest(text)
    found: list[str] = []
    for before, words in _stretches(text, wording):
        found.extend(cut_rest(before) if before else ())
        found.extend(words)
    return found


def bag(text: str, wording: Wording, *, letters: bool) -> Bag:
    """Cut a text into its tokens without regard to their order, which is faster than `tokens`."""
    if wording.words is None:
        return _plain_bag(text, wording.segmenter, letters=letters)
    found = _stretches(text, wording)
    if len(found) == 1 and not found[0].words:
        return _plain_bag(found[0].before, wording.segmenter, letters=letters)
    tokens, blocks = _plain_bag(" ".join(before for before, _ in found), wording.segmenter, letters=letters)
    return Bag([*tokens, *(word for _, words in found for word in words)], blocks)


def _stretches(text: str, wording: Wording) -> list[Stretch]:
    if text.isascii() or not unusual(text):
        return [Stretch(text.lower() if wording.folded else text, [])]
    return list(stretches(canonical(text, folded=wording.folded)))


def _plain_bag(text: str, name: str, *, letters: bool) -> Bag:
    if name != "fast" or not fast_available():
        return Bag(_plain_cut(text), [])
    return fast_segmenter().bag(text, letters=letters)


def _plain_cut(text: str) -> list[str]:
    """Cut by jieba, which never sees an overlong block."""
    found: list[str] = []
    for piece in pieces(text):
        run = len(piece) > MAX_BLOCK and ASCII_RUN.fullmatch(piece)
        found.extend(cut_ascii(piece) if run else jieba_cut(piece))
    return found


def segmenter(name: str) -> Callable[[str], list[str]]:
    """Return a function that cuts text into tokens."""
    if name not in SEGMENTERS:
        raise InvalidProfile(f"Unknown segmenter {name!r}: choose one of {', '.join(SEGMENTERS)}.")
    return cut if name == "fast" else _plain_cut
