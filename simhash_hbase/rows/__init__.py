"""Rows: the keys, cells and times that an index keeps of documents in its table, and how many rows there are."""
