"""Rows: the keys and cells of the table, and how many of them there are."""
