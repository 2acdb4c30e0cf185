"""The kept documents of a corpus: in the form that the input has, or in the one that the output's name asks for."""

import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import BinaryIO

from simhash_hbase.corpus.converted import NAMES, Conversion, KeptConverted, KeptRows, packer, rows_path, same_columns
from simhash_hbase.corpus.options import Watch
from simhash_hbase.errors import InvalidArgument, InvalidInput
from simhash_hbase.files.local import open_placed, open_temporary, to_disk
from simhash_hbase.files.remote import created, is_remote, shown
from simhash_hbase.index.answers import Decision, plain
from simhash_hbase.inputs import InputOptions, Page, Place, Progress, Sources, scan
from simhash_hbase.inputs.lines import DELIMITERS, read_header
from simhash_hbase.inputs.lines import LINES as LINE_FORMATS
from simhash_hbase.inputs.reading import SUFFIXES, format_of
from simhash_hbase.inputs.sources import Source
from simhash_hbase.inputs.streams import open_stream


class KeptFile:
    """Writes records as they came, one after the other."""

    def __init__(
        self, stream: BinaryIO, start: bytes, entry: Callable[[bytes], bytes], batch: Callable[[bytes], bytes]
    ) -> None:
        self._stream = stream
        self._entry = entry
        self._batch = batch
        self._waiting = bytearray(start)

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Take one record."""
        self._waiting += self._entry(raw)

    def commit(self) -> int:
        """Bring what was taken to the disk; return the file's length."""
        if self._waiting:
            self._stream.write(self._batch(bytes(self._waiting)))
            self._waiting.clear()
        to_disk(self._stream, self._stream.name)
        return self._stream.tell()


@contextmanager
def opened(path: str | None, keep: int) -> Iterator[BinaryIO]:
    """Open a file to be continued after so many bytes, or a temporary one."""
    if path is None:
        with open_temporary() as unnamed:
            yield unnamed
        return
    if is_remote(path):
        with created(path) as remote:
            yield remote
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open_placed(path, "wb") as device:
            yield device
        return
    with open_placed(path, "a+b") as file:
        if file.seek(0, 2) < keep:
            raise InvalidArgument(f"{path} is shorter than the checkpoint says: remove `results=FILE` to start anew")
        file.truncate(keep)
        # Cutting moves no position, and how long the file is will be asked before the next byte is written.
        file.seek(0, 2)
        yield file


class KeptFolder:
    """Writes documents as files under their ids, compressed as they came."""

    def __init__(self, path: str, *, resume: bool) -> None:
        self._folder = Path(path)
        self._waiting: list[Path] = []
        self._count = 0
        if self._folder.exists() and not self._folder.is_dir():
            raise InvalidArgument(f"`output` {path} is a file, and the input's documents are files: name a folder")
        self._folder.mkdir(exist_ok=True)
        if not resume and next(self._folder.iterdir(), None) is not None:
            raise InvalidArgument(f"`output` {path} exists already and is not empty: name another folder")

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Write one document."""
        check_id(name)
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(packer(target.suffix)(raw))
        self._waiting.append(target)

    def commit(self) -> int:
        """Bring what was written to the disk; return the number of files of this run."""
        for path in self._waiting:
            with path.open("rb") as file:
                os.fsync(file.fileno())
        self._count += len(self._waiting)
        self._waiting.clear()
        return self._count


def check_id(name: str) -> None:
    """Refuse the id of a file that was named by itself, if it leads out of any folder."""
    relative = PurePath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise InvalidArgument(f"`output` keeps files under their ids, and {name} leads elsewhere: name its folder")


class KeptCaptures:
    """Writes originals as they came, and for each duplicate a revisit or metadata.

    Parameters
    ----------
    file : KeptFile
        Takes all records.
    before : iterable of bytes
        The originals that an earlier run has written.
    """

    def __init__(self, file: KeptFile, before: Iterable[bytes]) -> None:
        from simhash_hbase.inputs.warcpages import Captures  # noqa: PLC0415 - warcio is an extra

        self._file = file
        self._captures = Captures()
        for raw in before:
            self._captures.keep(raw)

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Take an original."""
        self._captures.keep(raw)
        self._file.write(raw, name, place)

    def refer(self, raw: bytes, decision: Decision, place: Place) -> None:
        """Take a duplicate."""
        fields = {
            "near-duplicate-of": decision.of,
            "distance": decision.distance,
            "similarity": plain(decision.similarity),
        }
        self._file.write(self._captures.reference(raw, fields), decision.id, place)

    def commit(self) -> int:
        """Bring what was taken to the disk; return the file's length."""
        return self._file.commit()


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
            return f"`output` keeps whole records of originals{more}; warcinfo, requests and other records are left out"
        if self.kind == ROWS:
            return (
                "`output` keeps rows, schema, codecs and row groups, written when all is decided; pages, encodings and"
                " indexes inside the file are made anew"
            )
        return None

    def referring(self) -> "KeptForm":
        """Return the form in which records of duplicates are written, too."""
        if self.kind != RECORDS:
            raise InvalidArgument("`duplicates=revisit` needs `output=FILE`, and crawls as the input")
        return replace(self, refers=True)


NOTHING = KeptForm(takes_bytes=False)  # Nothing is kept.


def looks_into(name: str | None) -> bool:
    """Tell whether `kept_form` reads in files of a format, so that a pipe had to be copied before."""
    return name in (None, "parquet", *LINE_FORMATS)


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


def _beginnings(sources: Sources, options: InputOptions) -> Iterator[Beginning]:
    """Look at the sources before they are read; files that reading will refuse are left out."""
    for source in sources.files(options.stdin):
        try:
            name = format_of(source, options)
        except InvalidInput:
            continue
        if not source.has_name or source.fault is not None:
            continue
        if name not in LINE_FORMATS:
            yield Beginning(source.name, source.path, source.id, name)
            continue
        stream = open_stream(source, options, Progress())
        if isinstance(stream, str) or not any(stream.blocks):
            continue
        header = read_header(source, options, DELIMITERS[name]) if name in DELIMITERS else None
        if header is not None or name not in DELIMITERS:
            yield Beginning(source.name, source.path, source.id, name, stream.encoding, stream.mark, header)


def kept_form(sources: Sources, settings: InputOptions, path: str) -> KeptForm:
    """Find the form that the kept documents of an input can be written in: its own, or the one that the path names."""
    first: Beginning | None = None
    rows: dict[str, str] = {}
    for here in _beginnings(sources, settings):
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


def _form_of(first: Beginning, rows: Mapping[str, str]) -> KeptForm:
    kind = _KINDS.get(first.format, LINES)
    if kind != LINES:
        return KeptForm(kind=kind, files=rows, takes_bytes=kind != ROWS)
    line_end = "\n".encode(first.encoding or "utf-8")
    start = first.mark + (b"" if first.header is None else first.header + line_end)
    return KeptForm(start=start, line_end=line_end)


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
    raise InvalidArgument(f"`output` {shown(path)} is {named} by its name, and the input is {given}: {advice}")


def _check_alike(first: Beginning, other: Beginning) -> None:
    kinds = [_KINDS.get(each.format, LINES) for each in (first, other)]
    names = f"{first.name} and {other.name}"
    if kinds[0] != kinds[1]:
        raise InvalidArgument(f"`output` keeps {LINES}, {FILES}, {RECORDS} or {ROWS}, and {names} are not alike")
    if kinds[0] != LINES:
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
            f"`output` {shown(path)}: {form.kind} are written to this machine: name a path, then copy it"
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
        # What came as a gzip member stays as it is.
        kept = KeptFile(file, b"", lambda raw: raw if raw.startswith(_GZIP) else pack(raw), bytes)
    else:
        kept = KeptFile(file, b"", lambda raw: gzip.decompress(raw) if raw.startswith(_GZIP) else raw, pack)
    if form.refers:
        pages = scan([path], InputOptions(format="warc", keep_raw=True)) if keep else ()
        yield KeptCaptures(kept, (page.raw for page in pages if isinstance(page, Page) and page.raw is not None))
    else:
        yield kept
    kept.commit()
