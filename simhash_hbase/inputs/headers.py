"""The beginnings of the sources, which a file of some of their records repeats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.csvfile import DELIMITERS, read_header
from simhash_hbase.inputs.folders import Source
from simhash_hbase.inputs.formats import format_of
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.sources import listed
from simhash_hbase.inputs.stream.streams import Progress, open_stream

LINES = frozenset({"jsonl", "csv", "tsv", "text"})
"""Formats whose records are lines, so that a file has one encoding for all of them."""


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


def headers(named: Sequence[str], options: InputOptions) -> Iterator[Beginning]:
    """Look at the sources before they are read."""
    for source in listed(named).files(options.stdin):
        try:
            name = format_of(source, options)
        except InvalidInput:
            continue
        if not source.has_name or source.fault is not None:
            continue
        if name not in LINES:
            yield Beginning(source.name, source.path, source.id, name)
        elif (found := _of_lines(source, name, options)) is not None:
            yield found


def _of_lines(source: Source, name: str, options: InputOptions) -> Beginning | None:
    stream = open_stream(source, options, Progress())
    if isinstance(stream, str) or not any(stream.blocks):
        return None
    header = None
    if name in DELIMITERS and (header := read_header(source, options, DELIMITERS[name])) is None:
        return None
    return Beginning(source.name, source.path, source.id, name, stream.encoding, stream.mark, header)
