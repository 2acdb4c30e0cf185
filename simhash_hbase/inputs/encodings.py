"""The encodings of texts: named, marked, or detected."""

import codecs
from collections.abc import Callable
from functools import cache

from simhash_hbase.errors import InvalidArgument

AUTO = "auto"
UTF8 = "utf-8"
WIDE = frozenset({"utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"})
"""Codecs whose line end is not the single byte 0x0A."""

# UTF-32 before UTF-16: the little-endian mark of the one begins with that of the other.
_MARKS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
MARK_BYTES = 4

_SAME = {"utf-8-sig": UTF8, "ascii": UTF8, "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
_NOT_FOR_DOCUMENTS = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"}


def checked_codec(name: str) -> str:
    """Return Python's own name of a codec that can read lines.

    Examples
    --------
    >>> checked_codec("GBK"), checked_codec("latin1"), checked_codec("UTF16")
    ('gbk', 'iso8859-1', 'utf-16-le')
    """
    try:
        canonical = codecs.lookup(name).name
        canonical = _SAME.get(canonical, canonical)
        usable = canonical in WIDE or "\n".encode(canonical) == b"\n"
    except (LookupError, UnicodeError, ValueError, TypeError) as error:
        raise InvalidArgument(f"encoding {name!r} is unknown") from error
    if not usable or canonical in _NOT_FOR_DOCUMENTS:
        raise InvalidArgument(f"encoding {name!r} cannot be read line by line")
    return canonical


def byte_order_mark(head: bytes) -> tuple[str, int] | None:
    r"""Return the codec that a byte order mark stands for and the mark's length, if there is one.

    Examples
    --------
    >>> byte_order_mark("\ufeff文".encode("utf-8"))
    ('utf-8', 3)
    """
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec, len(mark)
    return None


def undecodable(error: UnicodeError, codec: str, *, before: int = 0, line: int | None = None) -> str:
    r"""Return the reason to refuse bytes that do not decode.

    Examples
    --------
    >>> try:
    ...     b"ab\xff".decode("ascii")
    ... except UnicodeError as error:
    ...     undecodable(error, "utf-8")
    'the bytes are not utf-8: 0xff at byte 3'
    """
    if codec in WIDE:
        return f"the bytes are not {codec}: half of a surrogate pair"
    if not isinstance(error, UnicodeDecodeError) or error.start >= len(error.object):
        return f"the bytes are not {codec}"
    where = f"0x{error.object[error.start]:02x} at byte {before + error.start + 1}"
    return f"the bytes are not {codec}: {where}" + (f" of line {line}" if line else "")


REPLACEMENT = "\ufffd"
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
    if text.count(REPLACEMENT) <= _UTF8_FAULTS * len(text):
        return UTF8

    def score(codec: str) -> float:
        text = _foreign(sample, codec)
        if not text:
            return 0.0
        common = _COMMON[codec]()
        # Every Japanese text has kana; without them two bytes of anything pass for a kanji.
        if codec == "cp932" and sum(c in _KANA for c in text) < _KANA_SHARE * len(text):
            return 0.0
        frequent = _FREQUENT.get(codec, frozenset())
        known = sum((c in common) + _FREQUENT_WEIGHT * (c in frequent) for c in text)
        return (known - _FAULT_WEIGHT * text.count(REPLACEMENT)) / len(text)

    return max(_COMMON, key=score)


def _foreign(sample: bytes, codec: str) -> str:
    """Return the characters that are not ASCII; a character cut at the end does not count."""
    text = codecs.getincrementaldecoder(codec)("replace").decode(sample)
    return "".join(c for c in text if c > "\x7f")


@cache  # Each takes up to 16 ms, and every file that is not UTF-8 is compared with four of them.
def _plane(codec: str, first: int, last: int) -> frozenset[str]:
    """Return the two-byte characters of a codec whose lead bytes are in ``first..last``."""
    pairs = (bytes((a, b)) for a in range(first, last + 1) for b in range(0x40, 0xFF))
    return frozenset(pair.decode(codec, "ignore") for pair in pairs) | frozenset(_PUNCTUATION)


_COMMON: dict[str, Callable[[], frozenset[str]]] = {
    # GB 2312 level 1: its 3755 most used characters.
    "gb18030": lambda: _plane("gb2312", 0xB0, 0xD7),
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
