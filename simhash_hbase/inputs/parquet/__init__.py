"""Parquet: files of it, and copies of what comes from standard input."""
