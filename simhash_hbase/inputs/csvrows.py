"""Reader of CSV and TSV: one document for each row below the header row; a broken row does not end the reading.

After a broken row, lines that may still belong to it are refused with it.
"""

import csv
import re
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Self

from simhash_hbase.inputs.encodings import undecodable
from simhash_hbase.inputs.lines import DELIMITERS, reader_of, unmarked_lines
from simhash_hbase.inputs.options import RAISE, InputOptions
from simhash_hbase.inputs.records import Builder, Place, Record, Reject, column_fault
from simhash_hbase.inputs.streams import ReadRequest, Stream, open_stream, original

_QUOTE = re.compile(r'(?<!\\)"')  # A quote that no backslash escapes.
_BACKSLASH = (
    "a backslash before a quote is no escape in CSV: write quotes twice, which Spark does with option('escape', '\"')"
)


def read_header(request: ReadRequest, delimiter: str) -> bytes | None:
    """Return the bytes of a table's header row without the line end; None if there is none or it cannot be read."""
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
    """Yield a document, or a refused record, for each row below the header row; quotes are as in RFC 4180."""
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
    """Return advice if the header row seems to be separated by another character than `delimiter`; else None.

    `text` is the header row.
    """
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
    """Refuses the rows after a broken row that may still be part of it, as when a quote in it was not closed.

    Rows whose fate is not known yet are held back.
    """

    def __init__(self, delimiter: str) -> None:
        field = rf'("([^"]|"")*"|[^"{delimiter}\n]*)'
        self._whole = re.compile(rf"{field}({delimiter}{field})*\n?")
        self._is_open = False  # Whether a quoted field of the broken row goes on.
        self._is_after = False  # Whether no whole row has come since.
        self._doubtful = 0
        """Rows after the broken one that may belong to it: its quotes are even, but a later row may close a field."""
        self._waiting: list[tuple[Record, bytes]] = []  # The broken row and those after it, with their bytes.

    def fault(self, fault: str | None, text: str) -> str | None:
        """Return why a row is refused: its own fault, or that it may belong to the broken row before.

        None means that the row is good. `fault` is the row's own fault or None, `text` are its lines.
        """
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
        """Add the record of a row with its bytes; return the records, in order, that no later row can make refused."""
        self._waiting.append((record, raw))
        self._doubtful = max(self._doubtful - 1, 0)
        return [] if self._doubtful else self.rest()

    def rest(self) -> list[Record]:
        """Return the records that are still held back, at the end of the table."""
        records, self._waiting = [record for record, _ in self._waiting], []
        return records


def _as_remainder(record: Record, raw: bytes) -> Reject:
    return record if isinstance(record, Reject) else Reject(record.place, _REMAINDER, raw)


class _RowRefused(Exception):
    """Raised into the csv module to abandon the row that it is collecting, when the row is refused."""


class _Rows:
    """Reads the rows of a table with Python's csv module, and keeps the raw lines of the current row.

    It is the iterator of lines that the csv module reads; a refused row ends by an exception in it.
    """

    def __init__(self, stream: Stream, options: InputOptions, delimiter: str) -> None:
        self.start = 0
        """The number of the current row's first line."""
        self._fault: str | None = None
        self._stream = stream
        self._limit = options.record_bytes
        self._pieces: list[bytes] = []
        self._held = 0
        self._numbered = unmarked_lines(stream, options, returns=True)
        self._delimiter = delimiter

    def next_row(self) -> list[str] | str | None:
        """Return the fields of the next row, or the reason (a string) why the row is refused; None at the end."""
        self._pieces, self._held, self._fault = [], 0, None
        row = None
        try:
            # One for each row: a reader that is kept would refer back here, and hold the file open.
            row = next(csv.reader(self, delimiter=self._delimiter, strict=True), None)
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
        """Return the bytes of the current row as they are in the file, without the line end."""
        return original(b"\n".join(self._pieces).removesuffix(b"\r"), self._stream.encoding)

    def text(self) -> str:
        """Return the lines of the current row, decoded to a string."""
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


read_csv = reader_of(partial(_table_records, delimiter=DELIMITERS["csv"]))
read_tsv = reader_of(partial(_table_records, delimiter=DELIMITERS["tsv"]))
