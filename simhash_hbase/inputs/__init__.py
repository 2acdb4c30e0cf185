"""Readers of documents: JSON lines, CSV, plain text and folders, compressed or not."""

from simhash_hbase.inputs.headers import headers
from simhash_hbase.inputs.options import FORMATS, InputOptions
from simhash_hbase.inputs.reading import read
from simhash_hbase.inputs.records import Document, Feature, Place, Record, Reject
from simhash_hbase.inputs.rejects import write_rejects
from simhash_hbase.inputs.simhashes import parse_simhash
from simhash_hbase.inputs.sources import source_files, total_bytes
from simhash_hbase.inputs.streams import Progress

__all__ = [
    "FORMATS",
    "Document",
    "Feature",
    "InputOptions",
    "Place",
    "Progress",
    "Record",
    "Reject",
    "headers",
    "parse_simhash",
    "read",
    "source_files",
    "total_bytes",
    "write_rejects",
]
