"""The kept documents of JSON lines, CSV or Parquet, written when all is decided: as rows, or converted."""

import csv
import gzip
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from struct import Struct
from typing import Any, BinaryIO

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from simhash_hbase.corpus.options import Watch
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.files.local import replacing, to_disk
from simhash_hbase.files.remote import is_remote, shown
from simhash_hbase.inputs import Place
from simhash_hbase.inputs.lines import DELIMITERS
from simhash_hbase.inputs.records import text_of

_ENTRY = Struct("<IQ")
_ENTRIES = np.dtype([("file", "<u4"), ("row", "<u8")])


class RowNotes:
    """Numbers of rows of some files, noted one by one."""

    def __init__(self, files: Mapping[str, str], notes: BinaryIO) -> None:
        self._files = files
        self._numbers = {name: number for number, name in enumerate(files)}
        self._notes = notes

    def add(self, place: Place) -> None:
        """Note the row at a place."""
        self._notes.write(_ENTRY.pack(self._numbers[place.file], place.line - 1))

    def parts(self) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Return each file, by where to open it, with its rows."""
        self._notes.flush()
        self._notes.seek(0)
        entries = np.frombuffer(self._notes.read(), _ENTRIES)
        for number, path in enumerate(self._files.values()):
            first, last = np.searchsorted(entries["file"], (number, number + 1)).tolist()
            yield path, entries["row"][first:last].astype(np.int64)


class KeptRows:
    """Notes which rows are kept; writes them at the end, since a Parquet file cannot be continued."""

    def __init__(self, path: str, files: Mapping[str, str], notes: BinaryIO) -> None:
        if path.lower().endswith((".gz", ".zst")):
            raise InvalidArgument(f"`output` {path}: Parquet compresses inside of the file: name it .parquet")
        self._path = path
        self._files = files
        self._numbers = RowNotes(files, notes)
        self._notes = notes

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Note one row."""
        self._numbers.add(place)

    def commit(self) -> int:
        """Bring what was noted to the disk; return its length."""
        self._notes.flush()
        os.fsync(self._notes.fileno())
        return self._notes.tell()

    def finish(self, watch: Watch) -> None:
        """Read the input again, and write the rows."""
        if not self._files:
            return
        from simhash_hbase.inputs.parquet import copy_rows  # noqa: PLC0415 - pyarrow is an extra

        rows = self.commit() // _ENTRY.size
        with replacing(self._path) as file, watch.meter("dedup: write the kept rows", rows, noun="rows") as meter:
            copy_rows(self._numbers.parts(), file.name, lambda done: meter.show(done, done))


def rows_path(path: str) -> str:
    """Name the file of row numbers beside an output, from which a restart continues."""
    return f"{path}.rows"


def same_columns(files: Mapping[str, str]) -> Mapping[str, str]:
    """Return those of some Parquet files that can be read: names, and where to open them."""
    if not files:
        return {}
    from simhash_hbase.inputs.parquet import schema_of  # noqa: PLC0415 - pyarrow is an extra

    schemas = {name: schema for name, path in files.items() if (schema := schema_of(path)) is not None}
    names = tuple(schemas)
    for name in names[1:]:
        if schemas[name] != schemas[names[0]]:
            raise InvalidArgument(f"`output` keeps rows of the same columns, and those of {names[0]} and {name} differ")
    return {name: files[name] for name in names}


NAMES = {"jsonl": "JSON lines", "csv": "CSV", "tsv": "TSV", "parquet": "Parquet"}
"""Formats that are converted into one another."""

_BATCH_ROWS = 1_000

ConvertedRow = dict[str, Any]


@dataclass(frozen=True)
class Conversion:
    """From which format into which."""

    source: str
    target: str
    encoding: str = "utf-8"  # Of lines.
    header: bytes | None = None  # Of CSV: its first row.
    files: Mapping[str, str] = field(default_factory=dict)  # Of Parquet: names, and where to open them.

    def check(self, path: str) -> None:
        """Refuse what will not go, before the work."""
        if is_remote(path):
            raise InvalidArgument(
                f"`output` {shown(path)}: a converted file is written to this machine: name a path, then copy it"
            )
        if self.target == "parquet" and not path.lower().endswith(".parquet"):
            raise InvalidArgument(f"`output` {path}: Parquet compresses inside of the file: name it .parquet")
        if "parquet" in (self.source, self.target):
            # A missing extra is an error now.
            import simhash_hbase.inputs.parquet  # noqa: F401, PLC0415
        columns = self.columns()
        if twice := next((name for name in columns if columns.count(name) > 1), None):
            raise InvalidArgument(f"`output` {path} cannot be converted: the column {twice!r} is there twice")

    @property
    def loss(self) -> str:
        """One sentence on what becomes of values."""
        said = f"`output` converts {NAMES[self.source]} to {NAMES[self.target]}"
        if self.target == "parquet":
            return f"{said}: columns of objects, or of values of several types, are strings of JSON"
        if self.target in DELIMITERS:
            return f"{said}: numbers, lists and objects are written as JSON, null as nothing"
        if self.source in DELIMITERS:
            return f"{said}: all values are strings"
        return f"{said}: bytes that are no UTF-8 are written in base64, times and decimals as strings"

    def columns(self) -> list[str]:
        """Return the columns of a format that names them at its beginning."""
        if self.header is not None:
            return _split(self.header.decode(self.encoding), DELIMITERS[self.source])
        if self.source != "parquet" or not self.files:
            return []
        from simhash_hbase.inputs.parquet import schema_of  # noqa: PLC0415

        names: list[str] = schema_of(next(iter(self.files.values()))).names
        return names


class KeptConverted:
    """Notes what is kept; converts it at the end, when all columns are known.

    Parameters
    ----------
    path : str
        Where the result comes to be.
    conversion : Conversion
        From which format into which.
    notes : BinaryIO
        Takes kept records as JSON lines, or numbers of rows of Parquet; a resumed run continues it.
    """

    def __init__(self, path: str, conversion: Conversion, notes: BinaryIO) -> None:
        self._path = path
        self._conversion = conversion
        self._notes = notes
        self._numbers = RowNotes(conversion.files, notes) if conversion.source == "parquet" else None
        self._columns = conversion.columns()

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Note one record."""
        if self._numbers is not None:
            self._numbers.add(place)
            return
        text = raw.decode(self._conversion.encoding)
        if self._conversion.source in DELIMITERS:
            values = _split(text, DELIMITERS[self._conversion.source])
            self._notes.write(msgspec.json.encode(dict(zip(self._columns, values, strict=True))) + b"\n")
        else:
            self._notes.write(text.strip().encode() + b"\n")

    def commit(self) -> int:
        """Bring what was noted to the disk; return its length."""
        to_disk(self._notes, self._notes.name)
        return self._notes.tell()

    def finish(self, watch: Watch) -> None:
        """Write the result."""
        self.commit()
        write = self._write_parquet if self._conversion.target == "parquet" else self._write_lines
        with replacing(self._path) as file, watch.meter("dedup: write the kept rows", noun="rows") as meter:
            written = 0
            for rows in write(file):
                written += rows
                meter.show(written)

    def _batches(self) -> Iterator[list[ConvertedRow]]:
        """Read what was noted, as often as it is needed."""
        rows: Iterator[ConvertedRow]
        if self._numbers is not None:
            from simhash_hbase.inputs.parquet import read_rows  # noqa: PLC0415

            rows = read_rows(self._numbers.parts())
        else:
            self._notes.seek(0)
            rows = map(msgspec.json.Decoder(ConvertedRow).decode, self._notes)
        while batch := list(islice(rows, _BATCH_ROWS)):
            yield batch

    def _write_lines(self, file: BinaryIO) -> Iterator[int]:
        pack = packer(os.path.splitext(self._path)[1])
        encode: Callable[[list[ConvertedRow]], bytes] = msgspec.json.Encoder().encode_lines
        if self._conversion.target in DELIMITERS:
            names = self._columns or dict.fromkeys(name for rows in self._batches() for row in rows for name in row)
            encode = _Table(list(names), DELIMITERS[self._conversion.target])
            file.write(pack(encode.header()))
        for rows in self._batches():
            file.write(pack(encode(rows)))
            yield len(rows)

    def _write_parquet(self, file: BinaryIO) -> Iterator[int]:
        from simhash_hbase.inputs.parquet import batch_of, schema_of_rows, written  # noqa: PLC0415

        schema = schema_of_rows(self._batches())
        yield from written(file, schema, (batch_of(rows, schema) for rows in self._batches()))


class _Table:
    """Encodes rows as CSV."""

    def __init__(self, columns: Sequence[str], delimiter: str) -> None:
        self._columns = columns
        self._delimiter = delimiter

    def header(self) -> bytes:
        return self._encoded([self._columns])

    def __call__(self, rows: list[ConvertedRow]) -> bytes:
        return self._encoded([text_of(row.get(name)) for name in self._columns] for row in rows)

    def _encoded(self, rows: Iterable[Sequence[str | None]]) -> bytes:
        out = io.StringIO()
        csv.writer(out, delimiter=self._delimiter).writerows(rows)
        return out.getvalue().encode()


def _split(row: str, delimiter: str) -> list[str]:
    [values] = csv.reader(io.StringIO(row, newline=""), delimiter=delimiter, strict=True)
    return values


# Without a time, so that the same documents make the same bytes.
_PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": partial(gzip.compress, mtime=0), ".zst": zstandard.compress}


def packer(suffix: str) -> Callable[[bytes], bytes]:
    """Return what compresses for a suffix such as ``.gz``, in capitals too; for others what changes nothing."""
    return _PACKERS.get(suffix.lower(), bytes)
