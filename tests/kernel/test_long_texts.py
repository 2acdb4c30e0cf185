"""Texts of megabytes without a blank: cut in linear time, and bounded in what is kept of them."""

import pytest
from support.plain_jieba import jieba
from support.words import word_tokens

from simhash_hbase.features.analyzers import JiebaAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.kernel import COMPILED
from simhash_hbase.kernel.texts import cut

LENGTH = 40_000 if COMPILED else 4_000
LONG = {
    "hexadecimal digits": "0f9a" * (LENGTH // 4),
    "base64": "C++/AT&Tq9+".replace("/", "") * (LENGTH // 10),
    "one Han character": "的" * LENGTH,
    "Han": "我们在中国人民大学读书" * (LENGTH // 11),
    "Han with ties": "他们常在中国" * (LENGTH // 6),
    "Han with mixed words": "买T恤去卡拉OK" * (LENGTH // 8),
    "extension B": "\U00020001" * LENGTH,
    "Cyrillic": "ж" * LENGTH,
    "Cyrillic and ASCII": "жa" * (LENGTH // 2),
    "apostrophes": "é'" * (LENGTH // 2),
    "full stops": "a." * (LENGTH // 2) + "é",
    "Thai": "ก" * LENGTH,
    "kana": "かカ" * (LENGTH // 2),
    "marks": "e" + "\u0301" * LENGTH,
    "surrogates": "\ud800" * LENGTH,
    "emoji": "😀" * LENGTH,
}


@pytest.mark.parametrize("kind", ["hexadecimal digits", "base64", "one Han character", "Han with ties"])
def test_blocks_of_any_length_are_cut_as_jieba_does(kind):
    text = LONG[kind][:10_000]

    assert cut(text) == jieba.lcut(text)


@pytest.mark.parametrize("kind", LONG)
def test_a_long_text_has_a_fingerprint_or_none_and_keeps_its_characters(kind):
    text = "中国人民，" + LONG[kind]
    analyzer = JiebaAnalyzer(top=5)
    simhashes, counts = Fingerprinter(analyzer).fingerprint_many([text])

    assert counts[0] > 0
    assert simhashes[0] > 0
    assert "".join(cut(text)) == text


def test_word_tokens_of_long_runs_are_bounded():
    assert max(map(len, word_tokens("0f9a" * 5000 + " " + "ж" * 5000))) < 100
