"""An HTML file, which is one document."""

from collections.abc import Iterator

# Imported here so that a missing package is reported before anything is read.
import simhash_hbase.inputs.page.charset
import simhash_hbase.inputs.page.maintext  # noqa: F401
from simhash_hbase.inputs.folders import Source
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.page.extract import PAGE_BYTES
from simhash_hbase.inputs.records import Page, Place, Reject
from simhash_hbase.inputs.stream.streams import Progress, open_bytes, take_all


def read_html(source: Source, options: InputOptions, progress: Progress) -> Iterator[Page | Reject]:
    """Read a page, whose id is its path in the folder, or as it was named."""
    place = Place(source.name, 0)
    stream = open_bytes(source, options, progress)
    limit = min(PAGE_BYTES, options.record_bytes)
    content, whole = take_all(stream.blocks, limit)
    if not whole:
        yield Reject(place, f"the page is longer than {limit:,} bytes; only its beginning is kept", content, source.id)
    elif stream.fault is not None:
        yield Reject(place, stream.fault, content, source.id)
    else:
        raw = content if options.keep_raw else None
        yield Page(id=source.id, content=content, options=options, place=place, raw=raw)
