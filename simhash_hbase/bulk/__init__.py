"""Bulk load: documents are analysed into files that survive a kill, sorted, and written in the order of the rows."""

from simhash_hbase.bulk.hfiles import HFileWriter
from simhash_hbase.bulk.load import Loaded, StoreWriter, Writer, begin, load
from simhash_hbase.bulk.spool import Spool

__all__ = ["HFileWriter", "Loaded", "Spool", "StoreWriter", "Writer", "begin", "load"]
