"""Encodings of texts: names checked, byte order marks read, unnamed encodings detected."""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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

# Big5 in use has the characters of ETEN and of Hong Kong.
_SAME = {"big5": "big5hkscs", "utf-8-sig": UTF8, "ascii": UTF8, "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
# Labels of browsers that Python does not know, by codec: the Encoding Standard of the WHATWG, and what is like these.
_LABELS = {
    "gbk": "x-gbk csgb2312 windows-936 gb_2312 gb_2312-80",
    "gb18030": "gb-18030",
    "big5hkscs": "cn-big5 x-x-big5",
    "cp950": "windows-950",
    "cp932": "x-sjis windows-31j",
    "euc_jp": "x-euc-jp cseucpkdfmtjapanese",
    "cp949": "csksc56011987 cseuckr iso-ir-149 ks_c_5601-1989 ksc_5601 windows-949",
    "cp874": "dos-874 windows-874",
    "koi8_r": "koi koi8",
    "koi8_u": "koi8-ru",
    "iso8859_2": "iso88592",
    "iso8859_6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
    "iso8859_7": "sun_eu_greek",
    "iso8859_8": "csiso88598e csiso88598i iso-8859-8-e iso-8859-8-i logical visual",
    "iso8859_15": "csisolatin9",
    "mac_roman": "x-mac-roman csmacintosh mac",
    "mac_cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    UTF8: "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    **{f"cp{number}": f"x-cp{number}" for number in range(1250, 1255)},
}
_OF_BROWSERS = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}
_NOT_FOR_DOCUMENTS = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"}


def checked_codec(name: str) -> str:
    """Return Python's own name of a codec, if it is one for text that can be read line by line.

    Raises `InvalidArgument` for any other name.

    Examples
    --------
    >>> checked_codec("GBK"), checked_codec("latin1"), checked_codec("UTF16")
    ('gbk', 'iso8859-1', 'utf-16-le')
    """
    try:
        canonical = codecs.lookup(_OF_BROWSERS.get(name.strip(" \"'").lower(), name)).name
        canonical = _SAME.get(canonical, canonical)
        usable = canonical in WIDE or "\n".encode(canonical) == b"\n"
    except (LookupError, UnicodeError, ValueError, TypeError) as error:
        raise InvalidArgument(f"encoding {name!r} is unknown", parameter="encoding") from error
    if not usable or canonical in _NOT_FOR_DOCUMENTS:
        raise InvalidArgument(f"encoding {name!r} cannot be read line by line", parameter="encoding")
    return canonical


def byte_order_mark(head: bytes) -> tuple[str, int] | None:
    r"""Return the codec that the byte order mark at the beginning stands for, and its length; None if there is no mark.

    Examples
    --------
    >>> byte_order_mark("\ufeff文".encode("utf-8"))
    ('utf-8', 3)
    """
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec, len(mark)
    return None


_SNIFFED_BYTES = 4 << 10
# Without those of white space, of ISO 2022 and of text in UTF-16, which has NUL bytes.
_CONTROLS = bytes((*range(0x01, 0x09), *range(0x10, 0x1B), *range(0x1C, 0x20)))
_CONTROL_SHARE = 0.03


def is_text(content: bytes) -> bool:
    r"""Return whether bytes are text in some encoding, not compressed data, a tenth of which are control bytes.

    Examples
    --------
    >>> is_text("今天的天气很好".encode("gbk")), is_text(b"\x1f\x8b\x08\x00\xb5\x43\x0a\x6b\x02\xff")
    (True, False)
    """
    head = content[:_SNIFFED_BYTES]
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls <= _CONTROL_SHARE * len(head) or byte_order_mark(head) is not None


def undecodable(error: UnicodeError, codec: str, *, before: int = 0, line: int | None = None) -> str:
    r"""Return the reason, a sentence for people, to refuse bytes that do not decode.

    `before` is the number of bytes before those that were decoded; `line` is the number of their line.

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
# Encodings of a text that is not UTF-8; of two that fit equally well the first is taken.
_CANDIDATES = (
    "gb18030", "big5hkscs", "cp932", "euc_jp", "cp949", "cp1251", "koi8_r", "cp1252", "cp1254", "cp1250", "cp1253",
    "cp1255", "cp1256", "cp1258", "cp874", "iso8859-2", "iso8859-5", "iso8859-6", "cp866",
)  # fmt: skip
# Encodings that come after the others where a text is too short to tell.
_LESS_COMMON = frozenset(_CANDIDATES[8:])
_HANDICAP = 0.3
# The codecs of seven bits, by what begins their characters; in ASCII few of these come.
_SEVEN_BITS = (
    (re.compile(rb"\x1b\$[@B]"), "iso2022_jp"),
    (re.compile(rb"\x1b\$\)C"), "iso2022_kr"),
    (re.compile(rb"~\{(?:[\x21-\x77][\x21-\x7e])++~\}"), "hz"),
)
# Bytes in another encoding rarely form the sequences of UTF-8: one character of GBK in six, no Cyrillic word.
_MANY_SEQUENCES = 8
_FAULTS_A_SEQUENCE = 0.25
_SAMPLE_BYTES = 4 << 10
_ASCII_RUN = re.compile(rb"([\x00-\x7f]{16})[\x00-\x7f]+(?=[\x00-\x7f]{16})")
_FOREIGN_BYTES = bytes(range(0x80, 0x100))
# How much less plausible a label's codec may be than the best one: more in a short text. Chosen so that right labels
# of short texts stay, and wrong ones of texts with 16 foreign characters do not.
_LEAD = 0.25
_LEAD_BYTES = 9.0
_FAULT_SHARE = 0.02

# The commonest characters: Chinese, simplified, traditional and Cantonese; Korean; then of the other scripts.
_FREQUENT_HAN = (
    "的一是不了在人有我他中上大和地到以要就出可也你生能而子那得下自之年作用道行所然家事成方多去法如都同"
    "面起看定天分好小部其些主理心本前但因只日者意力它把十民第公此已工使情明性知全三又正外高由很最重物手"
    "文政相被利什二等或新己制身果加月合回特代信表化世位次度任常先通教原提立及比水名真各入口平活更打女四"
    "这个们来为国说时会对于着过发后里种经么学现当没动还进样开从实军无与长机关点业将两间问并应战向头体见美"
    "產這個們來為國說時會對於著過發後裡種經麼學現當沒動還進樣開從實軍無與長機關點業將兩間問應頭體見條項款規"
    "唔嘅啲咗喺哋冇係佢嘢嚟咁"
)
_FREQUENT_HANGUL = (
    "이다는의에가을를한고은지하로서기사도자대정인시어리나라아있그것수해일제부으만스과전습니했여면보장원주구"
)
_HIRAGANA = "".join(map(chr, range(0x3041, 0x3094)))
_FREQUENT = frozenset(
    _FREQUENT_HAN + _FREQUENT_HANGUL + _HIRAGANA + "оеаинтсрвлαοιετνσυρηานรอกเงม่้יוהלאתרמבשاليمنورتبةه"
)
_USUAL = frozenset(
    "，。、；：？！「」『』（）《》〈〉“”‘’—…·\u3000【】–«»°§©®€£¿¡\xa0"
    "кмдпуяыьгзбчйжшіїєґўπκλμδγθςωβχφάέήίόύώיקפחדנסגעצזטכםןךףץدعسفحقجشكصخطضغظءذزثأإآىؤئًٌٍَُِّْ"
    "ยลวดทสคหนพปบจชขตผฟธถซแโไใ็ัิีึืุูะ์\u0300\u0301\u0303\u0309\u0323"
)
_KANA = frozenset(map(chr, range(0x3041, 0x30FF)))
_HALF_WIDTH_KANA = frozenset(map(chr, range(0xFF61, 0xFFA0)))
_HALF_WIDTH_SHARE = 0.9  # Bytes in another encoding rarely are so many of them in Shift_JIS.
_KANA_SHARE = 0.1
_LATIN = "".join(map(chr, range(0xC0, 0x250)))
_SMALL = "".join(filter(str.islower, _LATIN))
_CAPITALS = "".join(filter(str.isupper, _LATIN))
_ALPHABETS = "\u0370-\u06ff\u0e00-\u0e7f"
_SYLLABLES = "\u3040-\u9fff\uac00-\ud7a3\uff61-\uff9f"
_THAI_BASES = "ก-ฮ\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
# Ranges of characters: letters that are neither frequent nor usual, and characters that no text has. As regular
# expressions they would take 8 ms to compile, in each process.
_RARE = ("\xa1\u06ff", "\u0e01\u0e7f", "\u2500\u259f", "\u3400\ud7a3", "\uf900\ufaff", "\uff61\uff9f")
_CJK = ("\u3400\ud7a3",)
_IMPOSSIBLE = ("\x80\x9f", "\ue000\uf8ff", "\ufffd\ufffd")


@cache  # Without it a call takes 16 ms.
def _plane(codec: str, first: int, last: int) -> frozenset[str]:
    """Return the characters that a two-byte codec encodes with a lead byte from `first` to `last`, inclusive."""
    pairs = (bytes((a, b)) for a in range(first, last + 1) for b in range(0x40, 0xFF))
    return frozenset(pair.decode(codec, "ignore") for pair in pairs)


def _is_japanese(character: str) -> bool:
    """Return whether a character is one of the common kanji (level 1 of JIS X 0208)."""
    return character in _plane("cp932", 0x88, 0x97)


def _is_in(character: str, ranges: Iterable[str]) -> bool:
    """Return whether a character is in one of the ranges, each given by its first and last character."""
    return any(ends[0] <= character <= ends[1] for ends in ranges)


@cache  # Compiling it takes 9 ms, and most texts do not need it.
def _unlikely() -> re.Pattern[str]:
    """Return the pattern of neighbouring characters that show a wrong encoding: they are rare in a text."""
    return re.compile(
        # Two alphabets in a word, a Chinese character in an English one, a capital after a small letter, a line in a
        # word.
        f"[A-Za-z\xc0-\u024f](?=[{_ALPHABETS}])|[{_ALPHABETS}](?=[A-Za-z\xc0-\u024f])|"
        f"(?<=[a-z])[{_SYLLABLES}](?=[a-z]{{2}})|[a-z{_SMALL}](?=[{_CAPITALS}])|[а-џґ](?=[Ѐ-ЯҐ\u2500-\u259f])|[α-ώ](?=[Α-Ω])"
        # A sign in a word, many accents in a row, a Thai vowel mark without a letter below or above it.
        "|[\xa1-\uffff](?=[\xa1-\xbf][\xa1-\uffff])|[a-z](?=[\xa1-\xac\xae-\xb3\xb5-\xb6\xb9-\xbf][a-z])"
        f"|[\xc0-\u017f](?=[\xc0-\u017f]{{3}})|[^{_THAI_BASES}](?=[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])"
    )


@cache
def _weight(character: str) -> float:
    character = character.lower() if "\xc0" <= character < "\u0530" else character
    if character in _FREQUENT:
        return 2
    if character in "þð":  # Turkish that is read as windows-1252.
        return 0.7
    if character in _USUAL or ("\xdf" <= character <= "\u024f" and character != "÷"):
        return 1
    # Level 1 of GB 2312, Big5 and JIS X 0208, and the syllables of KS X 1001.
    common = _plane("gb2312", 0xB0, 0xD7), _plane("big5", 0xA4, 0xC6), _plane("euc_kr", 0xB0, 0xC8)
    if character in _KANA or _is_japanese(character) or any(character in plane for plane in common):
        return 0.5
    if _is_in(character, _IMPOSSIBLE):
        return -5
    return -1 if _is_in(character, _RARE) else 0


def plausibility(text: str, *, is_declared: bool = False) -> float:
    """Return how plausible a decoded text is, by its characters beyond ASCII: up to 2; below 0 means a wrong encoding.

    `is_declared` says that the text itself names the encoding. Only if it does not, rare Chinese characters and Korean
    syllables speak against the encoding: names have them.

    Examples
    --------
    >>> content = "今天的天气很好，我们去公园。".encode("gbk")
    >>> plausibility(content.decode("gbk")) > 1, plausibility(content.decode("cp1252", "replace")) < 0
    (True, True)
    """
    counts = Counter(character for character in text if character > "\x7f")
    if not counts:
        return 0.0
    points = sum(_weight(character) * count for character, count in counts.items())
    if is_declared:
        points += sum(counts[character] for character in counts if _is_in(character, _CJK) and _weight(character) < 0)
    points -= 3 * len(_unlikely().findall(text))
    half_width = sum(counts[kana] for kana in _HALF_WIDTH_KANA & counts.keys())
    if half_width > _HALF_WIDTH_SHARE * counts.total():
        points += 1.5 * half_width
    if sum(counts[kana] for kana in _KANA & counts.keys()) > _KANA_SHARE * counts.total():
        # EUC-JP that is read as GBK has the same kana, and Chinese characters between them.
        foreign = [han for han in counts if "\u4e00" <= han <= "\u9fff" and not _is_japanese(han)]
        points -= sum(2 * counts[han] for han in foreign)
    return points / counts.total()


def _decoded(content: bytes, codec: str) -> str:
    """Return bytes decoded, with U+FFFD in place of those that do not decode.

    A character that is cut at the end is left out.
    """
    return codecs.getincrementaldecoder(codec)("replace").decode(content)


def _sample(content: bytes) -> bytes:
    """Return some words from all over a text, with most of its ASCII removed, to guess its encoding from."""
    content = _ASCII_RUN.sub(rb"\1 ", content)
    words = content.split()
    return b" ".join(words[:: len(content) // _SAMPLE_BYTES + 1])


def detect(content: bytes, labels: Sequence[str] = (), more: Callable[[bytes], Iterable[str]] = lambda _: ()) -> str:
    """Return the name of the codec that a text is most likely encoded in.

    Parameters
    ----------
    content
        The text, or its beginning. Its last character may be cut off.
    labels
        The codecs that it is said to be in. The first one that is not clearly worse than another codec is right.
    more
        Returns further codecs to consider, for a sample of a text that is not UTF-8.

    Examples
    --------
    >>> detect("今天的天气很好，我们去公园。".encode("gbk")), detect("résumé".encode("cp1252"))
    ('gb18030', 'cp1252')
    >>> detect("今天的天气很好，我们去公园。".encode(), ["gb18030"])
    'utf-8'
    """
    text = _decoded(content, UTF8)
    faults = text.count(REPLACEMENT) - content.count(REPLACEMENT.encode())
    sequences = len(text) - len(text.encode("ascii", "ignore")) - faults
    if not sequences and not faults:
        escaped = (codec for escape, codec in _SEVEN_BITS if escape.search(content))
        plausible = (codec for codec in escaped if plausibility(_decoded(content, codec)) > 0)
        return next(plausible, (*labels, UTF8)[0])
    if faults <= _FAULTS_A_SEQUENCE * sequences and sequences >= _MANY_SEQUENCES:
        return UTF8
    if not faults and (not labels or labels[0] == UTF8):
        return UTF8
    if not faults and sequences > 1:
        labels = (UTF8, *labels)
    sample = _sample(content)
    foreign_bytes = len(sample) - len(sample.translate(None, _FOREIGN_BYTES))
    texts = {codec: _decoded(sample, codec) for codec in (*labels, *_CANDIDATES, UTF8, *more(sample))}
    values = {codec: plausibility(text) - _HANDICAP * (codec in _LESS_COMMON) for codec, text in texts.items()}
    best = max(values, key=lambda codec: values[codec])
    for label in labels:
        text = texts[label]
        declared = plausibility(text, is_declared=True)
        lead = values[best] - declared
        is_whole = text.count(REPLACEMENT) <= _FAULT_SHARE * sum(character > "\x7f" for character in text)
        if is_whole and (lead <= _LEAD or lead * foreign_bytes <= _LEAD_BYTES):
            return label
    return best
