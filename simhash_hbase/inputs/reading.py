"""The table of readers, which of them a source gets, and the reading of all sources."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from simhash_hbase.errors import InvalidInput, SimhashError
from simhash_hbase.files.remote import without_secrets
from simhash_hbase.inputs.options import FORMATS, InputOptions
from simhash_hbase.inputs.pages import extracted
from simhash_hbase.inputs.records import Place, Record, Reject, Scanned
from simhash_hbase.inputs.sources import STDIN, Source, Sources, as_sources, shown
from simhash_hbase.inputs.streams import Progress

Reader = Callable[[Source, InputOptions, Progress], Iterator[Scanned]]

READERS = {
    "jsonl": ("lines", "read_jsonl"),
    "csv": ("csvfile", "read_csv"),
    "tsv": ("csvfile", "read_tsv"),
    "text": ("lines", "read_text_lines"),
    "folder": ("lines", "read_whole_file"),
    "html": ("html", "read_html"),
    "warc": ("warc", "read_warc"),
    "wet": ("warc", "read_warc"),
    "parquet": ("parquet", "read_parquet"),
}
"""Module and function; a new format is one file, one line here, its name in `FORMATS` and its suffixes below."""

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "text",
    ".text": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".warc": "warc",
    ".wet": "wet",
    ".parquet": "parquet",
}
_WITHOUT_FIELDS = frozenset({"text", "folder", "html", "warc", "wet"})
# In a folder anything else is one text; .json is, too, since most such files hold one value.
_KINDS = frozenset(SUFFIXES) - {".txt", ".text", ".json"}


def reader_of(name: str) -> Reader:
    """Return the reader of a format."""
    module, function = READERS[name]
    reader: Reader = getattr(import_module(f"simhash_hbase.inputs.{module}"), function)
    return reader


def format_of(source: Source, options: InputOptions) -> str:
    """Return the name of the format that a source is read in."""
    name = options.format or _by_name(source)
    if name in _WITHOUT_FIELDS and options.source_field != options.text_field:
        raise InvalidInput(f"{source.name}: a text or a page has no field {options.source_field!r}")
    # Where what comes in has been copied, there is a file.
    if name == "parquet" and source.path is None:
        raise InvalidInput("Parquet cannot be read from standard input, its description is at its end: name a file")
    if name == "parquet" and source.compression is not None:
        raise InvalidInput(f"{source.name}: Parquet in a compressed file is not read: decompress it first")
    return name


def _by_name(source: Source) -> str:
    suffix = source.suffix
    if source.name == STDIN:
        return "jsonl"
    if source.in_folder and suffix not in _KINDS:
        return "folder"
    if suffix not in SUFFIXES:
        raise InvalidInput(f"{source.name}: the name does not tell the format; give `format={'|'.join(FORMATS)}`")
    return SUFFIXES[suffix]


_SHOWN = 200  # Most characters of a library's message.


def read(
    sources: Sequence[str], options: InputOptions | None = None, progress: Progress | None = None
) -> Iterator[Record]:
    """Read documents.

    Memory is bounded by the block and the longest record, whatever the input's length. The
    iterator holds one open file and closes it when it is exhausted or closed.

    Examples
    --------
    >>> read(["missing.jsonl"])
    Traceback (most recent call last):
    ...
    simhash_hbase.errors.InvalidInput: missing.jsonl does not exist
    """
    return map(extracted, scan(sources, options, progress))


def scan(
    sources: Sequence[str], options: InputOptions | None = None, progress: Progress | None = None
) -> Iterator[Scanned]:
    """Read documents, but only the bytes of pages: for callers that extract few, or in other processes."""
    options = options or InputOptions()
    found = as_sources(sources)
    for name in _formats(found, options):
        reader_of(name)
    return _scan(found, options, progress or Progress())


def _formats(sources: Sources, options: InputOptions) -> set[str]:
    """Find the formats of all files, of those in folders as far as they are known."""
    found = set()
    for source in sources.files(options.stdin):
        if not source.has_name or source.fault is not None:
            continue
        try:
            found.add(format_of(source, options))
        except InvalidInput:
            if not source.in_folder:
                raise
    return found


def _scan(sources: Sources, options: InputOptions, progress: Progress) -> Iterator[Scanned]:
    for source in sources.files(options.stdin):
        yield from _scan_one(source, options, progress)


def _scan_one(source: Source, options: InputOptions, progress: Progress) -> Iterator[Scanned]:
    if not source.has_name:
        yield Reject(Place(shown(source.name), 0), "the file's name is not UTF-8: rename the file", b"")
        return
    if source.fault is not None:
        yield Reject(Place(source.name, 0), source.fault, b"")
        return
    try:
        reader = reader_of(format_of(source, options))
    except InvalidInput as error:
        yield Reject(Place(source.name, 0), str(error), b"", source.id)
        return
    yield from _guarded(reader(source, options, progress), source)


def _guarded(records: Iterator[Scanned], source: Source) -> Iterator[Scanned]:
    """Yield the records; an unforeseen error of a library costs only the rest of its file."""
    last = 0
    try:
        for record in records:
            last = record.place.line
            yield record
    except (SimhashError, MemoryError):
        raise
    except Exception as error:
        where = f" after record {last}" if last else ""
        what = " ".join(without_secrets(f"{type(error).__name__}: {error}").split())[:_SHOWN]
        yield Reject(Place(source.name, 0), f"reading stopped{where}, the rest is lost: {what}", b"", source.id)
