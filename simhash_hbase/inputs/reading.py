"""Reading: every source in the order given, its records in the order of the file."""

from collections.abc import Iterator, Sequence

from simhash_hbase.errors import InvalidInput, SimhashError
from simhash_hbase.files.remote import without_secrets
from simhash_hbase.inputs.folders import Source, shown
from simhash_hbase.inputs.formats import format_of, reader_of
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.page.extract import extracted
from simhash_hbase.inputs.records import Place, Record, Reject, Scanned
from simhash_hbase.inputs.sources import Sources, listed
from simhash_hbase.inputs.stream.streams import Progress

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
    found = listed(sources)
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
