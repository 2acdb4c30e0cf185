"""The header rows of the sources: what a file of some of their records needs at its beginning."""

from collections.abc import Iterator, Sequence

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.csvfile import DELIMITERS, read_header
from simhash_hbase.inputs.formats import format_of
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.sources import expand, files


def headers(named: Sequence[str], options: InputOptions) -> Iterator[tuple[str, str, bytes | None]]:
    """Look at the sources before they are read.

    Parameters
    ----------
    named : sequence of str
        As for `read`; standard input only where `options` names a copy of it, or it has no header.
    options : InputOptions
        As for `read`.

    Yields
    ------
    (name, format, header)
        For every file that will be read; the header's own bytes, None for formats without one. A file without a
        usable header is left out, as all of it will be refused.

    Raises
    ------
    InvalidInput
        As `read` does for a missing source.
    """
    for path in expand(named):
        for source in files(path, options.stdin):
            try:
                name = format_of(source, options)
            except InvalidInput:
                continue
            if name not in DELIMITERS:
                yield source.name, name, None
            elif (header := read_header(source, options, DELIMITERS[name])) is not None:
                yield source.name, name, header
