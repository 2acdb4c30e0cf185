"""Near copies out of a Spark frame: each task claims its rows in one index that all tasks share.

``spark-submit examples/spark_clean.py hbase://HOST:PORT/TABLE corpus.parquet clean.parquet``. Make the index first, by
``simhash-hbase create``. A task that Spark repeats gets the same answers. Which of near copies is kept depends on
which task came first; ``simhash-hbase spark dedup`` keeps the first of the input instead.
"""

import sys
from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from simhash_hbase import Decision, open_index


def originals(batches: Iterable[pa.RecordBatch], *, url: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task that are no near copies of others."""
    with open_index(url) as index:
        for batch in batches:
            rows = zip(batch["id"].to_pylist(), batch["text"].to_pylist(), strict=True)
            answers = [answer for _, answer in index.claim_many(rows)]
            yield batch.filter(pa.array([is_kept(answer) for answer in answers]))


def is_kept(answer: object) -> bool:
    """Keep originals and what has no usable words; what other tasks contest is an error, and Spark repeats the task."""
    if isinstance(answer, Exception):
        raise answer
    return not isinstance(answer, Decision) or answer.is_original


def clean(frame: DataFrame, url: str) -> DataFrame:
    """Return the frame without near copies."""
    return frame.mapInArrow(partial(originals, url=url), frame.schema)


if __name__ == "__main__":
    address, source, target = sys.argv[1:]
    spark = SparkSession.builder.appName("clean").getOrCreate()
    clean(spark.read.parquet(source), address).write.parquet(target)
    print(f"{spark.read.parquet(target).count()} documents are in {target}")
    spark.stop()
