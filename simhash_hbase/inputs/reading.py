"""Reading: every source in the order given, its records in the order of the file."""

import os
from collections.abc import Iterator, Sequence

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.formats import READERS, format_of
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.records import Place, Record, Reject
from simhash_hbase.inputs.sources import STDIN, Source, expand, files, shown
from simhash_hbase.inputs.streams import Progress


def read(
    sources: Sequence[str],
    options: InputOptions | None = None,
    progress: Progress | None = None,
) -> Iterator[Record]:
    """Read documents.

    Parameters
    ----------
    sources : sequence of str
        Files, folders (every file below, except hidden ones, is one document), patterns, and
        ``"-"`` for standard input. ``.gz`` and ``.zst`` are decompressed.
    options : InputOptions, optional
        Format, encoding, fields.
    progress : Progress, optional
        Its ``bytes_read`` and ``file`` move while the records are taken.

    Returns
    -------
    iterator of Document or Reject
        Bad records and files that break off are rejects; the rest goes on.

    Raises
    ------
    InvalidInput
        At once, before anything is read: a source does not exist, a pattern matches nothing,
        the format of a file is unknown.

    Notes
    -----
    Memory is bounded by the block and the longest record, whatever the input's length. The
    iterator holds one open file and closes it when it is exhausted or closed.

    Examples
    --------
    >>> read(["missing.jsonl"])
    Traceback (most recent call last):
    ...
    simhash_hbase.errors.InvalidInput: missing.jsonl does not exist
    """
    options = options or InputOptions()
    paths = expand(sources)
    for path in paths:
        if path == STDIN or not os.path.isdir(path):
            for source in files(path, options.stdin):
                if source.has_name:
                    format_of(source, options)
    return _read(paths, options, progress or Progress())


def _read(paths: list[str], options: InputOptions, progress: Progress) -> Iterator[Record]:
    for path in paths:
        for source in files(path, options.stdin):
            yield from _read_one(source, options, progress)


def _read_one(source: Source, options: InputOptions, progress: Progress) -> Iterator[Record]:
    if not source.has_name:
        yield Reject(Place(shown(source.name), 0), "the file's name is not UTF-8: rename the file", b"")
        return
    try:
        reader = READERS[format_of(source, options)]
    except InvalidInput as error:
        yield Reject(Place(source.name, 0), str(error), b"", source.id)
        return
    yield from reader(source, options, progress)
