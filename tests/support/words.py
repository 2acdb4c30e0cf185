"""The words of a text, one by one: what the kernel counts."""

from simhash_hbase.kernel.segment import TOKENS, WORDS
from simhash_hbase.kernel.texts import bounded_word, canonical, cut


def tokens(text, *, folded=False, kind=TOKENS):
    """Cut a text into its tokens: of Chinese and ASCII those of ``jieba.lcut``, blanks and punctuation among them."""
    return cut(canonical(text, folded=folded), kind)


def word_tokens(text):
    """List the words that `LearnedAnalyzer` counts, repeated or not: what its idf table is learned from."""
    return [bounded_word(word) for word in tokens(text, folded=True, kind=WORDS)]
