"""Plain text, one document a line."""

from collections.abc import Iterator

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.encodings import undecodable
from simhash_hbase.inputs.fields import checked_text
from simhash_hbase.inputs.folders import Source
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.records import Document, Place, Record, Reject
from simhash_hbase.inputs.stream.lines import batches
from simhash_hbase.inputs.stream.streams import Progress, Stream, open_stream


def read_text_lines(source: Source, options: InputOptions, progress: Progress) -> Iterator[Record]:
    """Read plain text, one document a line, whose id is the file and the line."""
    stream = open_stream(source, options, progress)
    if isinstance(stream, str):
        yield Reject(Place(source.name, 0), stream, b"")
    else:
        yield from text_records(stream, source.name, options)


def text_records(stream: Stream, name: str, options: InputOptions, first: int = 1) -> Iterator[Record]:
    """Read a file's lines, or those of a part of it that begins with another line than the first."""
    for batch in batches(stream, options.record_bytes, first):
        for number, line in enumerate(batch.lines, batch.first):
            place = Place(name, number)
            if batch.fault is not None:
                yield Reject(place, batch.fault, stream.original(line))
            elif line and not line.isspace():
                yield _document(line, stream, place, options)


def _document(line: bytes, stream: Stream, place: Place, options: InputOptions) -> Record:
    raw = stream.original(line)
    try:
        text = checked_text(line.decode(stream.codec), "the line", options.max_document_bytes)
    except UnicodeError as error:
        return Reject(place, undecodable(error, stream.encoding), raw)
    except InvalidInput as error:
        return Reject(place, str(error), raw, str(place))
    return Document(str(place), text, None, None, None, place, raw if options.keep_raw else None)
