"""Reading of the input: which reader each format and source has, and how pages are turned into documents."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import cast

from simhash_hbase.errors import InvalidInput, SimhashError
from simhash_hbase.files.remote import without_secrets
from simhash_hbase.inputs.options import FORMATS, PAGE_BYTES, InputOptions
from simhash_hbase.inputs.records import (
    Document,
    JsonLine,
    JsonLines,
    Page,
    Place,
    Record,
    Reject,
    Scanned,
    checked_text,
    id_in_file,
    source_in,
)
from simhash_hbase.inputs.sources import (
    STDIN,
    Part,
    Source,
    Sources,
    as_sources,
    is_marker,
    is_open_file,
    pointer_fault,
    shown,
)
from simhash_hbase.inputs.streams import Progress, ReadRequest
from simhash_hbase.plugins import INPUTS, offered, offered_names
from simhash_hbase.rows.analysed import metadata_problem

Reader = Callable[[ReadRequest], Iterator[Scanned | JsonLines]]
"""Yields the documents, pages and rejects of a source; entry points of the group ``simhash_hbase.inputs`` name such."""

READERS = {
    "jsonl": ("lines", "read_jsonl"),
    "lines of JSON": ("lines", "read_json_runs"),
    "csv": ("csvrows", "read_csv"),
    "tsv": ("csvrows", "read_tsv"),
    "text": ("lines", "read_text_lines"),
    "folder": ("lines", "read_whole_file"),
    "html": ("html", "read_html"),
    "warc": ("warc", "read_warc"),
    "wet": ("warc", "read_warc"),
    "parquet": ("parquet", "read_parquet"),
}
"""Module and function of each format's reader; a new format is a file, a line here, a name in `FORMATS`."""

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jsonlines": "jsonl",
    ".jl": "jsonl",
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
# In a folder anything else is one text.
_KINDS = frozenset(SUFFIXES) - {".txt", ".text"}
_TITLE_CHARACTERS = 200
OTHER_PACKERS = {
    ".xz": "xz -dc", ".lzma": "xz -dc", ".bz2": "bzip2 -dc", ".lz4": "lz4 -dc", ".br": "brotli -dc", ".zip": "unzip -p",
    ".z": "zcat", ".7z": "7z x -so", ".tar": "tar -xOf", ".tgz": "tar -xOzf",
}  # fmt: skip
"""Suffixes of compressed files that are not read, with the commands that write the content to standard output."""


def reader_of(name: str) -> Reader:
    """Return the function that reads a format, which may be one of a plug-in."""
    if name not in READERS:
        plugin: Reader = offered(INPUTS, name)
        return plugin
    module, function = READERS[name]
    reader: Reader = getattr(import_module(f"simhash_hbase.inputs.{module}"), function)
    return reader


def format_of(source: Source, options: InputOptions) -> str:
    """Return the name of the format in which a source is read: the one asked for, or by its name's suffix.

    Raises `InvalidInput` if there is none.
    """
    suffix = source.suffix
    name = options.format or ("jsonl" if source.name == STDIN else SUFFIXES.get(suffix))
    if name is None and suffix and suffix[1:] in offered_names(INPUTS):
        return suffix[1:]
    if options.format is None and source.in_folder and suffix not in _KINDS:
        name = "folder"
    if (packed := os.path.splitext(source.name)[1].lower()) in OTHER_PACKERS and options.format is None:
        way_out = f"pack it as .gz or .zst, or pass what `{OTHER_PACKERS[packed]}` writes as standard input"
        raise InvalidInput(f"{source.name}: {packed} is not decompressed: {way_out}")
    if suffix == ".arc" and options.format is None:
        raise InvalidInput(f"{source.name}: ARC is not read: make a WARC of it with `warcio recompress`")
    if name is None and is_marker(os.path.basename(source.name), beside_records=False):
        formats = f"`format={'|'.join(FORMATS)}`"
        raise InvalidInput(f"{source.name} marks data and is no document: name the data, or give {formats} to read it")
    if name is None:
        raise InvalidInput(f"{source.name}: the name does not tell the format; give `format={'|'.join(FORMATS)}`")
    if not has_fields(name) and options.source_field != options.text_field:
        raise InvalidInput(f"{source.name}: a text or a page has no field {options.source_field!r}")
    # Standard input that was copied has a file.
    if name == "parquet" and source.path is None:
        raise InvalidInput("Parquet cannot be read from standard input, its description is at its end: name a file")
    if name == "parquet" and source.compression is not None:
        raise InvalidInput(f"{source.name}: Parquet in a compressed file is not read: decompress it first")
    return name


def check_id_field(formats: Collection[str], options: InputOptions) -> None:
    """Raise InvalidInput if the options name an id field and no source is of a format that has fields."""
    if options.id_field is not None and formats and not any(map(has_fields, formats)):
        raise InvalidInput(
            f"texts and pages have no field {options.id_field!r}: leave out `id_field`, or name files with fields, too"
        )


def has_fields(name: str) -> bool:
    """Return whether the records of a format have named fields, as JSON lines have and plain text has not."""
    return name not in _WITHOUT_FIELDS


def read(
    sources: Sequence[str], options: InputOptions | None = None, progress: Progress | None = None
) -> Iterator[Record]:
    """Yield the documents of the input, and a `Reject` for each record that is refused.

    Memory is bounded by the block and the longest record, whatever the input's length. The iterator holds one open file
    and closes it when it is exhausted or closed.

    Examples
    --------
    >>> read(["missing.jsonl"])
    Traceback (most recent call last):
    ...
    simhash_hbase.errors.InvalidInput: missing.jsonl does not exist
    """
    return map(extract, scan(sources, options, progress))


def scan(
    sources: Sequence[str], options: InputOptions | None = None, progress: Progress | None = None
) -> Iterator[Scanned]:
    """Yield the records that `read` yields, but pages as undecoded bytes.

    It is for callers that extract the text of few pages, or in other processes.
    """
    return cast("Iterator[Scanned]", _scan(sources, options, progress, {}))


def scan_lines(
    sources: Sequence[str], options: InputOptions | None = None, progress: Progress | None = None
) -> Iterator[Scanned | JsonLines]:
    """Yield the records that `scan` yields, but JSON lines undecoded and many at a time, for callers that need few."""
    return _scan(sources, options, progress, {"jsonl": "lines of JSON"})


def _scan(
    sources: Sequence[str], options: InputOptions | None, progress: Progress | None, readers: Mapping[str, str]
) -> Iterator[Scanned | JsonLines]:
    options = options or InputOptions()
    listed = as_sources(sources)
    check_readable(listed, options)
    return _records(listed.files(options.stdin), options, progress or Progress(), readers)


def check_readable(listed: Sources, options: InputOptions) -> None:
    """Raise `InvalidInput` for an unknown format or a package that is not installed, before anything is read.

    A file in a folder that was named does not raise here; it is refused later by itself.
    """
    names = set()
    for source in listed.files(options.stdin):
        if options.id_prefix is not None and is_open_file(source.name):
            shown_name = "standard input" if source.name == STDIN else source.name
            raise InvalidInput(f"{shown_name} has no name for `id_prefix`: read a file")
        if not source.has_name or source.fault is not None:
            continue
        try:
            names.add(format_of(source, options))
        except InvalidInput:
            if not source.in_folder:
                raise
    check_id_field(names, options)
    for name in names:
        reader_of(name)


def scan_part(part: Part, options: InputOptions, progress: Progress) -> Iterator[Scanned]:
    """Yield the records of one part of an input, as `scan` does for a whole input.

    A part is some files, or some lines or row groups of one.
    """
    stretch = part if part.is_stretch else None
    return cast("Iterator[Scanned]", _records(part.sources, options, progress, {}, stretch))


def _records(
    sources: Iterable[Source],
    options: InputOptions,
    progress: Progress,
    readers: Mapping[str, str],
    part: Part | None = None,
) -> Iterator[Scanned | JsonLines]:
    for source in sources:
        if not source.has_name:
            yield Reject(Place(shown(source.name), 0), "the file's name is not UTF-8: rename the file", b"")
            continue
        fault = source.fault or pointer_fault(source)
        if fault is not None:
            yield Reject(Place(source.name, 0), fault, b"")
            continue
        try:
            name = format_of(source, options)
            reader = reader_of(readers.get(name, name))
        except InvalidInput as error:
            # The place of a refusal names the file.
            yield Reject(Place(source.name, 0), str(error).removeprefix(f"{source.name}: "), b"", source.id)
            continue
        last = 0
        try:
            for record in reader(ReadRequest(source, options, progress, part)):
                last = record.place.line
                yield _with_lasting_id(record, progress, name) if options.lasting else record
        except (SimhashError, MemoryError):
            raise
        except Exception as error:
            # An unforeseen error of a library costs only the rest of its file.
            where = f" after record {last}" if last else ""
            what = " ".join(without_secrets(f"{type(error).__name__}: {error}").split())[:200]
            yield Reject(Place(source.name, 0), f"reading stopped{where}, the rest is lost: {what}", b"", source.id)


_NO_LASTING_ID = (
    "the record has no id, and an open file, such as standard input, has no name to make one of; name the field of the "
    "id with `id_field`, or read a file"
)
_NO_LASTING_ID_OF_TEXT = (
    "the record has no id, and an open file, such as standard input, has no name to make one of; read a file"
)


def _with_lasting_id(record: Scanned | JsonLines, progress: Progress, name: str) -> Scanned | JsonLines:
    """Return a record, or a refusal if it has no id and no file name to make one of, as from standard input.

    For an index that stays, ids must be the same next time. The first record of a named file that has only file and
    line as id is noted in `progress`.
    """
    if not isinstance(record, Document | Page) or record.id != str(record.place):
        return record
    if is_open_file(record.place.file):
        reason = _NO_LASTING_ID if has_fields(name) else _NO_LASTING_ID_OF_TEXT
        return Reject(record.place, reason, record.raw or b"")
    if record.place.line and progress.unnamed is None:
        progress.unnamed, progress.unnamed_has_fields = record.place, has_fields(name)
    return record


def title_of(record: Document | Page) -> str:
    """Return the title of a document (which `InputOptions.titles` asked for) or of a page; empty if it has none."""
    if isinstance(record, Document):
        return " ".join((record.title or "").split())
    title: str = import_module("simhash_hbase.inputs.html").page_title(record) if record.html else ""
    return title


def _page_fields(record: Page, metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a page besides its text: its id, metadata, and URL if its id is one."""
    address = record.id.removeprefix(id_in_file("", record.place, record.options.id_prefix))
    return {"id": record.id, **metadata, **({"url": address} if "://" in address else {})}


def extract(record: Scanned | JsonLine) -> Record:
    """Return the document of a JSON line (decoded) or of a page (its main text), or its refusal.

    Any other record is returned as it is.
    """
    if isinstance(record, JsonLine):
        lines = import_module("simhash_hbase.inputs.lines")
        parsed: Record = lines.json_record(record)
        return parsed
    if not isinstance(record, Page):
        return record
    raw = record.content if record.raw is None else record.raw
    if len(record.content) > PAGE_BYTES:
        return Reject(record.place, f"the page is longer than {PAGE_BYTES:,} bytes", raw, record.id)
    try:
        # trafilatura is an extra.
        html = import_module("simhash_hbase.inputs.html")
        text = html.decode_page(record.content, record.content_type, record.options.encoding, html=record.html)
        metadata = record.metadata
        remainder = b""
        if record.html:
            text, title, url, remainder = html.main_text(text)
            title = title if len(title) <= _TITLE_CHARACTERS else title[: _TITLE_CHARACTERS - 1] + "…"
            metadata = {"title": title, "url": "" if url == record.id else url} | metadata
        checked_text(text, "the page", record.options.max_document_bytes)
    except InvalidInput as error:
        return Reject(record.place, str(error), raw, record.id)
    by, agree = record.options.by_field, record.options.agree_field
    fields = metadata if by is None and agree is None else _page_fields(record, metadata)
    source = None if by is None else source_in(fields, by)
    names = record.options.metadata_fields or tuple(metadata)
    chosen: dict[str, object] = {name: metadata[name] for name in names if metadata.get(name)}
    if agree is not None and fields.get(agree):
        chosen[agree] = fields[agree]
    if "url" in chosen and (problem := metadata_problem(chosen)) is not None:
        if agree == "url":
            return Reject(record.place, f"the metadata {problem}", raw, record.id)
        del chosen["url"]
    return Document(
        record.id, text, None, None, chosen or None, record.place, record.raw, source=source, remainder=remainder
    )
