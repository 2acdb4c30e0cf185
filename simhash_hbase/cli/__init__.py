"""The command line: each command parses, makes one library call after another, and prints."""

from simhash_hbase.cli.app import main

__all__ = ["main"]
