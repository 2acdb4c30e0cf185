"""The words of a text that an idf table counts."""

import re

from simhash_hbase.analyzers.protocols import check_segmenter
from simhash_hbase.segment import bag, cut_run
from simhash_hbase.segment import segmenter as _cutter

__all__ = ["has_word_character", "word_set", "word_tokens"]

has_word_character = re.compile(r"\w").search


def word_tokens(text: str, *, segmenter: str = "fast") -> list[str]:
    """List the tokens of a text that `LearnedAnalyzer` counts: what its idf table is learned from.

    Parameters
    ----------
    text : str
        Any text.
    segmenter : str
        ``fast`` or ``jieba``.

    Returns
    -------
    list of str
        Every token that holds a word character, lower-cased, in order.

    Examples
    --------
    >>> word_tokens("我爱 HBase！")
    ['我', '爱', 'hbase']
    """
    tokens = _cutter(segmenter)(text)
    return [token.lower() for token in tokens if has_word_character(token)]


def word_set(text: str, *, segmenter: str = "fast") -> set[str]:
    """Collect the different words of `word_tokens`, without their order: several times faster.

    Parameters
    ----------
    text : str
        Any text.
    segmenter : str
        ``fast`` or ``jieba``.

    Returns
    -------
    set of str

    Examples
    --------
    >>> sorted(word_set("我爱 HBase，我爱 hbase！"))
    ['hbase', '我', '爱']
    """
    check_segmenter(segmenter)
    tokens, runs = bag(text, name=segmenter, letters=True)
    found = set(tokens).union(*(cut_run(run.decode("ascii")) for run in set(runs)))
    return {token.lower() for token in found if has_word_character(token)}
