"""From the fields of one record to a document, or to the reason for refusing it."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from simhash_hbase.errors import InvalidArgument, InvalidInput
from simhash_hbase.inputs.options import DOCUMENT_BYTES, RAISE, InputOptions
from simhash_hbase.inputs.records import Document, Feature, Place, Record, Reject
from simhash_hbase.rows.entries import MAX_ID_BYTES, metadata_problem

_SIXTEEN_HEX = re.compile(r"[0-9a-fA-F]{16}")
_PREFIXED_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_DECIMAL = re.compile(r"[0-9]{1,20}")
_LIMIT = 1 << 64
_SHOWN = 40


def parse_simhash(value: str | int) -> int:
    """Read a fingerprint as 16 hex digits, as ``0x…``, as decimal digits or as an integer.

    Examples
    --------
    >>> parse_simhash("00000000000000ff"), parse_simhash("0xff"), parse_simhash("255")
    (255, 255, 255)
    >>> parse_simhash("1000000000000000") == 1 << 60
    True
    """
    number: object = value
    if isinstance(value, str):
        number = int(value) if _DECIMAL.fullmatch(value) else None
        if _SIXTEEN_HEX.fullmatch(value) or _PREFIXED_HEX.fullmatch(value):
            number = int(value, 16)
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < _LIMIT:
        return number
    # An integer above Python's limit of 4300 decimal digits has no repr; hex has no such limit.
    text = hex(value) if type(value) is int else repr(value)
    text = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    raise InvalidArgument(f"{text} is not a fingerprint: 16 hex digits, 0x… or an integer below 2**64")


_PAIR = 2
_INTEGER_FEATURES = 1 << 64
_MISSING = object()
_SHOWN_NAMES = 12
_CHARACTER_BYTES = 4
_PIECE = 1 << 16
_SHOWN_CHARACTERS = 40


class Builder:
    """Makes documents of records with named fields, for every reader of such."""

    def __init__(self, options: InputOptions, *, advise: bool = False) -> None:
        self._options = options
        self._id = options.id_field
        self._source = options.source_field
        self._max_bytes = options.max_document_bytes
        self._metadata = options.metadata_fields
        self._keep_raw = options.keep_raw
        self._preference = options.preference if options.preference and options.preference.field else None
        self._advice = f"; it has {{}}: {name_the_field(options)}" if advise else None
        self._kind: Literal["text", "simhash", "features"] = "text"
        if options.simhash_field is not None:
            self._kind = "simhash"
        elif options.features_field is not None:
            self._kind = "features"

    def build(self, record: Mapping[str, object], place: Place, raw: bytes) -> Record:
        """Return the document of a record."""
        known = None
        try:
            known = self._id_of(record, place)
            value = record.get(self._source, _MISSING)
            if value is _MISSING:
                return Reject(place, self._missing(record), raw, known)
            text = simhash = features = None
            if self._kind == "text":
                text = checked_text(value, f"the field {self._source!r}", self._max_bytes)
            elif self._kind == "simhash":
                simhash = _simhash(value)
            else:
                check_length(len(raw), self._max_bytes, "the record with its features")
                features = _features(value)
            metadata = self._metadata_of(record) if self._metadata else None
            preference = None if self._preference is None else self._preference.place(record)
        except (InvalidInput, InvalidArgument) as error:
            return Reject(place, str(error), raw, known)
        own = raw if self._keep_raw else None
        return Document(known, text, simhash, features, metadata, place, own, preference)

    def _missing(self, record: Mapping[str, object]) -> str:
        advice, self._advice = self._advice, None
        return f"the field {self._source!r} is missing" + (advice.format(listed(record)) if advice else "")

    def _id_of(self, record: Mapping[str, object], place: Place) -> str:
        value = record.get(self._id, _MISSING)
        if value is _MISSING:
            return str(place)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise InvalidInput(f"the id is neither a string nor an integer but {_shown(value)}")
        if not value:
            raise InvalidInput("the id is empty")
        if len(value) * 4 > MAX_ID_BYTES and len(value.encode()) > MAX_ID_BYTES:
            raise InvalidInput(f"the id is longer than {MAX_ID_BYTES} bytes")
        return value

    def _metadata_of(self, record: Mapping[str, object]) -> dict[str, object] | None:
        found = {name: record[name] for name in self._metadata if name in record}
        problem = metadata_problem(found) if found else None
        if problem:
            raise InvalidInput(f"the metadata {problem}")
        return found or None


def listed(names: Iterable[str]) -> str:
    """Write the names of the fields of a record for a message."""
    found = [name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…" for name in names]
    rest = f" and {len(found) - _SHOWN_NAMES:,} more" if len(found) > _SHOWN_NAMES else ""
    return (", ".join(found[:_SHOWN_NAMES]) or "none") + rest


def name_the_field(options: InputOptions) -> str:
    """Name the option for the field that the fingerprint comes from."""
    name = "text" if options.source_field == options.text_field else "simhash" if options.simhash_field else "features"
    return f"name the right one with --{name}-field"


def checked_text(value: object, what: str, max_bytes: int = DOCUMENT_BYTES) -> str:
    """Return the text of a document."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} is not a string but {_json_type(value)}")
    if len(value) * _CHARACTER_BYTES > max_bytes:
        check_length(max(len(value), _utf8_bytes(value)), max_bytes, "the text")
    if not value or value.isspace():
        raise InvalidInput("the text is empty")
    if "\0" in value:
        raise InvalidInput("the text has a NUL character, so it is not text")
    return value


def check_length(length: int, max_bytes: int, what: str) -> None:
    """Raise `InvalidInput` when a document is too long."""
    if length > max_bytes:
        raise InvalidInput(f"{what} is longer than {max_bytes:,} bytes; {RAISE}")


def _utf8_bytes(text: str) -> int:
    """Count bytes by pieces: a copy of a long text would be as long."""
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    return sum(len(piece.encode("utf-8", "surrogatepass")) for piece in pieces)


def _simhash(value: object) -> int:
    if isinstance(value, str | int):
        return parse_simhash(value)
    raise InvalidInput(f"the fingerprint is neither a string nor an integer but {_json_type(value)}")


def _features(value: object) -> tuple[Feature, ...]:
    if isinstance(value, str):
        # A CSV column holds them as JSON.
        try:
            value = msgspec.json.decode(value)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise InvalidInput("the features are not a JSON array") from error
    if not isinstance(value, list) or not value:
        raise InvalidInput("the features are not a list of [feature, weight] with at least one")
    return tuple(_feature(pair) for pair in value)


def _feature(pair: object) -> Feature:
    if not isinstance(pair, list) or len(pair) != _PAIR:
        raise InvalidInput("a feature is not a pair [feature, weight]")
    feature, weight = pair
    if isinstance(feature, bool) or not isinstance(feature, str | int):
        raise InvalidInput(f"a feature is neither a string nor an integer but {_json_type(feature)}")
    if isinstance(feature, int) and not 0 <= feature < _INTEGER_FEATURES:
        raise InvalidInput("an integer feature is outside 0 <= feature < 2**64")
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise InvalidInput(f"a feature's weight is not a number but {_json_type(weight)}")
    try:
        number = float(weight)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput("a feature's weight is not finite")
    return feature, number


def text_of(value: object) -> str | None:
    """Write a value where only strings can be: others as JSON, null as nothing."""
    return value if isinstance(value, str | None) else msgspec.json.encode(value).decode()


def _shown(value: object) -> str:
    """Name the type, and a number itself: tables turn the id 1 into 1.0 where another row has none."""
    return f"the number {value!r}" if isinstance(value, float) else _json_type(value)


def _json_type(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return "null" if value is None else names.get(type(value), "an object")
