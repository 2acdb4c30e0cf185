"""Rows and cells that an index stores for documents: their keys, their bytes, their timestamps, their number."""
