"""JSON lines, CSV and plain text: a document a line, a row or a file."""

import csv
import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from itertools import islice
from math import isfinite
from typing import Self

import msgspec

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.compression import take_all
from simhash_hbase.inputs.encodings import UTF8, WIDE, undecodable
from simhash_hbase.inputs.options import FORMATS, RAISE, InputOptions
from simhash_hbase.inputs.records import Builder, Document, JsonLine, Place, Record, Reject, checked_text, column_fault
from simhash_hbase.inputs.sources import FileVersion, Part
from simhash_hbase.inputs.streams import ReadRequest, Stream, codec_of, numbered_lines, open_stream, original

DELIMITERS = {"csv": ",", "tsv": "\t"}
LINES = frozenset({"jsonl", "text", *DELIMITERS})
"""Formats whose records are lines, so that a file has one encoding for all of them."""

_ARRAY = re.compile(rb"\s*(\[\s*(\{.*)?|\{\s*)", re.DOTALL)
_MAY_HAVE_NAN = re.compile(rb"NaN|Infinity|[eE]\+?\d{3}")
_POSITION = re.compile(r" \(byte (\d+)\)$")
_QUOTE = re.compile(r'(?<!\\)"')  # A quote that no backslash escapes.
_BACKSLASH = (
    "a backslash before a quote is no escape in CSV: write quotes twice, which Spark does with option('escape', '\"')"
)
_NOT_LINES = (
    "the file holds one JSON value over many lines or an array; one object a line is read, "
    "which jq -c '.[]' makes of an array, and jq -c . of one value"
)
_ARRAYS = (
    "the lines of the file are JSON arrays; one object a line is read, which jq -c '.[]' makes of arrays of objects, "
    "and jq -c '{id: .[0], text: .[1]}' of an id and a text"
)


_LineRecords = Iterator[Record | JsonLine]


def _reader(records: Callable[..., _LineRecords]) -> Callable[[ReadRequest], _LineRecords]:
    """Make a reader; a file that cannot be read from its beginning on is one refusal."""

    def read(request: ReadRequest) -> _LineRecords:
        stream, name = open_stream(request), request.source.name
        if isinstance(stream, str):
            yield Reject(Place(name, 0), stream, b"")
        else:
            numbered = () if request.part is None else (request.part.line,)
            yield from records(stream, name, request.options, *numbered)

    return read


def line_parts(request: ReadRequest, format_name: str, sizes: Iterator[int]) -> Iterator[Part]:
    """Yield the parts of a file of JSON lines or text lines, in order; each ends with a line end or the file.

    A part has as many bytes as the next of `sizes`, or as many as a longer line needs. The line ends before it are
    counted, so that ids, places and reasons of its records need no correction. A file in UTF-16 or UTF-32, and one
    whose beginning does not show that it holds lines, is one part.
    """
    source = request.source
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(source.path or "", "rb", buffering=0))
        except OSError:
            # Who reads it meets the error, and refuses it.
            yield Part((source,))
            return
        # Taken before the beginning is read, so that all parts are of one version.
        version = FileVersion.of(file.fileno())
        with closing(request.chunks()) as opened:
            stream = open_stream(request, opened)
            if isinstance(stream, str) or not _is_divisible(stream, request, format_name):
                yield Part((source,))
                return
        start, line = len(stream.mark), 1
        try:
            for size in sizes:
                file.seek(start)
                length = line_ends = 0
                while block := file.read(size):
                    length += len(block)
                    line_ends += block.count(b"\n")
                    end = block.rfind(b"\n") + 1
                    if end:
                        length -= len(block) - end
                        break
                if not length:
                    version.check(file.fileno(), source.name)
                    return
                yield Part((source,), start, start + length, line, stream.encoding, version)
                start, line = start + length, line + line_ends
        except OSError:
            yield Part((source,), start, max(source.size, start + 1), line, stream.encoding, version)


def _is_divisible(stream: Stream, request: ReadRequest, format_name: str) -> bool:
    """Return whether the beginning of a file shows that each line is a record by itself, which a byte ends."""
    if stream.encoding in WIDE:
        return False
    # After a first line that is no array a reader takes each line by itself.
    return format_name != "jsonl" or any(
        isinstance(record, JsonLine) and not _is_array(record.content)
        for record in json_lines(stream, request.source.name, request.options)
    )


def json_lines(stream: Stream, name: str, options: InputOptions, first: int = 1) -> Iterator[JsonLine | Reject]:
    """Yield the lines of JSON of a file, or of a part of it that begins with another line than the first."""
    encoding = stream.encoding
    for place, line, fault in _placed_lines(stream, name, options, first):
        if fault is None:
            yield JsonLine(place, line, encoding, options)
        else:
            yield Reject(place, fault, original(line, encoding))


def json_records(stream: Stream, name: str, options: InputOptions, first: int = 1) -> Iterator[Record]:
    """Yield the documents of the same lines.

    A line is decoded whole, which costs a fifth of the speed: an accepted line is one that other programs can read.
    """
    build, encoding = Builder(options, advise=True).build, stream.encoding
    for place, line, fault in _placed_lines(stream, name, options, first):
        if fault is None:
            yield _document(place, line, encoding, build, options)
        else:
            yield Reject(place, fault, original(line, encoding))


def json_record(line: JsonLine) -> Record:
    """Return the document of one line."""
    build = Builder(line.options, advise=True).build
    return _document(line.place, line.content, line.encoding, build, line.options)


def _document(
    place: Place,
    line: bytes,
    encoding: str,
    build: Callable[[dict[str, object], Place, bytes], Record],
    options: InputOptions,
) -> Record:
    value, raw = _json_object(line, encoding), original(line, encoding)
    if isinstance(value, dict) and (fault := _not_a_number(value, line, options)) is not None:
        value = fault
    return build(value, place, raw) if isinstance(value, dict) else Reject(place, value, raw)


def _lines(
    stream: Stream, options: InputOptions, first: int = 1, *, returns: bool = False
) -> Iterator[tuple[int, bytes, str | None]]:
    """Yield numbered lines; the mark that begins a file stays within a file that others were joined to."""
    has_marks = stream.codec == UTF8
    for number, line, fault in numbered_lines(stream, options.record_bytes, first, returns=returns):
        yield number, line.removeprefix(BOM_UTF8) if has_marks else line, fault


def _placed_lines(
    stream: Stream, name: str, options: InputOptions, first: int
) -> Iterator[tuple[Place, bytes, str | None]]:
    """Yield lines that are not empty, and why one is refused as it is."""
    at_beginning = first == 1
    array: tuple[int, bytes] | None = None  # The first line, until the second one is known.
    for number, line, fault in _lines(stream, options, first):
        if fault is None:
            if not line or line.isspace():
                continue
            if array is not None and _is_array(line):
                yield Place(name, array[0]), b"", _ARRAYS
                return
            if at_beginning and array is None and _is_array(line):
                array = number, line
                continue
            if at_beginning and _ARRAY.fullmatch(line if array is None else array[1]):
                yield Place(name, 0), b"", _NOT_LINES
                return
            at_beginning = False
        if array is not None:
            yield Place(name, array[0]), array[1], None
            array = None
        yield Place(name, number), line, fault
    if array is not None:
        is_whole = _ARRAY.fullmatch(array[1])
        yield (Place(name, 0), b"", _NOT_LINES) if is_whole else (Place(name, array[0]), array[1], None)


def _is_array(line: bytes) -> bool:
    return line.lstrip().startswith(b"[") and line.rstrip().endswith(b"]")


_decode = msgspec.json.Decoder(dict[str, object]).decode


def _json_object(line: bytes, encoding: str) -> dict[str, object] | str:
    """Return the object of a line, or why there is none."""
    codec = codec_of(encoding)
    try:
        return _decode(line if codec == UTF8 else line.decode(codec))
    except UnicodeError as of_string:
        # msgspec counts from the beginning of the string, not of the line.
        error = of_string
        try:
            line.decode(codec)
        except UnicodeError as of_line:
            error = of_line
        return undecodable(error, encoding)
    except msgspec.DecodeError as error:
        text = str(error)
        if text.startswith("Expected `object`"):
            return "the line is not a JSON object"
        decoded = line.decode(codec, "replace")
        with suppress(ValueError, RecursionError):
            # Python's reader accepts more than msgspec's: NaN, infinite numbers and halves of surrogate pairs.
            return _lenient_object(json.loads(decoded))
        if position := _POSITION.search(text):
            # From msgspec's bytes of UTF-8 to an editor's characters.
            before = decoded.encode("utf-8", "replace")[: int(position[1])].decode("utf-8", "ignore")
            text = f"{text[: position.start()]} at character {len(before) + 1}"
        return f"the line is broken JSON: {text}"
    except RecursionError:
        return "the line is nested too deeply"


def _lenient_object(value: object) -> dict[str, object] | str:
    if not isinstance(value, dict):
        return "the line is not a JSON object"
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return f"the line has half of a surrogate pair: \\u{ord(error.object[error.start]):04x}"
    return value


def _not_a_number(value: dict[str, object], line: bytes, options: InputOptions) -> str | None:
    """Return why an object is refused that has NaN or an infinite number in a field that is read."""
    for name in options.record_fields:
        field = value.get(name)
        if isinstance(field, float):
            is_number = isfinite(field)
        else:
            # To search the line takes several times as long as to decode it.
            is_number = not (isinstance(field, list | dict) and _MAY_HAVE_NAN.search(line) and _has_nan(field))
        if not is_number:
            return f"the field {name!r} is NaN or an infinite number"
    return None


def _has_nan(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return True
    return False


def read_header(request: ReadRequest, delimiter: str) -> bytes | None:
    """Return the bytes of the header row without the line end; None when there is none that can be read."""
    with closing(request.blocks()) as opened:
        stream = open_stream(request, opened)
        if isinstance(stream, str):
            return None
        rows = _Rows(stream, request.options, delimiter)
        while isinstance(row := rows.next_row(), list):
            if row:
                return rows.raw()
        return None


def _table_records(stream: Stream, name: str, options: InputOptions, *, delimiter: str) -> Iterator[Record]:
    """Yield the documents of values with a header row, quoted as RFC 4180 says."""
    # The csv module has one global limit. It is never lowered, so other readers of the process only accept more.
    csv.field_size_limit(max(csv.field_size_limit(), options.record_bytes))
    rows = _Rows(stream, options, delimiter)
    header: list[str] | None = None
    build = Builder(options, advise=True).build
    remainder = _Remainder(delimiter)
    while (row := rows.next_row()) is not None:
        place, raw = Place(name, rows.start), rows.raw()
        if header is None:
            if not row:
                continue
            if isinstance(row, str):
                fault: str | None = f"the header row is unusable: {row}"
            else:
                header, fault = row, column_fault("the header row", row, options)
            if fault is not None:
                other = _other_delimiter(rows.text(), delimiter)
                yield Reject(Place(name, 0), fault if other is None else f"{fault}; {other}", b"")
                return
            continue
        if not row:
            continue
        fault = remainder.fault(_row_fault(row, header), rows.text())
        if isinstance(row, str) or fault is not None:
            record: Record = Reject(place, fault or "", raw)
        else:
            record = build(dict(zip(header, row, strict=True)), place, raw)
        yield from remainder.settled(record, raw)
    yield from remainder.rest()


def _other_delimiter(text: str, delimiter: str) -> str | None:
    """Return advice where a header row seems to have another separator."""
    header = text.partition("\n")[0]
    other = max(",;|\t", key=header.count)
    if header.count(other) <= header.count(delimiter):
        return None
    name = next((name for name, known in DELIMITERS.items() if known == other), None)
    advice = f"give `format={name}`" if name else f"write it with {delimiter!r}"
    return f"the separator seems to be {other!r}: {advice}"


def _row_fault(row: list[str] | str, header: list[str]) -> str | None:
    if isinstance(row, str):
        return row
    if row == header:
        return "the row repeats the header: two tables were joined"
    return None if len(row) == len(header) else f"the row has {len(row)} fields, the header {len(header)}"


_REMAINDER = "the line may belong to the broken row before it"
_DOUBTFUL_ROWS = 100  # No text is expected to have more lines that look like rows.


class _Remainder:
    """Finds the lines that may be the remainder of a broken row: these are no rows of their own."""

    def __init__(self, delimiter: str) -> None:
        field = rf'("([^"]|"")*"|[^"{delimiter}\n]*)'
        self._whole = re.compile(rf"{field}({delimiter}{field})*\n?")
        self._is_open = False  # Whether a quoted field of the broken row goes on.
        self._is_after = False  # Whether no whole row has come since.
        self._doubtful = 0
        """Rows behind the broken one that may belong to it: its quotes are even, but a later row may close a field."""
        self._waiting: list[tuple[Record, bytes]] = []  # The broken row and those behind it, with their bytes.

    def fault(self, fault: str | None, text: str) -> str | None:
        """Return why a row is refused: its own fault, or that of the row before it."""
        if fault is None and not self._is_after:
            return None
        is_whole = self._whole.fullmatch(text) is not None
        if fault is None and is_whole and ('"' in text or not self._is_open):
            self._doubtful = 0 if '"' in text else self._doubtful
            self._is_open, self._is_after = False, self._doubtful > 0
            return None
        is_odd = len(_QUOTE.findall(text)) % 2 == 1
        is_closing = is_odd and text.rstrip("\n").endswith('"')
        if self._doubtful and is_closing:
            self._waiting = [(_as_remainder(*waiting), waiting[1]) for waiting in self._waiting]
            self._doubtful = 0
        elif self._is_open:
            self._is_open = not is_closing
        else:
            self._is_open = is_odd
            has_pairs = '"' in text and not is_odd and not is_whole
            self._doubtful = 0 if is_odd else self._doubtful or has_pairs * _DOUBTFUL_ROWS
        self._is_after = True
        if fault is None:
            fault = _REMAINDER
        if '\\"' in text:
            fault += f"; {_BACKSLASH}"
        return fault

    def settled(self, record: Record, raw: bytes) -> list[Record]:
        """Return the records that no later row changes, this one among them or kept for later."""
        self._waiting.append((record, raw))
        self._doubtful = max(self._doubtful - 1, 0)
        return [] if self._doubtful else self.rest()

    def rest(self) -> list[Record]:
        """Return the records that were kept."""
        records, self._waiting = [record for record, _ in self._waiting], []
        return records


def _as_remainder(record: Record, raw: bytes) -> Reject:
    return record if isinstance(record, Reject) else Reject(record.place, _REMAINDER, raw)


class _RowRefused(Exception):
    """Ends the row that the csv module is collecting; the module starts afresh after it."""


class _Rows:
    """The rows of a table, by the csv module; remembers which lines made the present row.

    Its iterator feeds the csv module with lines, until the row is refused.
    """

    def __init__(self, stream: Stream, options: InputOptions, delimiter: str) -> None:
        self.start = 0
        """The number of the row's first line."""
        self._fault: str | None = None
        self._stream = stream
        self._limit = options.record_bytes
        self._pieces: list[bytes] = []
        self._held = 0
        self._numbered = _lines(stream, options, returns=True)
        self._rows = csv.reader(self, delimiter=delimiter, strict=True)

    def next_row(self) -> list[str] | str | None:
        """Return the next row, or why it is refused, or None at the end."""
        self._pieces, self._held, self._fault = [], 0, None
        row = None
        try:
            row = next(self._rows, None)
        except _RowRefused:
            pass
        except csv.Error as error:
            # Without the module's advice to programmers.
            text = str(error)
            if "unexpected end of data" in text:
                lines = f"{len(self._pieces):,}"
                text = f"a quote is not closed, so that the row takes all lines to the last, {lines} in all"
            elif "new-line character" in text:
                text = "the row has a carriage return without a line feed: make line ends \\n or \\r\\n"
            else:
                text = f"the row is broken CSV: {text}"
            self._fault = self._fault or text
        return self._fault or row

    def raw(self) -> bytes:
        """Return the present row as it is in the file."""
        return original(b"\n".join(self._pieces).removesuffix(b"\r"), self._stream.encoding)

    def text(self) -> str:
        """Return the lines of the present row."""
        lines = (piece.removesuffix(b"\r") for piece in self._pieces)
        return b"\n".join(lines).decode(self._stream.codec, "replace")

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        number, line, fault = next(self._numbered)
        if not self._pieces:
            self.start = number
        self._pieces.append(line)
        line = line.removesuffix(b"\r")
        self._held += len(line) + 1
        if fault is None and self._held > self._limit + 1:
            fault = f"the row is longer than {self._limit:,} bytes; perhaps a quote is not closed, else {RAISE}"
        if fault is not None:
            self._fault = fault
            raise _RowRefused
        try:
            return line.decode(self._stream.codec) + "\n"
        except UnicodeError as error:
            # The row goes on to its closing quote, so that the rows after it stay whole.
            self._fault = self._fault or undecodable(error, self._stream.encoding, line=number)
            return line.decode(self._stream.codec, "replace") + "\n"


def text_records(stream: Stream, name: str, options: InputOptions, first: int = 1) -> Iterator[Record]:
    """Yield the lines of a file, or of a part of it; the id of a document is the file and the line."""
    for number, line, fault in _lines(stream, options, first):
        place, raw = Place(name, number), original(line, stream.encoding)
        if fault is not None:
            yield Reject(place, fault, raw)
        elif line and not line.isspace():
            try:
                text = checked_text(line.decode(stream.codec), "the line", options.max_document_bytes)
            except UnicodeError as error:
                yield Reject(place, undecodable(error, stream.encoding), raw)
            except InvalidInput as error:
                yield Reject(place, str(error), raw, str(place))
            else:
                yield Document(str(place), text, None, None, None, place, raw if options.keep_raw else None)


read_jsonl = _reader(json_records)
read_json_lines = _reader(json_lines)
read_csv = _reader(partial(_table_records, delimiter=DELIMITERS["csv"]))
read_tsv = _reader(partial(_table_records, delimiter=DELIMITERS["tsv"]))
read_text_lines = _reader(text_records)


def read_whole_file(request: ReadRequest) -> Iterator[Record]:
    """Read a file as one document, whose id is its path in the folder, or as it was named."""
    source, options = request.source, request.options
    place = Place(source.name, 0)
    stream = open_stream(request)
    if isinstance(stream, str):
        yield Reject(place, stream, b"", source.id)
        return
    data, whole = take_all(stream.blocks, options.record_bytes)
    raw = stream.mark + original(data, stream.encoding)
    if not whole:
        reason = f"the file is longer than {options.record_bytes:,} bytes"
        yield Reject(place, f"{reason}; {RAISE}; only its beginning is kept", raw, source.id)
        return
    if stream.fault is not None:
        yield Reject(place, stream.fault, raw, source.id)
        return
    if options.format is None and (fault := _json_fault(data, stream.codec, options.source_field)) is not None:
        line, reason = fault
        yield Reject(Place(source.name, line), reason, raw, source.id)
        return
    if options.format is None and source.is_part:
        reason = "the name is that of a part of a data set and does not tell its format"
        yield Reject(place, f"{reason}; give `format={'|'.join(FORMATS)}`", raw, source.id)
        return
    try:
        text = checked_text(data.decode(stream.codec), "the file", options.max_document_bytes)
    except UnicodeError as error:
        yield Reject(place, undecodable(error, stream.encoding, before=len(stream.mark)), raw, source.id)
    except InvalidInput as error:
        yield Reject(place, str(error), raw, source.id)
    else:
        yield Document(source.id, text, None, None, None, place, raw if options.keep_raw else None)


def _is_array_of_a_record(value: object) -> bool:
    """Return whether a value is an array with texts or objects; ``[1]`` is a note of a text."""
    return isinstance(value, list) and any(isinstance(item, str | dict) for item in value)


def _json_fault(data: bytes, codec: str, field: str) -> tuple[int, str] | None:
    """Return why a file is no text but lines of JSON, after the line to name, 0 for the file; None for a text.

    One line counts only if it has the field of the text: a text may be about a JSON object.
    """
    if data.lstrip()[:1] not in (b"{", b"["):
        return None
    pieces = enumerate(data[: 1 << 20].split(b"\n"), start=1)
    lines = list(islice(((number, line) for number, line in pieces if line.strip()), 2))
    if not lines:
        return None
    try:
        values = [msgspec.json.decode(line.decode(codec)) for _, line in lines]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if len(values) > 1 and all(map(_is_array_of_a_record, values)):
        return lines[0][0], _ARRAYS
    is_record = all(isinstance(value, dict) for value in values) and (len(values) > 1 or field in values[0])
    return (0, "the file holds JSON lines: name it .jsonl, or give `format=jsonl`") if is_record else None
