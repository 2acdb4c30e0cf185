"""``passages`` on Spark: the spans of texts that stand in documents of an index, in the lines of one machine."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, functions as F

from simhash_hbase.api import open_local_index
from simhash_hbase.errors import SimhashError
from simhash_hbase.features.chunks import Chunk
from simhash_hbase.index.answers import PassagesAnswer
from simhash_hbase.index.arguments import PassageSearch
from simhash_hbase.index.jsonforms import REPEATED, json_line
from simhash_hbase.index.passages import check_kept
from simhash_hbase.inputs import Document, Reject
from simhash_hbase.spark.dedup import IndexPlace, opened
from simhash_hbase.spark.input import REFUSED, Input, refused_row
from simhash_hbase.spark.records import Order, rows_batch

ANSWERS = f"{REFUSED}, line string, found boolean, truncated boolean"


@dataclass(frozen=True)
class CorpusPassages:
    """The passages of a corpus, and their numbers."""

    lines: DataFrame  # A JSON text for each document, in the order of the input.
    refused: DataFrame
    documents: int
    with_passages: int
    truncated: int


def find_passages(corpus: Input, place: IndexPlace, search: PassageSearch) -> CorpusPassages:
    """Find the spans of the texts of a corpus that stand in documents of an index; every worker opens it for reading.

    Raises
    ------
    InvalidArgument
        When the index keeps no passages.
    """
    with open_local_index(place.url, collection=place.collection, readonly=True) as index:
        check_kept(index.profile)
    order = corpus.order

    def answered(chunk: Chunk) -> pa.RecordBatch:
        return rows_batch(ANSWERS, [_row(order, *each) for each in opened(place).repeated(chunk, search)])

    answers = corpus.by_chunk(lambda: opened(place).analysis, ANSWERS, answered).persist(StorageLevel.DISK_ONLY)
    found = answers.where("reason IS NULL")
    counts = found.agg(F.count("*"), F.count_if("found"), F.count_if("truncated")).first()
    lines = found.orderBy("position").select(F.col("line").alias("value"))
    return CorpusPassages(lines, answers.where("reason IS NOT NULL"), *(counts or (0, 0, 0)))


def _row(order: Order, document: Document, answer: PassagesAnswer | SimhashError) -> dict[str, Any]:
    """Make a row of `ANSWERS`; a function of the module, since REPEATED cannot be pickled for Spark's workers."""
    if isinstance(answer, SimhashError):
        return refused_row(order, Reject(document.place, str(answer), document.raw or b"", document.id))
    line = json_line(REPEATED.write(answer))[:-1].decode()
    position = order.position(document.place)
    return {"position": position, "line": line, "found": bool(answer.passages), "truncated": answer.truncated}
