"""The input as analysed documents: fingerprints and sketches, by the package's own analysis on the workers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from simhash_hbase.corpus.refusals import Refusals
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.inputs import InputOptions, Reject, Scanned, repeated_id
from simhash_hbase.pipeline.analyse import analyse
from simhash_hbase.spark.columns import DOCUMENTS, documents_batch, refused_batch
from simhash_hbase.spark.places import InputFile, input_files
from simhash_hbase.spark.records import Counted, Order, Records, Split, raw_frame, record_reader
from simhash_hbase.spark.survey import count_records, sample_texts


@dataclass(frozen=True)
class Input:
    """A corpus whose lines are counted."""

    files: Sequence[InputFile]
    options: InputOptions
    raw: DataFrame
    counted: dict[Split, Counted]
    order: Order

    @classmethod
    def of(cls, spark: SparkSession, named: Sequence[str], options: InputOptions) -> "Input":
        """List the files and count their lines."""
        files = input_files(spark, named, options)
        raw = raw_frame(spark, files, options)
        counted = count_records(raw, record_reader(files, options))
        return cls(files, options, raw, counted, Order.of(files, counted))

    def texts(self) -> list[str]:
        """Take the sample for an idf table."""
        return sample_texts(self.raw, record_reader(self.files, self.options, self.order), self.files, self.counted)

    def documents(self, analysis: Analysis) -> DataFrame:
        """Analyse all records; refused ones stay among them, with the reason."""
        read = record_reader(self.files, self.options, self.order)
        shared, order = self.raw.sparkSession.sparkContext.broadcast(analysis), self.order

        def analysed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for chunk in analyse(_records(read, batches), shared.value):
                kept = chunk.kept
                yield documents_batch([order.position(document.place) for document in kept], chunk.entries)
                for reject in chunk.rejects:
                    yield refused_batch(order.position(reject.place), reject.id, reject.reason, reject.raw)

        return self.raw.mapInArrow(analysed, DOCUMENTS)


def _records(read: Records, batches: Iterable[pa.RecordBatch]) -> Iterator[Scanned]:
    for part in read(batches):
        yield from part.records


def without_repeats(documents: DataFrame, order: Order) -> tuple[DataFrame, DataFrame]:
    """Divide documents into those to go on with, and refused ones: by the reader, or since their id came before."""
    whole, refused = documents.where("reason IS NULL"), documents.where("reason IS NOT NULL")
    ids = whole.groupBy("id").agg(F.min("position").alias("first"), F.count("*").alias("times")).where("times > 1")
    if ids.isEmpty():
        return whole, refused
    again = whole.select("id", "position").join(ids, "id").where("position > first").select("position").persist()
    reason = F.udf(lambda name, position: repeated_id(name, order.place(position)))
    later = whole.join(again, "position").withColumn("reason", reason("id", "position"))
    return whole.join(again, "position", "left_anti"), refused.unionByName(later)


def report_refused(refused: DataFrame, order: Order, refusals: Refusals) -> None:
    """Report refused records in the order of the input."""
    for row in refused.orderBy("position").select("position", "id", "reason", "raw").toLocalIterator():
        refusals.add(Reject(order.place(row.position), row.reason, bytes(row.raw or b""), row.id))
    refusals.finish()
