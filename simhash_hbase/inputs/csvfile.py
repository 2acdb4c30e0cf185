"""CSV and TSV with a header row, quoted as RFC 4180 says."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.encodings import undecodable
from simhash_hbase.inputs.fields import Builder, listed, name_the_field
from simhash_hbase.inputs.options import RAISE, InputOptions
from simhash_hbase.inputs.reading import format_of
from simhash_hbase.inputs.records import Place, Record, Reject
from simhash_hbase.inputs.sources import Source, as_sources
from simhash_hbase.inputs.streams import Progress, Stream, batches, open_stream

LINES = frozenset({"jsonl", "csv", "tsv", "text"})
"""Formats whose records are lines, so that a file has one encoding for all of them."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """A file before its records are read."""

    name: str
    path: str | None  # Where to open it; None is standard input itself.
    id: str
    format: str
    encoding: str | None = None  # The codec of lines.
    mark: bytes = b""  # The byte order mark of lines.
    header: bytes | None = None  # The header row's own bytes without the line end; None for formats without one.


def headers(named: Sequence[str], options: InputOptions) -> Iterator[Beginning]:
    """Look at the sources before they are read."""
    for source in as_sources(named).files(options.stdin):
        try:
            name = format_of(source, options)
        except InvalidInput:
            continue
        if not source.has_name or source.fault is not None:
            continue
        if name not in LINES:
            yield Beginning(source.name, source.path, source.id, name)
        elif (found := _of_lines(source, name, options)) is not None:
            yield found


def _of_lines(source: Source, name: str, options: InputOptions) -> Beginning | None:
    stream = open_stream(source, options, Progress())
    if isinstance(stream, str) or not any(stream.blocks):
        return None
    header = None
    if name in DELIMITERS and (header := read_header(source, options, DELIMITERS[name])) is None:
        return None
    return Beginning(source.name, source.path, source.id, name, stream.encoding, stream.mark, header)


DELIMITERS = {"csv": ",", "tsv": "\t"}


def read_csv(source: Source, options: InputOptions, progress: Progress) -> Iterator[Record]:
    """Read comma separated values."""
    return _read(source, options, progress, DELIMITERS["csv"])


def read_tsv(source: Source, options: InputOptions, progress: Progress) -> Iterator[Record]:
    """Read tab separated values, otherwise as `read_csv`."""
    return _read(source, options, progress, DELIMITERS["tsv"])


def read_header(source: Source, options: InputOptions, delimiter: str) -> bytes | None:
    """Return the bytes of the header row without the line end; None when there is none that can be read."""
    stream = open_stream(source, options, Progress())
    if isinstance(stream, str):
        return None
    lines = _Lines(source, stream, options)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    while isinstance(row := _next_row(rows, lines), list):
        if row:
            return lines.taken()
    return None


def _read(source: Source, options: InputOptions, progress: Progress, delimiter: str) -> Iterator[Record]:
    stream = open_stream(source, options, progress)
    if isinstance(stream, str):
        yield Reject(Place(source.name, 0), stream, b"")
        return
    # The csv module has one global limit. It is never lowered, so other readers of the process only accept more.
    csv.field_size_limit(max(csv.field_size_limit(), options.record_bytes))
    lines = _Lines(source, stream, options)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    build = Builder(options, advise=True).build
    while (row := _next_row(rows, lines)) is not None:
        place, raw = Place(source.name, lines.start), lines.taken()
        if header is None and isinstance(row, list):
            if not row:
                continue
            header, fault = row, _header_fault(row, options)
            if fault is not None:
                yield Reject(Place(source.name, 0), fault, b"")
                return
        elif header is None:
            yield Reject(Place(source.name, 0), f"the header row is unusable: {row}", b"")
            return
        elif isinstance(row, str):
            yield Reject(place, row, raw)
        elif row and len(row) != len(header):
            yield Reject(place, f"the row has {len(row)} fields, the header {len(header)}", raw)
        elif row:
            yield build(dict(zip(header, row, strict=True)), place, raw)


def _header_fault(header: list[str], options: InputOptions) -> str | None:
    needed = options.source_field
    if needed not in header:
        return f"the header row has no column {needed!r}; it has {listed(header)}: {name_the_field(options)}"
    for name in options.record_fields:
        if header.count(name) > 1:
            return f"the header row has the column {name!r} twice"
    return None


def _next_row(rows: Iterator[list[str]], lines: "_Lines") -> list[str] | str | None:
    """Return the next row, or why it is refused, or None at the end."""
    lines.begin()
    try:
        row = next(rows, None)
    except csv.Error as error:
        return lines.fault or lines.said(error)
    except _Stop:
        return lines.fault
    return row if lines.fault is None else lines.fault


class _Stop(Exception):
    """Ends the row that the csv module is collecting; the module starts afresh after it."""


class _Lines:
    """Feeds text lines to the csv module and remembers which bytes made the present row."""

    def __init__(self, source: Source, stream: Stream, options: InputOptions) -> None:
        self.start = 0
        self.fault: str | None = None
        self._codec = stream.codec
        self._encoding = stream.encoding
        self._original = stream.original
        self._limit = options.record_bytes
        self._pieces: list[bytes] = []
        self._held = 0
        self._numbered = (
            (number, line, batch.fault)
            for batch in batches(stream, options.record_bytes)
            for number, line in enumerate(batch.lines, batch.first)
        )

    def begin(self) -> None:
        self._pieces, self._held, self.fault = [], 0, None

    def said(self, error: csv.Error) -> str:
        """Describe an error without the csv module's advice to programmers."""
        text = str(error)
        if "unexpected end of data" in text:
            return f"a quote is not closed, so that the row takes all lines to the last, {len(self._pieces):,} in all"
        if "new-line character" in text:
            return "the row has a carriage return without a line feed: make line ends \\n or \\r\\n"
        return f"the row is broken CSV: {text}"

    def taken(self) -> bytes:
        return self._original(b"\n".join(self._pieces))

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        number, line, fault = next(self._numbered)
        if not self._pieces:
            self.start = number
        self._pieces.append(line)
        self._held += len(line) + 1
        if self._held > self._limit + 1:
            fault = (
                fault or f"the row is longer than {self._limit:,} bytes; perhaps a quote is not closed, else {RAISE}"
            )
        if fault is not None:
            self.fault = fault
            raise _Stop
        return self._text(line, number) + "\n"

    def _text(self, line: bytes, number: int) -> str:
        try:
            return line.decode(self._codec)
        except UnicodeError as error:
            # The row goes on to its closing quote, so that the rows after it stay whole.
            self.fault = self.fault or undecodable(error, self._encoding, line=number)
            return line.decode(self._codec, "replace")
