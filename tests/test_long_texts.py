"""Texts of megabytes without a blank: cut in linear time, and bounded in what is kept of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simhash_hbase.features.analyzers import JiebaAnalyzer, word_tokens
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.features.wordsums import WordSums
from simhash_hbase.words import ascii as asciiruns
from simhash_hbase.words import fast as fastsegment
from simhash_hbase.words import long as longblocks
from simhash_hbase.words import segment
from simhash_hbase.words.ascii import cut_ascii
from simhash_hbase.words.dictionary import dictionary, jieba_cut
from simhash_hbase.words.fast import FastSegmenter
from simhash_hbase.words.long import MAX_BLOCK, pieces
from simhash_hbase.words.segment import Wording, bag, cut, segmenter

plain = segmenter("jieba")
ASCII_PIECES = ["C++", "c#", "AT&T", "AT", "&", "T", "+", "#", "c", "C", "1", ".", "2", "12", "%", "-", "_", "a", "Z9"]
LENGTH = 40_000
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


class Seen(list):
    """Notes the lengths of what it is called with, and goes on."""

    def wrapping(self, function):
        def called(text):
            self.append(len(text))
            return function(text)

        return called


@pytest.fixture
def seen_by_jieba(monkeypatch):
    seen = Seen()
    for module in (fastsegment, segment):
        monkeypatch.setattr(module, "jieba_cut", seen.wrapping(jieba_cut))
    return seen


@given(st.lists(st.sampled_from(ASCII_PIECES), max_size=10).map("".join))
@settings(max_examples=1500, deadline=None, derandomize=True)
def test_ascii_is_cut_as_jieba_does(run):
    assert cut_ascii(run) == jieba_cut(run)


def test_no_two_ascii_words_of_the_dictionary_can_overlap():
    words = sorted(asciiruns._word_splitter().pattern.strip("()").replace("\\", "").split("|"))

    assert words == sorted(word for word in dictionary().all() if word.isascii())
    assert not [(a, b) for a in words for b in words for n in range(1, len(a)) if b.startswith(a[-n:]) and b != a]


@pytest.mark.parametrize("words", ["unicode-1", None])
@pytest.mark.parametrize("kind", LONG)
def test_jieba_sees_no_overlong_block(kind, words, seen_by_jieba):
    text = "开头 " + LONG[kind] + " 结尾"

    bag(text, Wording(words=words), letters=True)
    segment.tokens(text, Wording(words=words))

    assert max(seen_by_jieba, default=0) <= MAX_BLOCK


@pytest.mark.parametrize("kind", ["hexadecimal digits", "base64", "Han with ties", "Han with mixed words"])
def test_plain_jieba_sees_no_overlong_block_either(kind, seen_by_jieba):
    text = LONG[kind][: 3 * MAX_BLOCK + 5]

    assert plain(text) == cut(text)
    assert max(seen_by_jieba, default=0) <= MAX_BLOCK


@pytest.mark.parametrize("kind", LONG)
def test_a_long_text_has_a_fingerprint_or_none_and_keeps_its_characters(kind):
    text = "中国人民，" + LONG[kind]
    analyzer = JiebaAnalyzer(top=5)
    simhashes, counts = Fingerprinter(analyzer).fingerprint_many([text])

    assert counts[0] > 0
    assert simhashes[0] > 0
    assert "".join(cut(text)) == text


@given(
    st.lists(
        st.tuples(st.sampled_from(["中", "a", "常在", "a1", "T恤", "é", " ", "，", "C++"]), st.integers(1, 30)),
        max_size=6,
    )
)
@settings(max_examples=500, deadline=None, derandomize=True)
def test_pieces_are_the_text_and_hold_no_overlong_block(parts):
    text = "".join(part * count for part, count in parts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longblocks, "MAX_BLOCK", 8)
        patch.setattr(longblocks, "_HALF", 4)
        short = longblocks.re.compile(longblocks._half_a_block().pattern.replace("2048", "4"))
        patch.setattr(longblocks, "_half_a_block", lambda: short)
        patch.setattr(
            longblocks,
            "_split_long_runs",
            longblocks.re.compile(longblocks._split_long_runs.__self__.pattern.replace("4097", "9")).split,
        )
        found = pieces(text)

    assert "".join(found) == text
    for piece in found:
        blocks = [m.group() for m in longblocks._blocks(piece)]
        assert (blocks == [piece] and piece.isascii()) or all(len(block) <= 8 for block in blocks)


@pytest.mark.parametrize("before", [0, 1, 2047, 2048, 2049, 4095])
def test_a_block_is_cut_from_the_first_character_beyond_the_bound(before):
    start = "，" * before

    assert pieces(start + "是" * MAX_BLOCK + "。") == [start + "是" * MAX_BLOCK + "。"]
    assert "是" in pieces(start + "是" * (MAX_BLOCK + 1) + "。")
    assert pieces(start + "a" * (MAX_BLOCK + 1))[-1] == "a" * (MAX_BLOCK + 1)


def test_the_caches_keep_no_long_run():
    segmenter = FastSegmenter()
    for number in range(50):
        segmenter.cut_run(f"{number:04}" * 1000)
    segmenter.cut_run("TF-IDF")

    assert list(segmenter._runs) == ["TF-IDF"]


def test_the_tables_of_words_are_bounded_in_characters(monkeypatch):
    monkeypatch.setattr("simhash_hbase.features.wordrows._MAX_CHARACTERS", 50_000)
    texts = [f"第{number}篇 {number:05}" + "abcde" * 2000 for number in range(40)]
    sums = WordSums(JiebaAnalyzer(), hash="murmur3", seed=0)

    one_by_one = [WordSums(JiebaAnalyzer(), hash="murmur3", seed=0).fingerprint_many([text])[0][0] for text in texts]
    assert sums.fingerprint_many(texts)[0].tolist() == one_by_one
    assert sum(map(len, sums._words._tokens)) + sum(map(len, sums._words._blocks)) <= 100_000


def test_word_tokens_of_long_runs_are_bounded():
    assert max(map(len, word_tokens("0f9a" * 5000 + " " + "ж" * 5000))) < 100
