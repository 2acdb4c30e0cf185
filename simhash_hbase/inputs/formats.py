"""The table of readers, and which one a source gets."""

from collections.abc import Callable, Iterator
from importlib import import_module

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.folders import STDIN, Source
from simhash_hbase.inputs.options import FORMATS, InputOptions
from simhash_hbase.inputs.records import Scanned
from simhash_hbase.inputs.stream.streams import Progress

Reader = Callable[[Source, InputOptions, Progress], Iterator[Scanned]]

READERS = {
    "jsonl": ("jsonl", "read_jsonl"),
    "csv": ("csvfile", "read_csv"),
    "tsv": ("csvfile", "read_tsv"),
    "text": ("textlines", "read_text_lines"),
    "folder": ("wholefile", "read_whole_file"),
    "html": ("page.htmlfile", "read_html"),
    "warc": ("crawl.warcfile", "read_warc"),
    "wet": ("crawl.warcfile", "read_warc"),
    "parquet": ("parquet.parquetfile", "read_parquet"),
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
    if name == "parquet":
        _check_parquet(source)
    return name


def _check_parquet(source: Source) -> None:
    # Where what comes in has been copied, there is a file.
    if source.path is None:
        raise InvalidInput("Parquet cannot be read from standard input, its description is at its end: name a file")
    if source.compression is not None:
        raise InvalidInput(f"{source.name}: Parquet in a compressed file is not read: decompress it first")


def _by_name(source: Source) -> str:
    suffix = source.suffix
    if source.name == STDIN:
        return "jsonl"
    if source.in_folder and suffix not in _KINDS:
        return "folder"
    if suffix not in SUFFIXES:
        raise InvalidInput(f"{source.name}: the name does not tell the format; give --input-format {'|'.join(FORMATS)}")
    return SUFFIXES[suffix]
