"""Probes: whether this machine still makes the fingerprints that an index holds.

Segmenter, dictionaries, tables of weights and Unicode's data come from libraries of other people, whose versions
change. What they make of built-in texts is digested when an index is created, and compared before the first text of a
process is analysed: a few milliseconds, once the segmenter is loaded.
"""

import unicodedata
from collections.abc import Iterator
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version

import msgspec

from simhash_hbase.analyzers import JiebaAnalyzer, LearnedAnalyzer
from simhash_hbase.dictionary import dictionary_bytes
from simhash_hbase.fingerprint import SCALE, Fingerprinter
from simhash_hbase.sketch import sketches_and_digests

__all__ = ["installed_versions", "probe_digest"]

_DIGEST_BYTES = 16
_BYTES_APART = 3_000
"""One word of the dictionary is looked at in so many bytes: 1,690 of 349,046."""
_WORDS_A_RUN = 8
_LIBRARIES = {None: (), "jieba": ("jieba",), "fast": ("jieba", "rjieba")}

_TEXTS = (
    "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。",
    "小明硕士毕业于中国科学院计算所，后在日本京都大学深造；他来到了网易杭研大厦，买了T恤和卡拉OK的票。",
    "乒乓球拍卖完了，结婚的和尚未结婚的都要登记。用C++20与TF-IDF算出3.14%，版本12.1.2，参见https://example.org/a_b?c=1#d。",
    "臺灣的電腦軟體與網際網路；𠮷野家の㐀字。",
    "The quick brown fox jumps over the lazy dog; don't stop, it's 3.5 °C — naïve café, coöperate.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία· ΟΔΥΣΣΕΥΣ.",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. Le cœur déçu mais l'âme plutôt naïve.",
    "Tiếng Việt có nhiều dấu; Příliš žluťoučký kůň úpěl ďábelské ódy. Pijamalı hasta yağız şoföre çabucak güvendi.",
    "いろはにほへと ちりぬるを。カタカナとｶﾀｶﾅ、ＡＢＣ１２３。다람쥐 헌 쳇바퀴에 타고파.",
    "نص حكيم له سر قاطع وذو شأن عظيم. דג סקרן שט בים מאוכזב ולפתע מצא חברה. ऋषियों को सताने वाले राक्षस।",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า ກາລະຄັ້ງນຶ່ງ ខ្ញុំអាចញ៉ាំកញ្ចក់បាន သီဟိုဠ်မှ ကျမ်းကြီး",
    "e\u0301 ﬁ ½ ㎡ İ ß ẞ 👩\u200d💻 \u1112\u1161\u11ab 常在河边走",
)


def installed_versions(segmenter: str | None) -> dict[str, str]:
    """List what fingerprints depend on and others maintain.

    Parameters
    ----------
    segmenter : str or None
        ``fast``, ``jieba``, or None where no words are cut.

    Returns
    -------
    dict
        Versions by name; a library that is not installed is left out.
    """
    found = {"unicode": unicodedata.unidata_version}
    for name in _LIBRARIES[segmenter]:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def probe_digest(fingerprinter: Fingerprinter) -> str:
    """Digest what an analyzer and a hash make of the built-in texts.

    Parameters
    ----------
    fingerprinter : Fingerprinter
        Of an analyzer of texts.

    Returns
    -------
    str
        BLAKE2b, 16 bytes, in hexadecimal digits; another one where a feature, a weight, a fingerprint, a sketch
        or a digest of a text is another one.
    """
    texts = [*_TEXTS, *_dictionary_text(fingerprinter)]
    simhashes, counts = fingerprinter.fingerprint_many(texts)
    sketched = sketches_and_digests(texts)
    features = [
        # Weights as they count: the last bit of a logarithm is not the same on every platform.
        [(name, round(weight * SCALE)) for name, weight in fingerprinter.analyzer.features(text)]
        for text in texts
    ]
    found = (features, simhashes.tolist(), counts.tolist(), sketched.sketches.tolist(), sketched.digests)
    return blake2b(msgspec.msgpack.encode(found), digest_size=_DIGEST_BYTES).hexdigest()


def _dictionary_text(fingerprinter: Fingerprinter) -> Iterator[str]:
    """Write words of the whole dictionary one behind the other: rjieba has a copy of its own."""
    if isinstance(fingerprinter.analyzer, JiebaAnalyzer | LearnedAnalyzer):
        content = dictionary_bytes()
        starts = [content.find(b"\n", place) + 1 for place in range(0, len(content) - _BYTES_APART, _BYTES_APART)]
        words = [content[start : content.index(b" ", start)].decode() for start in starts]
        yield "，".join("".join(words[at : at + _WORDS_A_RUN]) for at in range(0, len(words), _WORDS_A_RUN))
