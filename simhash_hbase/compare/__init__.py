"""Comparisons: why two texts are near, or are not."""

from simhash_hbase.compare.differences import word_differences
from simhash_hbase.compare.explain import Side, compare

__all__ = ["Side", "compare", "word_differences"]
