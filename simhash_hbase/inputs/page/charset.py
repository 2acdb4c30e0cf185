"""Decodes a page by its server's header, its own declaration, or detection."""

import re
from collections.abc import Iterator

from simhash_hbase.errors import InvalidArgument, InvalidInput, MissingExtra
from simhash_hbase.inputs.encodings import AUTO, MARK_BYTES, UTF8, byte_order_mark, checked_codec
from simhash_hbase.inputs.stream.detect import detect

try:
    from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, to_unicode
except ImportError as error:
    raise MissingExtra("HTML pages need w3lib: pip install 'simhash-hbase[html]'") from error


_REPLACEMENT = "\ufffd"
# A page that breaks off inside a character has one fault; more faults mean another encoding.
_FAULT_SHARE = 0.02
_NUL_SHARE = 0.05
_SAMPLE_BYTES = 64 << 10
# No encoding has a bracket inside another character, so the bytes left without markup can still be decoded.
_MARKUP = [
    (re.compile(rb"<script\b", re.IGNORECASE), re.compile(rb"</script", re.IGNORECASE)),
    (re.compile(rb"<style\b", re.IGNORECASE), re.compile(rb"</style", re.IGNORECASE)),
    (re.compile(rb"<"), re.compile(rb">")),
]


def decode_page(content: bytes, content_type: str | None, encoding: str, *, html: bool = True) -> str:
    """Decode a page as a browser does; detect the encoding where the result is garbled.

    Examples
    --------
    >>> decode_page('<meta charset="gb2312">龍'.encode("gbk"), None, "utf-8")[-1]
    '龍'
    >>> decode_page("Привет, мир".encode("cp1251"), "text/html; charset=windows-1251", "utf-8")
    'Привет, мир'
    """
    mark = byte_order_mark(content[:MARK_BYTES])
    if mark is not None:
        codec, skip = mark
        return to_unicode(content[skip:], codec)
    if content.count(0) > _NUL_SHARE * len(content):
        raise InvalidInput("the page is binary: it has too many NUL bytes")
    declared = (http_content_type_encoding(content_type), _declared_inside(content) if html else None)
    for codec in _codecs(*declared, UTF8 if encoding == AUTO else encoding):
        text = to_unicode(content, codec)
        if _plausible(text):
            break
    else:
        text = to_unicode(content, detect(_without_markup(content)[:_SAMPLE_BYTES]))
    return text.replace("\0", _REPLACEMENT)


def _declared_inside(content: bytes) -> str | None:
    """Return the declared encoding; a readable declaration cannot be in UTF-16, so the standard says UTF-8."""
    label: str | None = html_body_declared_encoding(content)
    return UTF8 if label is not None and label.lower().startswith(("utf-16", "utf-32")) else label


def _codecs(*labels: str | None) -> Iterator[str]:
    for label in filter(None, labels):
        try:
            yield checked_codec(label)
        except InvalidArgument:
            # Python also has codecs that do not decode text; a page may declare their names.
            continue


def _without_markup(content: bytes) -> bytes:
    for start, stop in _MARKUP:
        kept, at = [], 0
        # Ends at the first start without a stop: a search from each of many would take quadratic time.
        while (begin := start.search(content, at)) and (end := stop.search(content, begin.end())):
            kept.append(content[at : begin.start()])
            at = end.end()
        content = b" ".join([*kept, content[at:]])
    return content


def _plausible(text: str) -> bool:
    faults = text.count(_REPLACEMENT)
    return not faults or faults <= _FAULT_SHARE * sum(character > "\x7f" for character in text)
