"""Readers of JSON lines and plain text, a document for each line or file; the division of line files into parts."""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import compress, islice
from math import isfinite
from typing import NamedTuple

import msgspec

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.compression import take_all
from simhash_hbase.inputs.encodings import UTF8, WIDE, undecodable
from simhash_hbase.inputs.options import FORMATS, RAISE, InputOptions
from simhash_hbase.inputs.records import Builder, Document, JsonLine, JsonLines, Place, Record, Reject, checked_text
from simhash_hbase.inputs.sources import FileVersion, Part
from simhash_hbase.inputs.streams import (
    PAGE_START,
    LineRun,
    ReadRequest,
    Stream,
    codec_of,
    line_runs,
    open_stream,
    original,
)

DELIMITERS = {"csv": ",", "tsv": "\t"}
LINES = frozenset({"jsonl", "text", *DELIMITERS})
"""Formats whose records are lines, so that a file has one encoding for all of them."""

_BEGINNING_BYTES = 1 << 16
_ARRAY = re.compile(rb"\s*(\[\s*(\{.*)?|\{\s*)", re.DOTALL)
_MAY_HAVE_NAN = re.compile(rb"NaN|Infinity|[eE]\+?\d{3}")
_POSITION = re.compile(r" \(byte (\d+)\)$")
_NOT_LINES = (
    "the file holds one JSON value over many lines or an array; one object a line is read, "
    "which jq -c '.[]' makes of an array, and jq -c . of one value"
)
_ARRAYS = (
    "the lines of the file are JSON arrays; one object a line is read, which jq -c '.[]' makes of arrays of objects, "
    "and jq -c '{id: .[0], text: .[1]}' of an id and a text"
)


_LineRecords = Iterator[Record | JsonLines]


def reader_of(records: Callable[..., _LineRecords]) -> Callable[[ReadRequest], _LineRecords]:
    """Return a function that opens a source and yields its records, from one that yields the records of an open stream.

    A file that cannot be read yields one refusal.
    """

    def read(request: ReadRequest) -> _LineRecords:
        stream, name = open_stream(request), request.source.name
        if isinstance(stream, str):
            yield Reject(Place(name, 0), stream, b"")
        else:
            numbered = () if request.part is None else (request.part.line,)
            yield from records(stream, name, request.options, *numbered)

    return read


def line_parts(request: ReadRequest, format_name: str, sizes: Iterator[int]) -> Iterator[Part]:
    """Yield the parts into which a file of JSON lines or text lines is cut, so that several processes can read it.

    Parts come in order, and each holds whole lines: at most as many bytes as the next number of `sizes`, or more where
    a line is longer. A part knows the number of its first line, so ids, places and reasons of its records need no
    correction. A file in UTF-16 or UTF-32, and one whose beginning does not show that it holds lines, is one part.
    """
    source = request.source
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(source.path or "", "rb", buffering=0))
        except OSError:
            # The reader of the part meets the same error, and refuses the file.
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
    """Return whether a file can be cut at line ends: its beginning shows that each line is a record by itself."""
    if stream.encoding in WIDE:
        return False
    # After a first line that is no array a reader takes each line by itself.
    return format_name != "jsonl" or any(
        run.fault is None and not _is_array(run.lines[0]) for run in _filled_lines(stream, request.options, 1)
    )


def json_runs(stream: Stream, name: str, options: InputOptions, first: int = 1) -> Iterator[JsonLines | Reject]:
    """Yield the lines of a file of JSON lines undecoded, many at a time, and refused lines.

    `first` is the number of the first line: above 1 in a later part of a file.
    """
    encoding = stream.encoding
    for numbers, lines, fault in _filled_lines(stream, options, first):
        if fault is None:
            yield JsonLines(name, numbers, lines, encoding, options)
        else:
            yield Reject(Place(name, numbers[0]), fault, original(lines[0], encoding))


def json_lines(stream: Stream, name: str, options: InputOptions, first: int = 1) -> Iterator[JsonLine | Reject]:
    """Yield each line of a file of JSON lines as an undecoded `JsonLine`, or its refusal."""
    for run in json_runs(stream, name, options, first):
        if isinstance(run, JsonLines):
            yield from map(run.line, range(len(run)))
        else:
            yield run


def json_records(stream: Stream, name: str, options: InputOptions, first: int = 1) -> Iterator[Record]:
    """Yield a document, or a refusal, for each line of a file of JSON lines, or of a part of the file.

    A line is decoded whole, which costs a fifth of the speed: an accepted line is one that other programs can read.
    """
    build, encoding = Builder(options, advise=True).build, stream.encoding
    for numbers, lines, fault in _filled_lines(stream, options, first):
        for number, line in zip(numbers, lines, strict=True):
            place = Place(name, number)
            if fault is None:
                yield _document(place, line, encoding, build, options)
            else:
                yield Reject(place, fault, original(line, encoding))


def json_record(line: JsonLine) -> Record:
    """Return the document of one line of JSON, or its refusal."""
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


def unmarked_runs(stream: Stream, options: InputOptions, first: int = 1, *, returns: bool = False) -> Iterator[LineRun]:
    """Yield lines as `line_runs` does, but remove byte order marks, which joined files have in several places."""
    runs = line_runs(stream, options.record_bytes, first, returns=returns)
    if stream.codec != UTF8:
        return runs
    return (run._replace(lines=[line.removeprefix(BOM_UTF8) for line in run.lines]) for run in runs)


def unmarked_lines(
    stream: Stream, options: InputOptions, first: int = 1, *, returns: bool = False
) -> Iterator[tuple[int, bytes, str | None]]:
    """Yield each line of `unmarked_runs` with its number and the reason why it is not whole, or None."""
    for run in unmarked_runs(stream, options, first, returns=returns):
        for number, line in enumerate(run.lines, run.first):
            yield number, line, run.fault


class _Lines(NamedTuple):
    """Lines of a file that are not blank, with their numbers; or a single refused one, of number 0 for the file."""

    numbers: Sequence[int]
    lines: Sequence[bytes]
    fault: str | None = None  # The reason why the line is refused unread.


def _filled_lines(stream: Stream, options: InputOptions, first: int) -> Iterator[_Lines]:
    """Yield the lines of JSON that are not blank, in runs; refuse a file that is one JSON array as such."""
    runs = unmarked_runs(stream, options, first)
    if first == 1 and (yield from _first_lines(runs)):
        return
    for run in runs:
        filled = _filled(run)
        if filled.lines:
            yield filled


def _filled(run: LineRun) -> _Lines:
    """Return the lines of a run that are not blank, with their numbers; a line that is not whole is never blank."""
    numbers, lines = range(run.first, run.first + len(run.lines)), run.lines
    if run.fault is not None or (all(lines) and not any(map(bytes.isspace, lines))):
        return _Lines(numbers, lines, run.fault)
    are_filled = [bool(line) and not line.isspace() for line in lines]
    return _Lines(list(compress(numbers, are_filled)), list(compress(lines, are_filled)))


def _first_lines(runs: Iterator[LineRun]) -> Generator[_Lines, None, bool]:
    """Yield the lines of the first runs of a file one by one, until two show whether it is one JSON array.

    Return whether it is and was refused.
    """
    at_beginning = True
    array: tuple[int, bytes] | None = None  # The first line, until the second one is known.
    for run in runs:
        for number, line in zip(*_filled(run)[:2], strict=True):
            if run.fault is None:
                if array is not None and _is_array(line):
                    yield _Lines([array[0]], [b""], _ARRAYS)
                    return True
                if at_beginning and array is None and _is_array(line):
                    array = number, line
                    continue
                if at_beginning and _ARRAY.fullmatch(line if array is None else array[1]):
                    yield _Lines([0], [b""], _NOT_LINES)
                    return True
                at_beginning = False
            if array is not None:
                yield _Lines([array[0]], [array[1]])
                array = None
            yield _Lines([number], [line], run.fault)
        if not at_beginning:
            return False
    if array is not None:
        is_whole = _ARRAY.fullmatch(array[1])
        yield _Lines([0], [b""], _NOT_LINES) if is_whole else _Lines([array[0]], [array[1]])
    return False


def _is_array(line: bytes) -> bool:
    return line.lstrip().startswith(b"[") and line.rstrip().endswith(b"]")


_decode = msgspec.json.Decoder(dict[str, object]).decode


def _json_object(line: bytes, encoding: str) -> dict[str, object] | str:
    """Return the JSON object in a line, or a string that says why there is none."""
    codec = codec_of(encoding)
    try:
        return _decode(line if codec == UTF8 else line.decode(codec))
    except (msgspec.DecodeError, UnicodeError) as error:
        return _undecoded_object(line, encoding, str(error))
    except RecursionError:
        return "the line is nested too deeply"


def _undecoded_object(line: bytes, encoding: str, fault: str) -> dict[str, object] | str:
    """Return the JSON object in a line that msgspec refuses, if Python's more lenient reader accepts it.

    Otherwise return the reason why there is none, as a string. `fault` is msgspec's message.
    """
    if fault.startswith("Expected `object`"):
        return "the line is not a JSON object"
    try:
        # msgspec's own error has no place in the line, and is of one class before 0.23 and of another since.
        decoded = line.decode(codec_of(encoding))
    except UnicodeError as error:
        return undecodable(error, encoding)
    with suppress(ValueError, RecursionError):
        # Python's reader accepts more than msgspec's: NaN, infinite numbers and halves of surrogate pairs.
        return _lenient_object(json.loads(decoded))
    if position := _POSITION.search(fault):
        # From msgspec's bytes of UTF-8 to an editor's characters.
        before = decoded.encode("utf-8", "replace")[: int(position[1])].decode("utf-8", "ignore")
        fault = f"{fault[: position.start()]} at character {len(before) + 1}"
    return f"the line is broken JSON: {fault}"


def _lenient_object(value: object) -> dict[str, object] | str:
    if not isinstance(value, dict):
        return "the line is not a JSON object"
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return f"the line has half of a surrogate pair: \\u{ord(error.object[error.start]):04x}"
    return value


def _not_a_number(value: dict[str, object], line: bytes, options: InputOptions) -> str | None:
    """Return the reason to refuse an object in which a field that is used has NaN or an infinite number; else None."""
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


def text_records(stream: Stream, name: str, options: InputOptions, first: int = 1) -> Iterator[Record]:
    """Yield each line of a text file, or of a part of it, as a document; its id is the file's name and the line."""
    for number, line, fault in unmarked_lines(stream, options, first):
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


read_jsonl = reader_of(json_records)
read_json_runs = reader_of(json_runs)
read_text_lines = reader_of(text_records)


def read_whole_file(request: ReadRequest) -> Iterator[Record]:
    """Yield a file as one document, or its refusal.

    Its id is the path below the folder that was named, or the file's name as given.
    """
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
    if options.format is None and (fault := _form_fault(data, stream.codec, options.source_field)) is not None:
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
    """Return whether a value is an array with strings or objects, as the lines of a data set may be.

    An array such as ``[1]`` is rather a footnote in a text.
    """
    return isinstance(value, list) and any(isinstance(item, str | dict) for item in value)


_CONVERT = "convert it to text first; `format=folder` takes it as it is"
_OTHER_FORMS = (
    (PAGE_START, "the file holds a web page: name it .html, or give `format=html`"),
    (re.compile(rb"WARC/\d\.\d+\r?\n"), "the file holds a crawl: name it .warc, or give `format=warc`"),
    (re.compile(rb"From: [<\"]Saved by "), f"the file is a web page with its pictures (MHTML): {_CONVERT}"),
    (re.compile(rb"\{\\rtf\d"), f"the file is RTF: {_CONVERT}"),
    (re.compile(rb"%PDF-\d"), f"the file is PDF: {_CONVERT}"),
    (re.compile(rb"%!PS"), f"the file is PostScript: {_CONVERT}"),
)
"""Forms that may be all ASCII, by their beginnings: their commands would be the words of a text."""


def _form_fault(data: bytes, codec: str, field: str) -> tuple[int, str] | None:
    """Return the line (0: the whole file) and the reason, if a file taken for text has another form; else None.

    JSON in a single line counts only if the line has the field of the text: a text may be about a JSON object.
    """
    beginning = data[:_BEGINNING_BYTES].decode(codec, "ignore").encode("utf-8", "ignore")
    for start, reason in _OTHER_FORMS:
        if start.match(beginning) is not None:
            return 0, reason
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
