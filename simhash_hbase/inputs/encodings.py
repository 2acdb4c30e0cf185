"""Names of codecs and byte order marks."""

import codecs

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
