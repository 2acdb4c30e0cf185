"""The file format in which kept documents of a corpus are written: that of the input, or of the output's suffix."""

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Self

import msgspec

from simhash_hbase import inputs
from simhash_hbase.errors import InvalidArgument, InvalidInput
from simhash_hbase.files.remote import is_remote, shown
from simhash_hbase.inputs import FORMATS, SUFFIXES, InputOptions, Source, Sources, format_of
from simhash_hbase.inputs.csvrows import read_header
from simhash_hbase.inputs.lines import DELIMITERS, LINES as LINE_FORMATS
from simhash_hbase.inputs.records import NAME_ANOTHER
from simhash_hbase.inputs.sources import FileVersion
from simhash_hbase.inputs.streams import ReadRequest, open_stream

LINES, FILES, RECORDS, ROWS = "lines", "files", "records of a crawl", "rows of Parquet"
_KINDS = {"folder": FILES, "html": FILES, "warc": RECORDS, "wet": RECORDS, "parquet": ROWS}
_CONVERTED = {"jsonl": "JSON lines", "csv": "CSV", "tsv": "TSV", "parquet": "Parquet"}
"""Formats that are converted into one another."""
_NAMES = {**_CONVERTED, "text": "text", "folder": "files", "html": "pages", "warc": "a crawl", "wet": "a crawl"}
_ADVICE = {
    "text": "name it .txt",
    "folder": "name a folder",
    "html": "name a folder",
    "warc": "name it .warc or .warc.gz",
    "wet": "name it .wet or .wet.gz",
}


def split_row(row: str, delimiter: str) -> list[str]:
    """Return the values of one row of CSV or TSV."""
    [values] = csv.reader(io.StringIO(row, newline=""), delimiter=delimiter, strict=True)
    return values


@dataclass(frozen=True)
class AddedNumbers:
    """Fields with whole numbers, such as counts of copies, that are added to each kept record; its other bytes stay."""

    names: tuple[str, ...]
    format: str = "jsonl"  # Format of the input: JSON lines, CSV, TSV or Parquet.
    encoding: str = "utf-8"  # Encoding of lines.

    def header(self, header: bytes) -> bytes:
        """Return the header row of CSV, without its line end, followed by the names of the added fields."""
        row = io.StringIO()
        csv.writer(row, delimiter=DELIMITERS[self.format], lineterminator="").writerow(self.names)
        return header + (DELIMITERS[self.format] + row.getvalue()).encode(self.encoding)

    def into(self, raw: bytes, numbers: Sequence[int]) -> bytes:
        """Return a record, a line of JSON or a row of CSV, with a number added for each field, in their order.

        Examples
        --------
        >>> AddedNumbers(("copies",)).into(b'{"id": "a"}', [2])
        b'{"id": "a","copies":2}'
        """
        if self.format in DELIMITERS:
            return raw + "".join(f"{DELIMITERS[self.format]}{number}" for number in numbers).encode(self.encoding)
        line = raw.decode(self.encoding)
        pairs = (f",{msgspec.json.encode(name).decode()}:{n}" for name, n in zip(self.names, numbers, strict=True))
        # The line's own bytes are copied, not made anew: some encodings have two forms of a character.
        end = len(raw) - len(line[line.rindex("}") :].encode(self.encoding))
        return raw[:end] + "".join(pairs).encode(self.encoding) + raw[end:]


@dataclass(frozen=True)
class Conversion:
    """A conversion of kept records from one format to another, such as CSV to Parquet.

    Parquet to Parquet is one, too: its rows are copied from file to file.
    """

    source: str
    target: str
    encoding: str = "utf-8"  # Encoding of lines.
    header: bytes | None = None  # The first row of CSV.
    files: Mapping[str, str] = field(default_factory=dict)  # Files of Parquet: names and paths, in order.
    versions: Mapping[str, FileVersion] = field(default_factory=dict)  # File versions here, by name.
    names: tuple[str, ...] = ()  # Columns of Parquet.

    @property
    def copies_rows(self) -> bool:
        """Whether source and target are both Parquet, so that rows are copied as they are."""
        return self.source == self.target

    def check(self, path: str) -> None:
        """Raise `InvalidArgument` if this conversion to the file `path` is impossible; called before any is read."""
        if is_remote(path):
            what = f"{ROWS} are" if self.copies_rows else "a converted file is"
            raise InvalidArgument(f"`output` {shown(path)}: {what} written to this machine: name a path, then copy it")
        if self.target == "parquet" and path.lower().endswith((".gz", ".zst")):
            raise InvalidArgument(f"`output` {path}: Parquet compresses inside of the file: name it .parquet")
        if self.copies_rows:
            return
        if "parquet" in (self.source, self.target):
            # A missing extra is an error now.
            import simhash_hbase.inputs.parquet  # noqa: F401, PLC0415
        columns = self.columns()
        if twice := next((name for name in columns if columns.count(name) > 1), None):
            raise InvalidArgument(f"`output` {path} cannot be converted: the column {twice!r} is there twice")

    @property
    def loss(self) -> str:
        """A sentence for the user about how values are changed by the conversion."""
        if self.copies_rows:
            return (
                "`output` keeps rows, schema, codecs and row groups, written when all is decided; pages, encodings and"
                " indexes inside the file are made anew"
            )
        said = f"`output` converts {_NAMES[self.source]} to {_NAMES[self.target]}"
        if self.target == "parquet":
            return f"{said}: columns of objects, or of values of several types, are strings of JSON"
        if self.target in DELIMITERS:
            return f"{said}: numbers, lists and objects are written as JSON, null as nothing"
        if self.source in DELIMITERS:
            return f"{said}: all values are strings"
        return f"{said}: bytes that are no UTF-8 are written in base64, times and decimals as strings"

    def columns(self) -> list[str]:
        """Return the names of the input's columns, if it is CSV or Parquet; an empty list for JSON lines."""
        if self.header is not None:
            return split_row(self.header.decode(self.encoding), DELIMITERS[self.source])
        return list(self.names)


@dataclass(frozen=True)
class KeptForm:
    """The form in which kept documents are written: as bytes of the input, or by a conversion to another format."""

    kind: str = LINES
    start: bytes = b""  # Bytes before the first line: a byte order mark and the header row of CSV.
    line_end: bytes = b"\n"  # The end of a line in the encoding of lines.
    conversion: Conversion | None = None
    refers: bool = False  # Whether records of duplicates are written that refer to the kept ones.
    format: str | None = None  # Format of the input; None where there is none.
    encoding: str = "utf-8"  # Encoding of lines.
    header: bytes | None = None  # The first row of CSV.
    added: AddedNumbers | None = None  # Fields that kept records get.

    def with_numbers(self, names: tuple[str, ...]) -> Self:
        """Return this form with number fields added to each record; raise an error if its records cannot have them."""
        if self.format is None:
            return self
        if self.format not in _CONVERTED:
            have = ", ".join(_CONVERTED.values())
            raise InvalidArgument(f"`counts` writes a field, which {have} have: the input is {_NAMES[self.format]}")
        columns = [] if self.conversion is None else self.conversion.columns()
        if self.header is not None:
            columns = split_row(self.header.decode(self.encoding), DELIMITERS[self.format])
        if twice := next((name for name in names if name in columns), None):
            raise InvalidArgument(f"the input has the column {twice!r} already: {NAME_ANOTHER}")
        added = AddedNumbers(names, self.format, self.encoding)
        if self.conversion is not None or self.header is None:
            return replace(self, added=added)
        head = self.start.removesuffix(self.line_end)
        return replace(self, added=added, start=added.header(head) + self.line_end)

    @property
    def takes_bytes(self) -> bool:
        """Whether documents are written from the bytes of their records; rows of Parquet are read again instead."""
        return self.conversion is None or self.conversion.source != "parquet"

    @property
    def loss(self) -> str | None:
        """A sentence for the user about what of the input is changed or left out; None if nothing is."""
        if self.conversion is not None:
            return self.conversion.loss
        if self.kind != RECORDS:
            return None
        more = ", and revisit or metadata records of duplicates" if self.refers else ""
        return f"`output` keeps whole records of originals{more}; warcinfo, requests and other records are left out"


def looks_into(name: str | None) -> bool:
    """Return whether `kept_form` reads the beginning of files of this format; None: a format still to be detected.

    Standard input is then read twice, so that it has to be copied to the disk.
    """
    return name in (None, "parquet", *LINE_FORMATS)


@dataclass(frozen=True, slots=True)
class Beginning:
    """The facts at the beginning of an input file that the form of the output depends on: format, encoding, header."""

    name: str
    path: str | None  # Where to open it; None is standard input itself.
    id: str
    format: str
    encoding: str | None = None  # The codec of lines.
    mark: bytes = b""  # The byte order mark of lines.
    header: bytes | None = None  # The header row's own bytes without the line end; None for formats without one.
    line_end: str = "\n"  # The end of the file's first line.

    @property
    def kind(self) -> str:
        """The kind of record that the file has: lines, whole files, records of a crawl, or rows of Parquet."""
        return _KINDS.get(self.format, LINES)


def _beginnings(sources: Sources, options: InputOptions) -> Iterator[Beginning]:
    """Yield the facts at the beginning of each source; files that cannot be read as documents are left out."""
    for source in sources.files(options.stdin):
        try:
            name = format_of(source, options)
        except InvalidInput:
            continue
        if not source.has_name or source.fault is not None:
            continue
        if name not in FORMATS:
            raise InvalidArgument(
                f"{source.name}: `output` does not write {name}, a format of another package: leave it out, and choose "
                "records by the decisions"
            )
        if name not in LINE_FORMATS:
            yield Beginning(source.name, source.path, source.id, name)
            continue
        request = ReadRequest(source, options)
        with closing(request.blocks()) as opened:
            stream = open_stream(request, opened)
            if isinstance(stream, str) or (line_end := _line_end(stream.blocks)) is None:
                continue
        header = read_header(request, DELIMITERS[name]) if name in DELIMITERS else None
        if header is not None or name not in DELIMITERS:
            yield Beginning(source.name, source.path, source.id, name, stream.encoding, stream.mark, header, line_end)


def _line_end(blocks: Iterator[bytes]) -> str | None:
    """Return the line end of a file's first line, LF or CR LF, from the file's blocks; None for an empty file."""
    before = b""
    for block in filter(None, blocks):
        line, end, _ = block.partition(b"\n")
        if end:
            return "\r\n" if (before + line).endswith(b"\r") else "\n"
        before = line[-1:]
    return "\n" if before else None


def kept_form(sources: Sources, settings: InputOptions, path: str) -> KeptForm:
    """Return the form in which kept documents of an input are written to `path`.

    That is the input's own format, or the one that the suffix of the path names. `InvalidArgument` is raised if sources
    differ in format, encoding or columns, or cannot be converted.
    """
    first: Beginning | None = None
    rows: dict[str, str] = {}
    for here in _beginnings(sources, settings):
        first = first or here
        _check_alike(first, here)
        if here.kind == FILES:
            check_id(here.id)
        elif here.kind == ROWS and here.path is not None:
            rows[here.name] = here.path
    if first is None:
        return KeptForm()
    target = SUFFIXES.get(Source(path, path, path).suffix)
    if target is None or (first.kind == FILES and os.path.isdir(path)) or _KINDS.get(target) == first.kind:
        target = first.format
    form = KeptForm(first.kind, format=first.format, encoding=first.encoding or "utf-8", header=first.header)
    if first.kind == ROWS or target != first.format:
        rows, names = _same_columns(rows)
        versions = {name: FileVersion.of(path) for name, path in rows.items() if not is_remote(path)}
        conversion = Conversion(first.format, target, first.encoding or "utf-8", first.header, rows, versions, names)
        if first.format not in _CONVERTED or target not in _CONVERTED:
            advice = _ADVICE.get(first.format, "name it .jsonl, .csv, .tsv or .parquet")
            raise InvalidArgument(
                f"`output` {shown(path)} is {_NAMES[target]} by its name, and the input is {_NAMES[first.format]}: "
                f"{advice}"
            )
        conversion.check(path)
        return replace(form, conversion=conversion)
    if first.kind == FILES and is_remote(path):
        raise InvalidArgument(f"`output` {shown(path)}: {FILES} are written to this machine: name a path, then copy it")
    if first.kind == LINES:
        line_end = first.line_end.encode(first.encoding or "utf-8")
        header = b"" if first.header is None else first.header + line_end
        return replace(form, start=first.mark + header, line_end=line_end)
    return form


def _check_alike(first: Beginning, other: Beginning) -> None:
    names = f"{first.name} and {other.name}"
    if first.kind != other.kind:
        raise InvalidArgument(f"`output` keeps {LINES}, {FILES}, {RECORDS} or {ROWS}, and {names} are not alike")
    if first.kind != LINES:
        return
    if first.format != other.format:
        raise InvalidArgument(
            f"`output` keeps {LINES} of one format, and {names} are {first.format} and {other.format}"
        )
    if first.encoding != other.encoding:
        raise InvalidArgument(
            f"`output` keeps {LINES} in one encoding, and {names} are in {first.encoding} and {other.encoding}"
        )
    if first.header != other.header:
        raise InvalidArgument(f"`output` keeps rows below one header, and those of {names} differ")


def _same_columns(files: dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return those of some Parquet files, by name, that can be read, and the names of their columns.

    `InvalidArgument` is raised if the columns differ between files.
    """
    if not files:
        return {}, ()
    read = {name: inputs.parquet.schema_of(path) for name, path in files.items()}
    schemas = {name: schema for name, schema in read.items() if schema is not None}
    names = tuple(schemas)
    for name in names[1:]:
        if schemas[name] != schemas[names[0]]:
            raise InvalidArgument(f"`output` keeps rows of the same columns, and those of {names[0]} and {name} differ")
    return {name: files[name] for name in names}, tuple(schemas[names[0]].names) if names else ()


def check_id(name: str) -> None:
    """Raise `InvalidArgument` for an id that is an absolute path or has ``..`` in it: no file is kept under it."""
    relative = PurePath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise InvalidArgument(f"`output` keeps files under their ids, and {name} leads elsewhere: name its folder")
