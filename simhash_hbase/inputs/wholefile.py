"""A text file that is one document."""

from collections.abc import Iterator

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.encodings import undecodable
from simhash_hbase.inputs.fields import checked_text
from simhash_hbase.inputs.folders import Source
from simhash_hbase.inputs.options import RAISE, InputOptions
from simhash_hbase.inputs.records import Document, Place, Record, Reject
from simhash_hbase.inputs.stream.streams import Progress, Stream, open_stream, take_all


def read_whole_file(source: Source, options: InputOptions, progress: Progress) -> Iterator[Record]:
    """Read a file as one document, whose id is its path in the folder, or as it was named."""
    place = Place(source.name, 0)
    stream = open_stream(source, options, progress)
    if isinstance(stream, str):
        yield Reject(place, stream, b"", source.id)
        return
    data, whole = take_all(stream.blocks, options.record_bytes)
    raw = stream.mark + stream.original(data)
    if not whole:
        reason = f"the file is longer than {options.record_bytes:,} bytes"
        yield Reject(place, f"{reason}; {RAISE}; only its beginning is kept", raw, source.id)
    elif stream.fault is not None:
        yield Reject(place, stream.fault, raw, source.id)
    else:
        yield _document(data, stream, source, raw, options)


def _document(data: bytes, stream: Stream, source: Source, raw: bytes, options: InputOptions) -> Record:
    place = Place(source.name, 0)
    try:
        text = checked_text(data.decode(stream.codec), "the file", options.max_document_bytes)
    except UnicodeError as error:
        return Reject(place, undecodable(error, stream.encoding, before=len(stream.mark)), raw, source.id)
    except InvalidInput as error:
        return Reject(place, str(error), raw, source.id)
    return Document(source.id, text, None, None, None, place, raw if options.keep_raw else None)
