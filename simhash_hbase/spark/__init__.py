"""Whole corpora on Spark: decisions, passages and cells as one machine makes them, made by many.

Python workers analyse and compare as this package does elsewhere; Spark reads, shuffles and sorts. The *position* of a
document is an integer that ascends with the files and their lines, so it says everywhere which document comes first.
"""

from simhash_hbase.errors import missing_extra

try:
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as error:
    raise missing_extra("Spark needs pyspark", "spark") from error

from simhash_hbase.spark.dedup import deduplicate
from simhash_hbase.spark.load import load
from simhash_hbase.spark.passages import find_items, find_passages
from simhash_hbase.spark.session import SparkOptions, measured, session

__all__ = ["SparkOptions", "deduplicate", "find_items", "find_passages", "load", "measured", "session"]
