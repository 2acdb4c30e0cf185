"""Upkeep: counting, checking, repairing and cleaning the rows and cells of an index."""
