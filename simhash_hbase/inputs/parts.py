"""Parts of an input, which several processes read at the same time, and where the records of a part begin and end."""

from collections.abc import Generator, Iterator
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.lines import LINES, line_parts
from simhash_hbase.inputs.options import PART_BYTES, InputOptions
from simhash_hbase.inputs.reading import format_of
from simhash_hbase.inputs.sources import FileChanged, Part, Source, Sources, is_file_here, unpacked_size
from simhash_hbase.inputs.streams import ReadRequest

MOST_FILES = 1_000  # Files of a part.
_DIVIDED = frozenset({"jsonl", "text", "parquet"})
_MARK_BYTES = 3  # The byte order mark of UTF-8.


def divide(
    sources: Sources, options: InputOptions, *, part_bytes: int = PART_BYTES, shares: tuple[int, ...] = ()
) -> Generator[Part, None, None]:
    """Divide an input into parts that processes can read independently, and yield these in the order of the input.

    Files of lines are divided at line ends, Parquet by row groups. Any other file is read whole, several small ones in
    one part.

    Parameters
    ----------
    sources, options
        The input.
    part_bytes : int
        The size of a part. One that is larger holds a single long line or row group, or a file that cannot be divided.
    shares : tuple of int
        The first parts are as small as 1 / share of a whole one, so that first results come soon.
    """
    sizes = chain((max(part_bytes // share, 1) for share in shares), repeat(part_bytes))
    files: list[Source] = []
    size, limit = 0, next(sizes)
    for source in sources.files(options.stdin):
        is_read, source_size = source.has_name and source.fault is None, unpacked_size(source)
        fits = not is_read or (is_file_here(source) and size + source_size <= limit)
        if files and not (fits and len(files) < MOST_FILES):
            yield Part(tuple(files))
            files, size, limit = [], 0, next(sizes)
        if is_read and _is_divided(source, options) and source_size > limit:
            yield from _stretches(ReadRequest(source, options), chain((limit,), sizes))
            limit = next(sizes)
        elif is_read and (not is_file_here(source) or source_size > limit):
            yield Part((source,))
            limit = next(sizes)
        else:
            files.append(source)
            size += source_size
    if files:
        yield Part(tuple(files))


def _stretches(request: ReadRequest, sizes: Iterator[int]) -> Iterator[Part]:
    format_name = format_of(request.source, request.options)
    if format_name in LINES:
        return line_parts(request, format_name, sizes)
    from simhash_hbase.inputs.parquet import group_parts  # noqa: PLC0415 - pyarrow is an extra

    return group_parts(request, sizes)


def _is_divided(source: Source, options: InputOptions) -> bool:
    """Return whether a file may be divided into parts: its records do not depend on each other and can be located."""
    if not is_file_here(source) or source.compression is not None or options.simhash_field is not None:
        # Earlier values of a column of fingerprints show how it is written.
        return False
    try:
        return format_of(source, options) in _DIVIDED
    except InvalidInput:
        return False


def record_ranges(
    part: Part, line_ends: list[NDArray[np.int64]], lines: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the byte ranges of records within their file, shape (n, 2): where each begins and ends.

    `line_ends` has where the lines of the part end, `lines` the number of each record's line, and `lengths` its length
    in bytes.
    """
    ends = np.concatenate([*line_ends, np.array([part.stop], np.int64)])
    starts = np.append(part.start, ends[:-1] + 1)
    at = lines - part.line
    begins = starts[at]
    # A mark at the beginning of a line is no byte of its record, nor is a carriage return at the end.
    begins = begins + _MARK_BYTES * (ends[at] - begins - lengths >= _MARK_BYTES)
    return np.column_stack((begins, begins + lengths))


def read_ranges(part: Part, ranges: NDArray[np.int64]) -> list[bytes]:
    """Return the bytes of some records of a part, read again from the file; `ranges` are those of `record_ranges`.

    Raises
    ------
    FileChanged
        When the file has another version than at the division.
    InvalidInput
        When it cannot be read any more.
    """
    [source] = part.sources
    first = int(ranges.min(initial=part.stop or 0))
    size = int(ranges.max(initial=first)) - first
    try:
        with part.opened() as file:
            file.seek(first)
            # Most records of a part are wanted, and a call for each takes longer than its bytes. A call may read less.
            pieces, left = list[bytes](), size
            while left and (piece := file.read(left)):
                pieces.append(piece)
                left -= len(piece)
    except OSError as error:
        raise InvalidInput(f"{source.name}: {error.strerror or error}") from error
    if left:
        raise FileChanged.of(source.name)
    stretch = b"".join(pieces)
    return [stretch[begin:end] for begin, end in (ranges - first).tolist()]
