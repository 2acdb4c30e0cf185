"""``load`` on Spark: the cells of one machine, written as HFiles by many."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from simhash_hbase.bulk.load import check_empty
from simhash_hbase.corpus.refusals import Refusals
from simhash_hbase.errors import InvalidArgument, InvalidInput
from simhash_hbase.index.index import Index
from simhash_hbase.index.loadmark import begin_load, end_load
from simhash_hbase.index.servertime import MARGIN_MS
from simhash_hbase.inputs import InputOptions
from simhash_hbase.spark.analysed import Input, report_refused, without_repeats
from simhash_hbase.spark.hfiles import Loader, write_files
from simhash_hbase.spark.places import InputFile, input_files
from simhash_hbase.spark.progress import Progress, WorkPlace
from simhash_hbase.spark.records import Order
from simhash_hbase.stores.hbase import HBaseStore

DIGEST_BYTES = 16
BUCKET = 1 << 16


@dataclass(frozen=True)
class Loaded:
    """Counts of a load."""

    documents: int
    resumed: bool  # Whether an earlier attempt had analysed the documents.
    cells: int


@dataclass(frozen=True)
class Way:
    """How a load is done."""

    work: WorkPlace  # A folder for analysed documents; after an interruption the same call goes on from there.
    loader: Loader  # The Java program, and a folder below which it writes files.
    take_over: bool = False  # Whether to go ahead although another load was left open.


def load(
    spark: SparkSession, index: Index, named: Sequence[str], options: InputOptions, *, way: Way, refusals: Refusals
) -> Loaded:
    """Write a corpus into an empty index in HBase.

    Parameters
    ----------
    spark : SparkSession
        See `simhash_hbase.spark.session.session`.
    index : Index
        An index in HBase.
    named : sequence of str
        Files and folders on any Hadoop file system.
    options : InputOptions
        How they are read.
    way : Way
        Where it keeps what is finished, and how files are written.
    refusals : Refusals
        Takes refused records.

    Returns
    -------
    Loaded

    Raises
    ------
    InvalidArgument
        When the index holds documents, or is not in HBase.
    InvalidInput
        When the input is another than that of the attempt before, which has begun to write.
    """
    if not isinstance(index.store, HBaseStore):
        raise InvalidArgument(f"{index.store.url} is not in HBase: Spark loads into hbase:// only")
    files = input_files(spark, named, options)
    progress = _progress(index, way.work, files, options)
    if not progress.writing:
        check_empty(index)
    now = begin_load(index.store, progress.token, take_over=way.take_over)
    progress.stamp = progress.stamp or now - MARGIN_MS
    resumed = progress.order is not None
    documents = _analysed(spark, index, named, options, way.work, progress)
    order = Order(progress.order or {}, {}, 0)
    whole, refused = without_repeats(documents, order)
    report_refused(refused, order, refusals)
    progress.writing = True
    way.work.save(progress)
    starts = [region.start for region in index.store.regions()]
    placed = _placed(whole).persist()
    cells = write_files(placed, index.profile, starts, progress.stamp, way.loader.below(progress.token))
    end_load(index.store, progress.token)
    done = Loaded(placed.count(), resumed, cells)
    way.work.remove()
    return done


def _progress(index: Index, work: WorkPlace, files: Sequence[InputFile], options: InputOptions) -> Progress:
    """Read how far an earlier attempt came, if it was one of the same load."""
    profile = blake2b(index.profile.encode(), digest_size=DIGEST_BYTES).hexdigest()
    described = [(file.uri, file.size, file.changed) for file in files], msgspec.to_builtins(options)
    digest = blake2b(msgspec.json.encode(described), digest_size=DIGEST_BYTES).hexdigest()
    found = work.read()
    if found is None:
        return Progress(url=index.store.url, profile=profile, input=digest)
    if (found.url, found.profile) != (index.store.url, profile):
        raise InvalidArgument(f"{work.path} holds an unfinished load into {found.url}: finish it, or delete the folder")
    if found.input != digest:
        if found.writing:
            raise InvalidInput(
                f"the input differs from that in {work.path}, which may be in the index in part: "
                "repeat the load with the same input, then load the rest"
            )
        found.input, found.order = digest, None
    return found


def _analysed(
    spark: SparkSession, index: Index, named: Sequence[str], options: InputOptions, work: WorkPlace, progress: Progress
) -> DataFrame:
    """Analyse the documents, unless that was done."""
    if progress.order is None:
        work.save(progress)
        corpus = Input.of(spark, named, options)
        corpus.documents(index.analysis).write.mode("overwrite").parquet(work.documents)
        progress.order = dict(corpus.order.files)
        work.save(progress)
    return spark.read.parquet(work.documents)


def _placed(documents: DataFrame) -> DataFrame:
    """Give the documents numbers in the order of the input, from 0."""
    bucket = documents.withColumn("bucket", F.expr(f"position div {BUCKET}"))
    sizes = bucket.groupBy("bucket").count()
    before = F.sum("count").over(Window.orderBy("bucket").rowsBetween(Window.unboundedPreceding, -1))
    starts = sizes.select("bucket", F.coalesce(before, F.lit(0)).alias("before"))
    rank = F.row_number().over(Window.partitionBy("bucket").orderBy("position"))
    numbered = bucket.withColumn("rank", rank).join(F.broadcast(starts), "bucket")
    return numbered.withColumn("place", F.col("before") + F.col("rank") - 1).drop("bucket", "rank", "before")
