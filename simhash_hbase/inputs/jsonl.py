"""JSON lines: one object a line."""

import json
import re
from collections.abc import Iterator

import msgspec

from simhash_hbase.inputs.encodings import UTF8, undecodable
from simhash_hbase.inputs.fields import Builder
from simhash_hbase.inputs.folders import Source
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.records import Place, Record, Reject
from simhash_hbase.inputs.stream.lines import batches
from simhash_hbase.inputs.stream.streams import Progress, Stream, open_stream

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
