"""Readers of documents: from JSON lines, CSV, plain text, web pages, crawlers' files and Parquet, compressed or not."""

from typing import TYPE_CHECKING

from simhash_hbase.lazy import handing_on

if TYPE_CHECKING:
    from simhash_hbase.inputs.options import DOCUMENT_BYTES, FORMATS, ID_PREFIXES, SIMHASH_FORMATS, InputOptions
    from simhash_hbase.inputs.preference import Preference
    from simhash_hbase.inputs.reading import SUFFIXES, extract, format_of, read, scan, title_of
    from simhash_hbase.inputs.records import (
        UNIQUE_IDS,
        Document,
        Page,
        Place,
        Record,
        Reject,
        Scanned,
        parse_simhash,
        repeated_id,
    )
    from simhash_hbase.inputs.sources import Source, Sources, are_files_here, as_sources, total_bytes
    from simhash_hbase.inputs.streams import Progress, ReadRequest

__all__ = [
    "DOCUMENT_BYTES",
    "FORMATS",
    "ID_PREFIXES",
    "SIMHASH_FORMATS",
    "SUFFIXES",
    "UNIQUE_IDS",
    "Document",
    "InputOptions",
    "Page",
    "Place",
    "Preference",
    "Progress",
    "ReadRequest",
    "Record",
    "Reject",
    "Scanned",
    "Source",
    "Sources",
    "are_files_here",
    "as_sources",
    "extract",
    "format_of",
    "parse_simhash",
    "read",
    "repeated_id",
    "scan",
    "title_of",
    "total_bytes",
]

__getattr__ = handing_on(
    __name__,
    {
        "options": ["DOCUMENT_BYTES", "FORMATS", "ID_PREFIXES", "SIMHASH_FORMATS", "InputOptions"],
        "preference": ["Preference"],
        "reading": ["SUFFIXES", "extract", "format_of", "read", "scan", "title_of"],
        "records": [
            *("UNIQUE_IDS", "Document", "Page", "Place", "Record", "Reject", "Scanned", "parse_simhash", "repeated_id")
        ],
        "sources": ["Source", "Sources", "are_files_here", "as_sources", "total_bytes"],
        "streams": ["Progress", "ReadRequest"],
    },
)
