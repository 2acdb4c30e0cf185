"""The kept documents of a corpus, in the input's own form."""

import gzip
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from simhash_hbase.corpus.kept.captures import KeptCaptures
from simhash_hbase.corpus.kept.converted import NAMES, Conversion, KeptConverted
from simhash_hbase.corpus.kept.files import KeptFile, opened, packer
from simhash_hbase.corpus.kept.folder import KeptFolder, check_id
from simhash_hbase.corpus.kept.rows import KeptRows, rows_path, same_columns
from simhash_hbase.corpus.options import Watch
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.files.remote import is_remote, shown
from simhash_hbase.inputs import InputOptions, Page, Place, Sources, scan
from simhash_hbase.inputs.folders import Source
from simhash_hbase.inputs.formats import SUFFIXES
from simhash_hbase.inputs.headers import LINES as LINE_FORMATS
from simhash_hbase.inputs.headers import Beginning, headers

LINES, FILES, RECORDS, ROWS = "lines", "files", "records of a crawl", "rows of Parquet"
_KINDS = {"folder": FILES, "html": FILES, "warc": RECORDS, "wet": RECORDS, "parquet": ROWS}
_SHOWN = {**NAMES, "text": "text", "folder": "files", "html": "pages", "warc": "a crawl", "wet": "a crawl"}
_ADVICE = {
    "text": "name it .txt",
    "folder": "name a folder",
    "html": "name a folder",
    "warc": "name it .warc or .warc.gz",
    "wet": "name it .wet or .wet.gz",
}
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class KeptForm:
    """In which form documents came."""

    kind: str = LINES
    start: bytes = b""  # Of lines: what comes before the first, a byte order mark and the header row of CSV.
    line_end: bytes = b"\n"  # Of lines: in their encoding.
    files: Mapping[str, str] = field(default_factory=dict)
    """Of rows: the files in the order of the input, and where to open them."""
    refers: bool = False  # Of records: whether those of duplicates are written, which refer to what is kept.
    conversion: Conversion | None = None  # What makes another format of it.
    takes_bytes: bool = True  # Whether what is kept is written from the input's own bytes; rows are read again.

    @property
    def loss(self) -> str | None:
        """One sentence on what cannot be kept."""
        if self.conversion is not None:
            return self.conversion.loss
        if self.kind == RECORDS:
            more = ", and revisit or metadata records of duplicates" if self.refers else ""
            return f"--output keeps whole records of originals{more}; warcinfo, requests and other records are left out"
        if self.kind == ROWS:
            return (
                "--output keeps rows, schema, codecs and row groups, written when all is decided; pages, encodings and"
                " indexes inside the file are made anew"
            )
        return None

    def referring(self) -> "KeptForm":
        """Return the form in which records of duplicates are written, too."""
        if self.kind != RECORDS:
            raise InvalidArgument("--duplicates revisit needs --output FILE, and crawls as the input")
        return replace(self, refers=True)


NOTHING = KeptForm(takes_bytes=False)  # Nothing is kept.


def looks_into(name: str | None) -> bool:
    """Tell whether `kept_form` reads in files of a format, so that a pipe had to be copied before."""
    return name in (None, "parquet", *LINE_FORMATS)


def _form_of(first: Beginning, rows: Mapping[str, str]) -> KeptForm:
    kind = _KINDS.get(first.format, LINES)
    if kind != LINES:
        return KeptForm(kind=kind, files=rows, takes_bytes=kind != ROWS)
    line_end = "\n".encode(first.encoding or "utf-8")
    start = first.mark + (b"" if first.header is None else first.header + line_end)
    return KeptForm(start=start, line_end=line_end)


class NotKept:
    """Keeps nothing."""

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Do nothing."""

    def commit(self) -> int:
        """Do nothing."""
        return 0


Kept = NotKept | KeptFile | KeptCaptures | KeptFolder | KeptRows | KeptConverted
"""Takes the kept documents in input order: the input's own bytes where they are wanted, the id, and the place.

`commit` brings them to the disk, and returns how much it is in all.
"""


def kept_form(sources: Sources, settings: InputOptions, path: str) -> KeptForm:
    """Find the form that the kept documents of an input can be written in: its own, or the one that the path names."""
    first: Beginning | None = None
    rows: dict[str, str] = {}
    for here in headers(sources, settings):
        first = first or here
        _check_alike(first, here)
        kind = _KINDS.get(here.format, LINES)
        if kind == FILES:
            check_id(here.id)
        elif kind == ROWS and here.path is not None:
            rows[here.name] = here.path
    if first is None:
        return KeptForm()
    return _named_form(_form_of(first, same_columns(rows)), first, path)


def _named_form(form: KeptForm, first: Beginning, path: str) -> KeptForm:
    """Check the form against the name of the output; another format is converted into, or refused."""
    target = SUFFIXES.get(Source(path, path, path).suffix)
    if target is None or (form.kind == FILES and os.path.isdir(path)):
        return form
    kind = _KINDS.get(target, LINES)
    if kind == form.kind and (kind != LINES or target == first.format):
        return form
    if first.format in NAMES and target in NAMES:
        conversion = Conversion(first.format, target, first.encoding or "utf-8", first.header, form.files)
        conversion.check(path)
        return replace(form, conversion=conversion)
    named, given, advice = (
        _SHOWN[target],
        _SHOWN[first.format],
        _ADVICE.get(first.format, "name it .jsonl, .csv, .tsv or .parquet"),
    )
    raise InvalidArgument(f"--output {shown(path)} is {named} by its name, and the input is {given}: {advice}")


def _check_alike(first: Beginning, other: Beginning) -> None:
    kinds = [_KINDS.get(each.format, LINES) for each in (first, other)]
    names = f"{first.name} and {other.name}"
    if kinds[0] != kinds[1]:
        raise InvalidArgument(f"--output keeps {LINES}, {FILES}, {RECORDS} or {ROWS}, and {names} are not alike")
    if kinds[0] != LINES:
        return
    if first.format != other.format:
        raise InvalidArgument(
            f"--output keeps {LINES} of one format, and {names} are {first.format} and {other.format}"
        )
    if first.encoding != other.encoding:
        raise InvalidArgument(
            f"--output keeps {LINES} in one encoding, and {names} are in {first.encoding} and {other.encoding}"
        )
    if first.header != other.header:
        raise InvalidArgument(f"--output keeps rows below one header, and those of {names} differ")


@contextmanager
def open_kept(path: str | None, form: KeptForm, watch: Watch, *, keep: int | None, resume: bool) -> Iterator[Kept]:
    """Open the place for kept documents."""
    if path is None:
        yield NotKept()
    elif form.conversion is not None:
        with opened(rows_path(path) if keep is not None else None, keep or 0) as file:
            converted = KeptConverted(path, form.conversion, file)
            yield converted
            converted.finish(watch)
    elif is_remote(path) and form.kind in (FILES, ROWS):
        raise InvalidArgument(
            f"--output {shown(path)}: {form.kind} are written to this machine: name a path, then copy it"
        )
    elif form.kind == FILES:
        yield KeptFolder(path, resume=resume)
    elif form.kind == ROWS:
        with opened(rows_path(path) if keep is not None else None, keep or 0) as file:
            kept = KeptRows(path, form.files, file)
            yield kept
            kept.finish(watch)
    else:
        with opened(path, keep or 0) as file:
            yield from _in_file(file, path, form, keep or 0)


def _in_file(file: BinaryIO, path: str, form: KeptForm, keep: int) -> Iterator[Kept]:
    suffix = os.path.splitext(path)[1].lower()
    pack = packer(suffix)
    if form.kind != RECORDS:
        start, line_end = b"" if keep else form.start, form.line_end
        kept = KeptFile(file, start, lambda raw: raw + line_end, pack)
    elif suffix == ".gz":
        kept = KeptFile(file, b"", _member, bytes)
    else:
        kept = KeptFile(file, b"", _unpacked, pack)
    yield KeptCaptures(kept, _records_of(path) if keep else ()) if form.refers else kept
    kept.commit()


def _records_of(path: str) -> Iterator[bytes]:
    pages = scan([path], InputOptions(format="warc", keep_raw=True))
    return (page.raw for page in pages if isinstance(page, Page) and page.raw is not None)


def _member(record: bytes) -> bytes:
    """Return a record as a gzip member; one that came as a member stays as it is."""
    return record if record.startswith(_GZIP) else packer(".gz")(record)


def _unpacked(record: bytes) -> bytes:
    return gzip.decompress(record) if record.startswith(_GZIP) else record
