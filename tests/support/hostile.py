"""Texts that are short, odd or large, and everything that the kernel makes of texts."""

from hashlib import blake2b

from simhash_hbase.features.analyzers import JiebaAnalyzer, LearnedAnalyzer, ShingleAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.features.idf import learn
from simhash_hbase.kernel import COMPILED
from simhash_hbase.kernel.texts import Batch, cut
from support.languages import read_passages
from support.words import tokens

LENGTH = 200_000 if COMPILED else 4_000
HOSTILE = {
    "hexadecimal digits": "0f9a" * (LENGTH // 4),
    "marks": "e" + "\u0301\u0323" * (LENGTH // 2),
    "joiners": "天\u034f" * (LENGTH // 2),
    "one character": "的" * LENGTH,
    "one letter": "x" * LENGTH,
    "lone surrogates": "\ud800天\udfff" * (LENGTH // 3),
    "line ends": "\r\n" * (LENGTH // 2),
    "expansions": "ﷺ…㎡" * (LENGTH // 3),
    "square metres": "㎡" * LENGTH,
    "Thai": "ก" * LENGTH,
    "kana": "ｶﾞ" * (LENGTH // 2),
    "kana of both kinds": "かカ" * (LENGTH // 2),
    "base64": "C++AT&Tq9+" * (LENGTH // 10),
    "Han": "我们在中国人民大学读书" * (LENGTH // 11),
    "Han with ties": "他们常在中国" * (LENGTH // 6),
    "Han with mixed words": "买T恤去卡拉OK" * (LENGTH // 8),
    "extension B": "\U00020001" * LENGTH,
    "Cyrillic": "ж" * LENGTH,
    "Cyrillic and ASCII": "жa" * (LENGTH // 2),
    "apostrophes": "é'" * (LENGTH // 2),
    "full stops": "a." * (LENGTH // 2) + "é",
    "emoji": "😀" * LENGTH,
    "words beyond the bound": ("ж" * 1025 + " " + "z" * 1025 + " ") * (LENGTH // 2052),
    "many words": " ".join(f"w{number}" for number in range(LENGTH // 7)),
}
"""Large in what an analysis could make large; cut where that takes long."""


def special():
    """Return short texts in which something is special."""
    return [
        *("天地玄黄宇宙"[:size] for size in range(7)), *("abcdefg"[:size] for size in range(8)),
        " ", "，。", "\r\n", "a\r\nb",
        "…", "㎡", "Ⅳ号楼", "ﷺ", "Straße", "İSTANBUL", "ΟΔΟΣ ΑΘΗΝΑΣ", "ΑΣ", "ﬁne", "½", "ẞ", "ǅ",
        "我们\u034f都是\u034f中国人", "a\u034fb", "\u034f", "é\u034fé x\u034f", "\ud800", "天\ud800地\udfff", "😀",
        "\U00020000天",
        "The THE the of OF 的 an On Which WHICH which whichs", "zz yy xx ww zz",
        "ж" * 1024, "ж" * 1025, "Z" * 1024, "Z" * 1025 + " " + "z" * 1025,
        "买T恤，去卡拉OK，用C++的TF-IDF，12.5%", "一上a一上", "渏不蔊虂", "龦字㐀字鿿字豈",
        "e\u0301 u\u0308 \u1112\u1161\u11ab", "１２Ａａ％",
        "早 安\u3164，AT&T的\nIP地址 か\u200b カ", "at&T \U000e0100x", " 天 ", "天\n",
    ]  # fmt: skip


def everything():
    """Return in a form for JSON what is made of passages, of special texts and of the beginnings of hostile ones."""
    passages = [text for texts in read_passages().values() for text in texts[::5]]
    texts = [*special(), *passages, *(text[:1_500] for text in HOSTILE.values())]
    idf = learn(texts).idf
    learned = [LearnedAnalyzer(idf=idf), LearnedAnalyzer(idf=idf, top=5), LearnedAnalyzer(idf=idf, text_form=1)]
    analyzers = [JiebaAnalyzer(top=3), JiebaAnalyzer(), *learned, ShingleAnalyzer()]
    found = [[column.tolist() for column in Fingerprinter(each).fingerprint_many(texts)] for each in analyzers]
    sketched = Batch(texts).sketch(6, 4)
    words = repr([(tokens(text), tokens(text, folded=True), cut(text)) for text in texts])
    arrays = [array.tolist() for array in (sketched.sketches, sketched.sizes, sketched.segments, sketched.shingles)]
    return [found, arrays, [each.hex() for each in sketched.digests], idf.digest(), blake2b(words.encode()).hexdigest()]
