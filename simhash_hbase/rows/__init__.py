"""Rows: what is kept of documents, its keys, cells and times in the table, and how many rows there are."""
