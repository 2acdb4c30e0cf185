"""Segmentation of Chinese text: the one place where the choice of segmenter becomes a function.

``fast`` gives jieba's token lists by rjieba where that is installed (see `fastsegment`), and is
jieba itself elsewhere; ``jieba`` is always jieba.
"""

from collections.abc import Callable

from simhash_hbase.dictionary import dictionary_digest, jieba_cut
from simhash_hbase.errors import InvalidProfile
from simhash_hbase.fastsegment import Bag, fast_available, fast_segmenter

__all__ = ["SEGMENTERS", "Bag", "bag", "cut", "cut_run", "dictionary_digest", "fast_available", "segmenter"]

SEGMENTERS: tuple[str, ...] = ("fast", "jieba")
"""The names that `segmenter` knows."""


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
    return fast_segmenter().cut(text) if fast_available() else jieba_cut(text)


def cut_run(run: str) -> list[str]:
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
    return fast_segmenter().cut_run(run) if fast_available() else jieba_cut(run)


def bag(text: str, *, name: str, letters: bool) -> Bag:
    """Cut a text into its tokens without regard to their order, which is faster than `cut`.

    Parameters
    ----------
    text : str
        Any text.
    name : str
        ``fast`` or ``jieba``.
    letters : bool
        Whether letters and numbers outside `HAN_RUN` and `ASCII_RUN` count; each is a token.

    Returns
    -------
    Bag
        All tokens that hold a word character, and perhaps others of one character.
    """
    if name != "fast" or not fast_available():
        return Bag(jieba_cut(text), [])
    return fast_segmenter().bag(text, letters=letters)


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
        raise InvalidProfile(f"Unknown segmenter {name!r}: choose one of {', '.join(SEGMENTERS)}.")
    return cut if name == "fast" else jieba_cut
