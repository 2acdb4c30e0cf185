"""The kinds of records that a reader yields: documents, pages and refused records; documents made of named fields."""

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, NamedTuple
from uuid import UUID

import msgspec

from simhash_hbase.errors import InvalidArgument, InvalidInput, short_repr
from simhash_hbase.inputs.options import DOCUMENT_BYTES, RAISE, InputOptions
from simhash_hbase.rows.analysed import MAX_ID_BYTES, metadata_problem

Feature = tuple[str | int, float]


class Place(NamedTuple):
    """The file and the line at which a record starts; in tables `line` is the row; 0 means the whole file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Document:
    """One document of the input, which has exactly one of ``text``, ``simhash`` (a fingerprint) and ``features``."""

    id: str  # The caller's id, or the file and line when the input names none.
    text: str | None
    simhash: int | None  # The caller's own fingerprint, 0 <= simhash < 2**64.
    features: tuple[Feature, ...] | None
    metadata: dict[str, object] | None
    """The metadata fields that the record has; None when none was asked for or found."""
    place: Place
    raw: bytes | None  # The record's own bytes without the line end, when ``keep_raw`` asked for them.
    preference: float | None = None
    """Place in the order of `InputOptions.preference`, the least first; None where no field is asked for it."""
    title: str | None = None  # Title of the record, when ``titles`` asked for it; pages have theirs in the metadata.
    source: str | None = None
    """Source of the record by `InputOptions.by_field`; None or ``""`` where it names none, or none is asked for."""
    remainder: bytes = b""
    """The sketch of a page's other sentences, where they are at least a quarter as long as its main text."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A record, or a whole file, that was refused, with the reason; the reading goes on after it."""

    place: Place  # Where the record starts; line 0 for a whole file.
    reason: str  # One sentence for people, without a full stop.
    raw: bytes  # The record's own bytes; of one above the size limit its beginning; empty for a file.
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A web page as undecoded bytes; `extract` makes a document of it, which takes far longer than reading."""

    id: str
    content: bytes
    options: InputOptions  # Has the fallback encoding and the metadata to keep.
    place: Place
    raw: bytes | None
    html: bool = True
    content_type: str | None = None  # The server's header, such as ``text/html; charset=big5``.
    metadata: dict[str, str] = field(default_factory=dict)  # More than its title and URL.


class JsonLine(NamedTuple):
    """A line of JSON that is not decoded yet.

    `extract` makes a document of it, which takes twice as long as reading it.
    """

    place: Place
    content: bytes  # In UTF-8 where the file is in UTF-16 or UTF-32.
    encoding: str  # Encoding of the file.
    options: InputOptions


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Lines of JSON that follow each other in a file and are not decoded yet."""

    file: str
    numbers: Sequence[int]
    contents: Sequence[bytes]
    encoding: str
    options: InputOptions

    @property
    def place(self) -> Place:
        """The place of the last line."""
        return Place(self.file, self.numbers[-1])

    def __len__(self) -> int:
        return len(self.contents)

    def line(self, at: int) -> JsonLine:
        """Return one of the lines, counted from 0."""
        return JsonLine(Place(self.file, self.numbers[at]), self.contents[at], self.encoding, self.options)


Record = Document | Reject

Scanned = Record | Page


def came_before(document_id: str) -> str:
    """Return the reason, a sentence, to refuse a document whose id came before in the input."""
    return f"the id {document_id!r} came before in this input"


def repeated_id(document_id: str, place: Place) -> str:
    """Return the reason to refuse a document whose id came before, with advice if each file numbers its ids anew."""
    reason = came_before(document_id)
    if document_id == str(place):
        return f"{reason}: the file is read twice"
    if not place.line and place.file.endswith(f"{os.sep}{document_id}"):
        return f"{reason}; the id of a file is its path below the folder that is named: name a folder above all of them"
    if not place.line or _ADDRESS.match(document_id) or document_id.startswith(id_in_file("", place, "file")):
        return reason
    return f"{reason}; {UNIQUE_IDS}"


UNIQUE_IDS = (
    "if ids begin anew in each file, put its name before them with `id_prefix=file`, or name a field that is unique "
    "with `id_field`"
)
_ADDRESS = re.compile(r"[a-z]+://")


def id_in_file(document_id: str, place: Place, prefix: str | None) -> str:
    """Return the id of a record, after the name of its file and ``#`` unless `prefix` is None.

    Examples
    --------
    >>> id_in_file("7", Place("a.jsonl", 3), "file")
    'a.jsonl#7'
    """
    return document_id if prefix is None else f"{place.file}#{document_id}"


_HEX_FINGERPRINT = re.compile(r"[0-9a-fA-F]{16}|0[xX][0-9a-fA-F]{1,16}")
_DECIMAL_FINGERPRINT = re.compile(r"[0-9]{1,20}")


def parse_simhash(value: str | int) -> int:
    """Return the fingerprint that a value writes: 16 hex digits, ``0x…``, decimal digits, or an integer.

    Examples
    --------
    >>> parse_simhash("00000000000000ff"), parse_simhash("0xff"), parse_simhash("255")
    (255, 255, 255)
    >>> parse_simhash("1000000000000000") == 1 << 60
    True
    """
    number: object = value
    if isinstance(value, str):
        # Sixteen digits are hexadecimal, although they may be decimal, too.
        if _HEX_FINGERPRINT.fullmatch(value):
            number = int(value, 16)
        else:
            number = int(value) if _DECIMAL_FINGERPRINT.fullmatch(value) else None
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 64:
        return number
    raise InvalidArgument(
        f"{_cut(short_repr(value))} is not a fingerprint: 16 hex digits, 0x… or an integer below 2**64"
    )


_SHORT_HEX = re.compile(r"[0-9a-fA-F]{1,16}")
_PREFIXED_HEX = re.compile(r"(0[xX])?[0-9a-fA-F]{1,16}")
_SIGNED = re.compile(r"-?[0-9]{1,19}")


class FingerprintColumn:
    """Parses the fingerprints in a column or field, which are all written in the same way: hex, decimal or signed.

    If the caller names no format, it is inferred from the values: 16 digits are hex when a letter or a leading zero has
    come in the column, and decimal when a longer number has come. A string that may be either is refused.
    """

    def __init__(self, form: str | None) -> None:
        self._form = form
        self._known: str | None = None  # How earlier strings of the column were written.

    def read(self, value: object) -> int:
        """Return the fingerprint that a value stands for; raise `InvalidArgument` if it is none or ambiguous."""
        # Databases have no type for unsigned integers of 64 bits but decimals.
        if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
            value = int(value)
        if not isinstance(value, str | int):
            raise InvalidArgument(f"the fingerprint is neither a string nor an integer but {_json_type(value)}")
        if self._form is not None:
            return self._read_as(self._form, value)
        if isinstance(value, int):
            if value < 0 and not isinstance(value, bool):
                raise InvalidArgument(f"the fingerprint {_cut(short_repr(value))} is negative; {_SIGN}")
            return parse_simhash(value)
        if value.startswith("-") and _SIGNED.fullmatch(value):
            raise InvalidArgument(f"the fingerprint {value} is negative; {_SIGN}")
        if value[:2] in ("0x", "0X"):
            return parse_simhash(value)
        return self._string(value)

    def _string(self, value: str) -> int:
        is_hex, is_decimal = bool(_SHORT_HEX.fullmatch(value)), bool(_DECIMAL_FINGERPRINT.fullmatch(value))
        is_padded = len(value) == HEX_DIGITS
        if is_hex and not is_padded and not is_decimal:
            raise InvalidArgument(
                f"{value!r} is not a fingerprint: it has {len(value)} hex digits, not 16; give `simhash_format=hex`"
            )
        if is_hex and is_decimal and not (is_padded and value.startswith("0")):
            if self._known is None or (self._known == "hex" and not is_padded):
                raise InvalidArgument(f"{value} may be hex or decimal; {_NAME_IT}")
            return self._read_as(self._known, value)
        if not is_hex and not is_decimal:
            return parse_simhash(value)
        here = "hex" if is_hex else "decimal"
        if self._known not in (None, here):
            raise InvalidArgument(f"{value} is {here}, and those before are {self._known}; {_NAME_IT}")
        number = self._read_as(here, value)
        self._known = here
        return number

    def _read_as(self, form: str, value: str | int) -> int:
        if form == "hex" and isinstance(value, str) and _PREFIXED_HEX.fullmatch(value):
            return int(value, 16)
        if form == "decimal" and (isinstance(value, int) or _DECIMAL_FINGERPRINT.fullmatch(value)):
            return parse_simhash(int(value) if isinstance(value, str) else value)
        if form == "signed" and not isinstance(value, bool) and (isinstance(value, int) or _SIGNED.fullmatch(value)):
            number = int(value)
            if -(1 << 63) <= number < 1 << 63:
                return number % (1 << 64)
        raise InvalidArgument(f"{_cut(short_repr(value))} is not a fingerprint: {_FORMS[form]}")


HEX_DIGITS = 16
_FORMS = {
    "hex": "1 to 16 hex digits in a string",
    "decimal": "a decimal integer below 2**64",
    "signed": "an integer from -2**63 to 2**63 - 1",
}
_SIGN = "give `simhash_format=signed`"
_NAME_IT = "give `simhash_format=hex|decimal`"

TITLE = "title"
_MISSING = object()
_SHOWN_NAMES = 12


class Builder:
    """Makes documents from records with named fields, as `InputOptions` names them.

    With `advise` the refusal of the first record that lacks a needed field lists the fields it has.
    """

    def __init__(self, options: InputOptions, *, advise: bool = False) -> None:
        self._options = options
        self._id = options.id_name
        self._source = options.source_field
        self._kept = options.kept_fields
        self._preference = options.preference if options.preference and options.preference.field else None
        self._advise = advise
        self._fingerprints = FingerprintColumn(options.simhash_format)

    def build(self, record: Mapping[str, object], place: Place, raw: bytes) -> Record:
        """Return the document made of a record's fields, or its refusal; `raw` are the record's bytes in the file."""
        options = self._options
        for name in options.new_fields:
            if name in record:
                raise InvalidInput(f"{place}: the record has the field {name!r} already: {NAME_ANOTHER}")
        known = None
        try:
            known = self._id_of(record, place)
            value = record.get(self._source, _MISSING)
            if value is _MISSING:
                return Reject(place, self._missing(record, self._source), raw, known)
            text = simhash = features = None
            if options.simhash_field is not None:
                simhash = self._fingerprints.read(value)
            elif options.features_field is not None:
                _check_length(len(raw), options.max_document_bytes, "the record with its features")
                features = _features(value)
            else:
                text = checked_text(value, f"the field {self._source!r}", options.max_document_bytes)
            metadata = None
            if self._kept:
                metadata = {name: record[name] for name in self._kept if name in record} or None
                if metadata and (problem := metadata_problem(metadata)):
                    return Reject(place, f"the metadata {problem}", raw, known)
            preference = None if self._preference is None else self._preference.rank(record)
            title = record.get(TITLE) if options.titles else None
        except (InvalidInput, InvalidArgument) as error:
            return Reject(place, str(error), raw, known)
        return Document(
            known,
            text,
            simhash,
            features,
            metadata,
            place,
            raw if options.keep_raw else None,
            preference,
            title if isinstance(title, str) else None,
            None if options.by_field is None else source_in(record, options.by_field),
        )

    def _missing(self, record: Mapping[str, object], name: str) -> str:
        """Return the reason to refuse a record that lacks the field `name`.

        The first time it lists the record's fields.
        """
        advice = f"{_ADVICE}{listed(record)}: {name_the_field(self._options, name)}" if self._advise else ""
        self._advise = False
        return f"{_missing_field(name)}{advice}"

    def _id_of(self, record: Mapping[str, object], place: Place) -> str:
        value = record.get(self._id, _MISSING)
        if value is _MISSING:
            if self._options.id_field is not None:
                raise InvalidInput(self._missing(record, self._id))
            return str(place)
        if isinstance(value, int | UUID | Decimal) and not isinstance(value, bool):
            value = format(value, "f") if isinstance(value, Decimal) else str(value)
        if not isinstance(value, str):
            # Tables turn the id 1 into 1.0 where another row has none.
            kind = f"the number {value!r}" if isinstance(value, float) else _json_type(value)
            raise InvalidInput(f"the id is neither a string nor an integer but {kind}")
        if not value:
            raise InvalidInput("the id is empty")
        value = id_in_file(value, place, self._options.id_prefix)
        if len(value) * 4 > MAX_ID_BYTES and len(value.encode()) > MAX_ID_BYTES:
            raise InvalidInput(f"the id is longer than {MAX_ID_BYTES} bytes")
        return value


SOURCE_CHARACTERS = 200
_HOST = re.compile(r"https?://(?:[^/?#@]*@)?(\[[^]/?#]*]|[^/?#:]+)", re.IGNORECASE)  # In brackets: one of IPv6.


def source_in(record: Mapping[str, object], name: str) -> str:
    """Return the source (such as a site) that a field of a record names, at most 200 characters; ``""`` if none.

    For a URL the source is its host.

    Examples
    --------
    >>> source_in({"url": "https://News.example/a/1"}, "url"), source_in({"year": 2026}, "year"), source_in({}, "year")
    ('news.example', '2026', '')
    >>> source_in({"url": b"http://[2001:db8::1]:80/a"}, "url")
    '[2001:db8::1]'
    """
    return _cut(source_of(record.get(name)), SOURCE_CHARACTERS)


def source_of(value: object) -> str:
    """Return the source that a value names, such as the host of a URL or an agency's name, as text.

    It is ``""`` for None, NaN, an empty list, an empty object, and a string of blanks. A whole number names one source,
    whether it is an integer or a float, since tables with missing values turn integers into floats.

    Examples
    --------
    >>> source_of("https://News.example/a/1"), source_of(" Xinhua "), source_of(2026.0), source_of(None)
    ('news.example', 'Xinhua', '2026', '')
    """
    if value is None or (isinstance(value, Sized) and not len(value)):
        return ""
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return str(int(value) if value.is_integer() else value)
    if isinstance(value, bytes):
        # Some writers of Parquet do not say that a column has strings. Other bytes stay another source.
        value = value.decode("utf-8", "backslashreplace")
    # Integers, truth values, times and lists as JSON has them.
    text = (
        value
        if isinstance(value, str)
        else msgspec.json.encode(value, enc_hook=str, order="sorted").decode().strip('"')
    )
    text = text.strip().strip("\ufeff").strip()
    host = _HOST.match(text)
    return text if host is None else host[1].lower()


NAME_ANOTHER = "name another one with `counts=FIELD`"
_ADVICE = "; it has "


def _missing_field(name: str) -> str:
    return f"the field {name!r} is missing"


def without_advice(reason: str, options: InputOptions) -> str:
    """Return the reason of a refusal without the list of the record's fields, which `Builder` adds to the first one."""
    plain = (_missing_field(name) for name in (options.id_name, options.source_field))
    return next((each for each in plain if reason.startswith(each + _ADVICE)), reason)


def listed(names: Iterable[str]) -> str:
    """Return the names of a record's fields as text for a message, at most twelve of them."""
    shown = [_cut(name) for name in names]
    rest = f" and {len(shown) - _SHOWN_NAMES:,} more" if len(shown) > _SHOWN_NAMES else ""
    return (", ".join(shown[:_SHOWN_NAMES]) or "none") + rest


def _cut(text: str, characters: int = 40) -> str:
    return text if len(text) <= characters else f"{text[:characters]}…"


def name_the_field(options: InputOptions, name: str) -> str:
    """Return the advice, for a message, to name another field than `name` by the option that it belongs to."""
    if name == options.source_field:
        kind = "text" if name == options.text_field else "simhash" if options.simhash_field else "features"
    else:
        kind = "id"
    return f"name the right one with `{kind}_field`"


def column_fault(table: str, columns: Sequence[str], options: InputOptions) -> str | None:
    """Return the reason why a table with these columns cannot be read; None if it can.

    A needed column is missing or is there twice. `table` names the table in the reason.
    """
    for name in filter(None, (options.source_field, options.id_field)):
        if name not in columns:
            return f"{table} has no column {name!r}; it has {listed(columns)}: {name_the_field(options, name)}"
    twice = next((name for name in options.record_fields if columns.count(name) > 1), None)
    return None if twice is None else f"{table} has the column {twice!r} twice"


def checked_text(value: object, what: str, max_bytes: int = DOCUMENT_BYTES) -> str:
    """Return a value unchanged if it can be the text of a document; `what` names the value in errors.

    Raises
    ------
    InvalidInput
        When it is not a string, too long, empty or blank, or has a NUL character.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what} is not a string but {_json_type(value)}")
    if len(value) * 4 > max_bytes:
        # By pieces, as a copy of a long text would be as long.
        pieces = (value[start : start + (1 << 16)] for start in range(0, len(value), 1 << 16))
        _check_length(sum(len(piece.encode("utf-8", "surrogatepass")) for piece in pieces), max_bytes, "the text")
    if not value or value.isspace():
        raise InvalidInput("the text is empty")
    if "\0" in value:
        raise InvalidInput("the text has a NUL character, so it is not text")
    return value


def _check_length(length: int, max_bytes: int, what: str) -> None:
    if length > max_bytes:
        raise InvalidInput(f"{what} is longer than {max_bytes:,} bytes; {RAISE}")


_Features = Annotated[tuple[Feature, ...], msgspec.Meta(min_length=1)]


def _features(value: object) -> tuple[Feature, ...]:
    try:
        # A CSV column holds them as JSON.
        features = msgspec.convert(msgspec.json.decode(value) if isinstance(value, str) else value, _Features)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise InvalidInput(f"the features are not a list of [feature, weight] with at least one: {error}") from error
    if not all(isinstance(feature, str) or 0 <= feature < 1 << 64 for feature, _ in features):
        raise InvalidInput("an integer feature is outside 0 <= feature < 2**64")
    if not all(math.isfinite(weight) for _, weight in features):
        raise InvalidInput("a feature's weight is not finite")
    return features


def text_of(value: object) -> str | None:
    """Return a value as string for a column of strings: strings as they are, None as None, any other value as JSON."""
    return value if isinstance(value, str | None) else msgspec.json.encode(value).decode()


def _json_type(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return "null" if value is None else names.get(type(value), "an object")
