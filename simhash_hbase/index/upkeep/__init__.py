"""Upkeep of an index: count what it holds, check it, repair it, and delete rows and cells that are not needed."""
