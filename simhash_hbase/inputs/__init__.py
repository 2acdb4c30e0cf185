"""Readers of documents: JSON lines, CSV, plain text, web pages, crawls, Parquet and folders, compressed or not."""

from typing import TYPE_CHECKING

from simhash_hbase.lazily import handing_on

if TYPE_CHECKING:
    from simhash_hbase.inputs.options import DOCUMENT_BYTES, FORMATS, InputOptions
    from simhash_hbase.inputs.reading import extract, read, scan
    from simhash_hbase.inputs.records import (
        Document,
        Feature,
        Page,
        Place,
        Record,
        Reject,
        Scanned,
        parse_simhash,
        repeated_id,
        write_rejects,
    )
    from simhash_hbase.inputs.sources import Sources, total_bytes
    from simhash_hbase.inputs.streams import Progress

__all__ = [
    "DOCUMENT_BYTES",
    "FORMATS",
    "Document",
    "Feature",
    "InputOptions",
    "Page",
    "Place",
    "Progress",
    "Record",
    "Reject",
    "Scanned",
    "Sources",
    "extract",
    "parse_simhash",
    "read",
    "repeated_id",
    "scan",
    "total_bytes",
    "write_rejects",
]

__getattr__ = handing_on(
    __name__,
    {
        "options": ["DOCUMENT_BYTES", "FORMATS", "InputOptions"],
        "reading": ["extract", "read", "scan"],
        "records": [
            "Document",
            "Feature",
            "Page",
            "Place",
            "Record",
            "Reject",
            "Scanned",
            "parse_simhash",
            "repeated_id",
            "write_rejects",
        ],
        "sources": ["Sources", "total_bytes"],
        "streams": ["Progress"],
    },
)
