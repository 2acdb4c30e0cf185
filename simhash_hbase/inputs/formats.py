"""The table of readers, and which one a source gets."""

from collections.abc import Callable, Iterator

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.csvfile import read_csv, read_tsv
from simhash_hbase.inputs.jsonl import read_jsonl
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.records import Record
from simhash_hbase.inputs.sources import STDIN, Source
from simhash_hbase.inputs.streams import Progress
from simhash_hbase.inputs.textlines import read_text_lines
from simhash_hbase.inputs.wholefile import read_whole_file

Reader = Callable[[Source, InputOptions, Progress], Iterator[Record]]

READERS: dict[str, Reader] = {
    "jsonl": read_jsonl,
    "csv": read_csv,
    "tsv": read_tsv,
    "text": read_text_lines,
    "folder": read_whole_file,
}
"""A new format is one file, one line here, its name in `FORMATS` and its suffixes below."""

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "text",
    ".text": "text",
}
_NOT_YET = frozenset({".parquet", ".html", ".htm", ".warc", ".wet"})
_WITHOUT_FIELDS = frozenset({"text", "folder"})
# Taken for one text, a file of many records would be indexed as one document without a word.
_RECORDS = frozenset({".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".warc", ".wet"})


def format_of(source: Source, options: InputOptions) -> str:
    """Return the name of the format that a source is read in.

    Parameters
    ----------
    source : Source
        A file of a folder is one document, unless ``options`` names a format.
    options : InputOptions
        Its format wins over the name.

    Returns
    -------
    str
        A key of `READERS`.

    Raises
    ------
    InvalidInput
        When the name tells nothing, the format is not read, or it has no fields but a field of
        fingerprints or features is asked for.
    """
    name = options.format or _by_name(source)
    if name in _WITHOUT_FIELDS and options.source_field != options.text_field:
        raise InvalidInput(f"{source.name}: plain text has no field {options.source_field!r}")
    return name


def _by_name(source: Source) -> str:
    suffix = source.suffix
    if source.name == STDIN:
        return "jsonl"
    if source.in_folder and suffix not in _RECORDS:
        return "folder"
    if suffix in _NOT_YET:
        raise InvalidInput(f"{source.name}: files of type {suffix} are not read yet")
    if source.in_folder:
        raise InvalidInput(
            f"the file holds many records by its name: name it itself, or give --input-format {SUFFIXES[suffix]}"
        )
    if suffix not in SUFFIXES:
        raise InvalidInput(f"{source.name}: the name does not tell the format; give --input-format {'|'.join(READERS)}")
    return SUFFIXES[suffix]
