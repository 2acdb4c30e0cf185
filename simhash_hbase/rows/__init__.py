"""Rows: the keys and cells of the table, and how many of them there are."""

from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import row_keys

__all__ = ["Scheme", "row_keys"]
