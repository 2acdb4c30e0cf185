"""The encoding of a file that does not say."""

import codecs
from collections.abc import Callable
from functools import cache

from simhash_hbase.inputs.encodings import UTF8

_REPLACEMENT = "\ufffd"
_UTF8_FAULTS = 0.02
_KANA_SHARE = 0.1
_FREQUENT_WEIGHT = 2.0
_FAULT_WEIGHT = 5.0

# The commonest characters of running text, simplified and traditional, and Korean syllables.
_FREQUENT_HAN = (
    "的一是不了在人有我他中上大和地到以要就出可也你生能而子那得下自之年作用道行所然家事成方多去法如都同"
    "面起看定天分好小部其些主理心本前但因只日者意力它把十民第公此已工使情明性知全三又正外高由很最重物手"
    "文政相被利什二等或新己制身果加月合回特代信表化世位次度任常先通教原提立及比水名真各入口平活更打女四"
    "这个们来为国说时会对于着过发后里种经么学现当没动还进样开从实军无与长机关点业将两间问并应战向头体美见"
    "產這個們來為國說時會對於著過發後裡種經麼學現當沒動還進樣開從實無與長機關點業將兩間問應頭體見條項款規"
)
_FREQUENT_HANGUL = "이다는의에가을를한고은지하로서기사도자대정인시어리나라아있그것수해일제부으만스과전"
_PUNCTUATION = "，。、；：？！「」『』（）《》〈〉“”‘’—…·　【】"
_KANA = frozenset(map(chr, range(0x3041, 0x30FF)))
_CYRILLIC = frozenset(map(chr, range(0x0430, 0x0450))) | {"ё"}
_LATIN = frozenset("àáâãäåæçèéêëìíîïñòóôõöøùúûüßœ’‘“”–—…°§©®€£¿¡«» ")


def detect(sample: bytes) -> str:
    """Return the codec that a sample most likely is in.

    Examples
    --------
    >>> detect("今天的天气很好，我们去公园。".encode("gbk")), detect("résumé".encode("cp1252"))
    ('gb18030', 'cp1252')
    """
    text = _foreign(sample, UTF8)
    if text.count(_REPLACEMENT) <= _UTF8_FAULTS * len(text):
        return UTF8
    return max(_COMMON, key=lambda codec: _score(sample, codec))


def _foreign(sample: bytes, codec: str) -> str:
    """Return the characters that are not ASCII; a character cut at the end does not count."""
    text = codecs.getincrementaldecoder(codec)("replace").decode(sample)
    return "".join(c for c in text if c > "\x7f")


def _score(sample: bytes, codec: str) -> float:
    text = _foreign(sample, codec)
    if not text:
        return 0.0
    common = _COMMON[codec]()
    # Every Japanese text has kana; without them two bytes of anything pass for a kanji.
    if codec == "cp932" and sum(c in _KANA for c in text) < _KANA_SHARE * len(text):
        return 0.0
    frequent = _FREQUENT.get(codec, frozenset())
    known = sum((c in common) + _FREQUENT_WEIGHT * (c in frequent) for c in text)
    return (known - _FAULT_WEIGHT * text.count(_REPLACEMENT)) / len(text)


@cache
def _plane(codec: str, first: int, last: int) -> frozenset[str]:
    """Return the two-byte characters of a codec whose lead bytes are in ``first..last``."""
    pairs = (bytes((a, b)) for a in range(first, last + 1) for b in range(0x40, 0xFF))
    return frozenset(pair.decode(codec, "ignore") for pair in pairs) | frozenset(_PUNCTUATION)


@cache
def _simplified() -> frozenset[str]:
    """Return the 3755 characters of GB 2312 level 1, its most used ones."""
    return _plane("gb2312", 0xB0, 0xD7)


_COMMON: dict[str, Callable[[], frozenset[str]]] = {
    "gb18030": _simplified,
    # Big5 level 1: the 5401 most used characters.
    "big5": lambda: _plane("big5", 0xA4, 0xC6),
    # JIS X 0208 level 1.
    "cp932": lambda: _KANA | _plane("cp932", 0x88, 0x97),
    # The 2350 syllables of KS X 1001.
    "cp949": lambda: _plane("euc_kr", 0xB0, 0xC8),
    "cp1251": lambda: _CYRILLIC,
    "cp1252": lambda: _LATIN,
}
_FREQUENT = {
    "gb18030": frozenset(_FREQUENT_HAN),
    "big5": frozenset(_FREQUENT_HAN),
    "cp932": _KANA,
    "cp949": frozenset(_FREQUENT_HANGUL),
    "cp1251": frozenset("оеаинтсрвл"),
    # Western text has no script of its own: a letter with an accent counts in full.
    "cp1252": frozenset("éèàüöäßç’“”–"),
}
