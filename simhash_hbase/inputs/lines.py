"""JSON lines and plain text: a document a line, or a text a file."""

import json
import re
from collections.abc import Iterator

import msgspec

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.encodings import UTF8, undecodable
from simhash_hbase.inputs.fields import Builder, checked_text
from simhash_hbase.inputs.options import RAISE, InputOptions
from simhash_hbase.inputs.records import Document, Place, Record, Reject
from simhash_hbase.inputs.sources import Source
from simhash_hbase.inputs.streams import Progress, Stream, batches, open_stream, take_all

_ARRAY = re.compile(rb"\s*(\[\s*(\{.*)?|\{\s*)", re.DOTALL)
_POSITION = re.compile(r" \(byte (\d+)\)$")
_NOT_LINES = (
    "the file holds one JSON value over many lines or an array; one object a line is read, "
    "which jq -c '.[]' makes of an array"
)


def read_jsonl(source: Source, options: InputOptions, progress: Progress) -> Iterator[Record]:
    """Read JSON lines.

    A line is decoded whole, which costs a fifth of the speed: an accepted line is one that other programs can read.
    """
    stream = open_stream(source, options, progress)
    if isinstance(stream, str):
        yield Reject(Place(source.name, 0), stream, b"")
    else:
        yield from json_records(stream, source.name, options)


def json_records(stream: Stream, name: str, options: InputOptions, first: int = 1) -> Iterator[Record]:
    """Read a file's JSON lines, or those of a part of it that begins with another line than the first."""
    decode = _Decoder(stream)
    build = Builder(options, advise=True).build
    original = stream.original
    seen = first > 1
    for batch in batches(stream, options.record_bytes, first):
        for number, line in enumerate(batch.lines, batch.first):
            place = Place(name, number)
            if batch.fault is not None:
                yield Reject(place, batch.fault, original(line))
                continue
            if not line or line.isspace():
                continue
            if not seen and _ARRAY.fullmatch(line):
                yield Reject(Place(name, 0), _NOT_LINES, b"")
                return
            seen = True
            value = decode(line)
            if isinstance(value, dict):
                yield build(value, place, original(line))
            else:
                yield Reject(place, value, original(line))


class _Decoder:
    def __init__(self, stream: Stream) -> None:
        self._codec = stream.codec
        self._encoding = stream.encoding
        self._decode = msgspec.json.Decoder(dict[str, object]).decode

    def __call__(self, line: bytes) -> dict[str, object] | str:
        try:
            return self._decode(line if self._codec == UTF8 else line.decode(self._codec))
        except UnicodeError as error:
            return self._undecodable(line, error)
        except msgspec.DecodeError as error:
            return self._fault(line, error)
        except RecursionError:
            return "the line is nested too deeply"

    def _undecodable(self, line: bytes, error: UnicodeError) -> str:
        """Find the position in the line: msgspec counts from the beginning of the string."""
        try:
            line.decode(self._codec)
        except UnicodeError as found:
            error = found
        return undecodable(error, self._encoding)

    def _fault(self, line: bytes, error: msgspec.DecodeError) -> str:
        text = str(error)
        if text.startswith("Expected `object`"):
            return "the line is not a JSON object"
        decoded = line.decode(self._codec, "replace")
        if _python_reads(decoded):
            return "the line has half of a surrogate pair, NaN or an infinite number"
        return f"the line is broken JSON: {_with_character(text, decoded)}"


def _with_character(text: str, line: str) -> str:
    """Convert the position from msgspec's bytes of UTF-8 to an editor's characters."""
    found = _POSITION.search(text)
    if found is None:
        return text
    before = line.encode("utf-8", "replace")[: int(found[1])].decode("utf-8", "ignore")
    return f"{text[: found.start()]} at character {len(before) + 1}"


def _python_reads(line: str) -> bool:
    """Tell values that msgspec refuses from broken JSON: Python's reader accepts more."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def read_text_lines(source: Source, options: InputOptions, progress: Progress) -> Iterator[Record]:
    """Read plain text, one document a line, whose id is the file and the line."""
    stream = open_stream(source, options, progress)
    if isinstance(stream, str):
        yield Reject(Place(source.name, 0), stream, b"")
    else:
        yield from text_records(stream, source.name, options)


def text_records(stream: Stream, name: str, options: InputOptions, first: int = 1) -> Iterator[Record]:
    """Read a file's lines, or those of a part of it that begins with another line than the first."""
    for batch in batches(stream, options.record_bytes, first):
        for number, line in enumerate(batch.lines, batch.first):
            place = Place(name, number)
            if batch.fault is not None:
                yield Reject(place, batch.fault, stream.original(line))
            elif line and not line.isspace():
                yield _line_document(line, stream, place, options)


def _line_document(line: bytes, stream: Stream, place: Place, options: InputOptions) -> Record:
    raw = stream.original(line)
    try:
        text = checked_text(line.decode(stream.codec), "the line", options.max_document_bytes)
    except UnicodeError as error:
        return Reject(place, undecodable(error, stream.encoding), raw)
    except InvalidInput as error:
        return Reject(place, str(error), raw, str(place))
    return Document(str(place), text, None, None, None, place, raw if options.keep_raw else None)


def read_whole_file(source: Source, options: InputOptions, progress: Progress) -> Iterator[Record]:
    """Read a file as one document, whose id is its path in the folder, or as it was named."""
    place = Place(source.name, 0)
    stream = open_stream(source, options, progress)
    if isinstance(stream, str):
        yield Reject(place, stream, b"", source.id)
        return
    data, whole = take_all(stream.blocks, options.record_bytes)
    raw = stream.mark + stream.original(data)
    if not whole:
        reason = f"the file is longer than {options.record_bytes:,} bytes"
        yield Reject(place, f"{reason}; {RAISE}; only its beginning is kept", raw, source.id)
    elif stream.fault is not None:
        yield Reject(place, stream.fault, raw, source.id)
    else:
        yield _file_document(data, stream, source, raw, options)


def _file_document(data: bytes, stream: Stream, source: Source, raw: bytes, options: InputOptions) -> Record:
    place = Place(source.name, 0)
    try:
        text = checked_text(data.decode(stream.codec), "the file", options.max_document_bytes)
    except UnicodeError as error:
        return Reject(place, undecodable(error, stream.encoding, before=len(stream.mark)), raw, source.id)
    except InvalidInput as error:
        return Reject(place, str(error), raw, source.id)
    return Document(source.id, text, None, None, None, place, raw if options.keep_raw else None)
