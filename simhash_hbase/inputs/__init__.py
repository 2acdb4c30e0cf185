"""Readers of documents: JSON lines, CSV, plain text, web pages, crawls, Parquet and folders, compressed or not."""

from simhash_hbase.inputs.headers import LINES, Beginning, headers
from simhash_hbase.inputs.options import DOCUMENT_BYTES, FORMATS, InputOptions
from simhash_hbase.inputs.page.extract import extract
from simhash_hbase.inputs.reading import read, scan
from simhash_hbase.inputs.records import Document, Feature, Page, Place, Record, Reject, Scanned
from simhash_hbase.inputs.rejects import repeated_id, write_rejects
from simhash_hbase.inputs.simhashes import parse_simhash
from simhash_hbase.inputs.sources import Sources, total_bytes
from simhash_hbase.inputs.stream.streams import Progress

__all__ = [
    "DOCUMENT_BYTES",
    "FORMATS",
    "LINES",
    "Beginning",
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
    "headers",
    "parse_simhash",
    "read",
    "repeated_id",
    "scan",
    "total_bytes",
    "write_rejects",
]
