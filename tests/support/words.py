"""The words of a text as the kernel counts them, and the classes of characters that words are made of."""

import re
from collections import Counter
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase

import numpy as np

from simhash_hbase.features.fingerprints import Fingerprinter, count_features, fingerprint
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.kernel import tables
from simhash_hbase.kernel.segment import TOKENS, WORDS
from simhash_hbase.kernel.texts import bounded_word, canonical, cut


def tokens(text, *, folded=False, kind=TOKENS):
    """Cut a text into its tokens: of Chinese and ASCII those of ``jieba.lcut``, blanks and punctuation among them.

    Folded ones are those of the text in capitals, without blanks between characters of scripts that put none there.
    """
    if not folded:
        return cut(canonical(text, folded=False), kind)
    joined = BETWEEN.sub("", canonical(text, folded=True))
    return [token.translate(SMALL) for token in cut(joined.translate(CAPITALS), kind)]


def word_tokens(text):
    """List the words that `LearnedAnalyzer` counts, repeated or not: what its idf table is learned from."""
    return [bounded_word(word) for word in tokens(text, folded=True, kind=WORDS)]


def idf_of(token_lists):
    """Make the idf table of documents, each a list of its words, repeated or not."""
    documents = [set(tokens) for tokens in token_lists]
    counts = Counter(word for words in documents for word in words)
    return IdfTable(documents=len(documents), frequencies={word: n for word, n in counts.items() if n > 1})


def by_the_kernel(analyzer, texts, **options):
    simhashes, features = Fingerprinter(analyzer, **options).fingerprint_many(texts)
    assert (simhashes.dtype, features.dtype) == (np.uint64, np.int32)
    return list(zip(simhashes.tolist(), features.tolist(), strict=True))


def by_features(analyzer, texts, **options):
    """Do the same by the features that the analyzer lists."""
    listed = [analyzer.features(text) for text in texts]
    return [(fingerprint(pairs, **options) if pairs else 0, count_features(pairs)) for pairs in listed]


def _class(ranges):
    ends = (part.partition("-") for part in ranges.split())
    return "".join(f"\\U{int(first, 16):08x}-\\U{int(last or first, 16):08x}" for first, _, last in ends)


_BLOCKS = Path(tables.__file__).with_name("characters.txt").read_text("ascii").split("\n\n")[1:]
CLASSES = {name: _class(ranges) for name, _, ranges in (block.partition("\n") for block in _BLOCKS)}
LETTERS, DIGITS, MARKS = (CLASSES[name] for name in ("LETTERS", "DIGITS", "MARKS"))
HIRAGANA, KATAKANA, VOICED = (CLASSES[name] for name in ("HIRAGANA", "KATAKANA", "VOICED"))
UNSPACED, UNSPACED_MARKS, HEBREW = (CLASSES[name] for name in ("UNSPACED", "UNSPACED_MARKS", "HEBREW"))
MID_LETTER, MID_NUMBER = (CLASSES[name] for name in ("MID_LETTER", "MID_NUMBER"))

_TOGETHER = f"[\u4e00-\u9fd5{HIRAGANA}{KATAKANA}{VOICED}{UNSPACED}]"
BETWEEN = re.compile(rf"(?<={_TOGETHER})[\t-\r \x85\u1680\u2028\u2029]+(?={_TOGETHER})")
CAPITALS = str.maketrans(ascii_lowercase, ascii_uppercase)
SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)
