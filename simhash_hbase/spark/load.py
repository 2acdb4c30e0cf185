"""``load`` on Spark: writes the same cells as on one machine, as HFiles, by many workers."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession, functions as F

from simhash_hbase.bulk import hfiles, places, sorting, spool
from simhash_hbase.bulk.load import begin_noted
from simhash_hbase.corpus.refusals import Refusals
from simhash_hbase.errors import InvalidArgument, InvalidInput
from simhash_hbase.index import documentrows, indexrows
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.inputs import InputOptions, Place
from simhash_hbase.inputs.reading import has_fields
from simhash_hbase.profile import Profile
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.digests import digest_of
from simhash_hbase.rows.keys import BlockRows, pack_rows, unpack_rows
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES
from simhash_hbase.rows.names import checked_batch
from simhash_hbase.spark.input import (
    Input,
    Mapped,
    entries_of,
    first_unnamed,
    integers,
    numbered,
    report_refused,
    without_repeats,
)
from simhash_hbase.spark.records import InputFile, Order, batch_of, input_files
from simhash_hbase.stores.hbase import HBaseStore

FILE = "load.json"


class LoadProgress(spool.NotedLoad, kw_only=True):
    """How far a load on Spark has come, as a file in its folder says, by which a later attempt goes on."""

    input: str  # Digest of the files and of how they are read.
    order: dict[str, int] | None = None  # Lines before each file; None until all documents are analysed.


class WorkPlace:
    """The working folder of a load: a file that notes its progress, and the documents analysed so far."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.path = path.rstrip("/")
        self.documents = f"{self.path}/documents"
        self._jvm = spark._jvm
        self._file = self._jvm.org.apache.hadoop.fs.Path(f"{self.path}/{FILE}")
        self._new = self._jvm.org.apache.hadoop.fs.Path(f"{self.path}/{FILE}.new")
        self._system = self._file.getFileSystem(spark._jsc.hadoopConfiguration())

    def read(self) -> LoadProgress | None:
        """Return the noted progress of the load; None before it was begun."""
        path = next((path for path in (self._file, self._new) if self._system.exists(path)), None)
        if path is None:
            return None
        stream = self._system.open(path)
        content = bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        stream.close()
        try:
            return msgspec.json.decode(content, type=LoadProgress)
        except msgspec.MsgspecError as error:
            raise InvalidInput(f"{self.path}/{FILE} does not describe a load: {error}") from error

    def save(self, progress: LoadProgress) -> None:
        """Write the progress to the file in the folder: to a new file, which gets the name when it is whole."""
        stream = self._system.create(self._new, True)
        stream.write(bytearray(msgspec.json.encode(progress)))
        stream.close()
        # A rename does not replace on every file system; after a crash in between the new one is read.
        self._system.delete(self._file, False)
        self._system.rename(self._new, self._file)

    def remove(self) -> None:
        """Delete the load's own files from its folder at the end, and the folder if nothing else is in it."""
        folder = self._file.getParent()
        self._system.delete(self._jvm.org.apache.hadoop.fs.Path(self.documents), True)
        self._system.delete(self._file, False)
        if not len(self._system.listStatus(folder)):
            self._system.delete(folder, False)


CELLS = "target int, key binary, value binary"
FOLDERS = "folder string, cells long"
TRIED = 64
ROWS = 1  # The second of a region's two targets is for block rows and sketch rows, the first for cells.


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@dataclass(frozen=True)
class Loader:
    """The Java program that writes HFiles, with the files that a worker needs for it.

    Java and HBase's jars are not among these: a worker has them in folders of its own machine.
    """

    tools: places.Tools
    conf: dict[str, bytes]
    classes: dict[str, bytes]
    table: str
    staging: str
    user: str  # The user that writes on the workers, too, where HDFS believes names.

    @classmethod
    def of(cls, tools: places.Tools, conf: Path, table: str, staging: str, user: str) -> "Loader":
        """Return a loader that has read the program's classes and HBase's configuration from their folders."""
        return cls(tools, _files(conf), _files(tools.classes), table, staging, user)

    def program(self, folder: Path) -> list[str]:
        """Write the program's files below a folder, and return the command that runs it."""
        for name, files in (("conf", self.conf), ("classes", self.classes)):
            (folder / name).mkdir()
            for file, content in files.items():
                (folder / name / file).write_bytes(content)
        java, *words = replace(self.tools, classes=folder / "classes").program(folder / "conf")
        # Without this the files would be the worker's user's, while HBase moves them as the submitter.
        return [java, f"-DHADOOP_USER_NAME={self.user}", *words]


def write_files(
    documents: DataFrame,
    index: LocalIndex,
    starts: Sequence[bytes],
    stamp: int,
    loader: Loader,
    *,
    batch: str | None = None,
) -> int:
    """Write the HFiles of all documents and have HBase take them over; return the number of cells.

    `starts` are the first keys of the table's regions, `stamp` is the timestamp of the cells, and `batch` the name of
    the batch that the documents come in.
    """
    spark = documents.sparkSession
    targets = 2 * len(starts)
    cells = documents.mapInArrow(_cells(index.profile, index.collection, starts, stamp, batch), CELLS)
    # For each partition an integer that Spark's hash sends there, so that no two regions share a partition. Where so
    # many integers hold none for it, the region's files are written all the same, after those of another region.
    numbers = spark.range(TRIED * targets).select(F.col("id").cast("int"))
    integers_there = numbers.select("id", F.pmod(F.hash("id"), F.lit(targets)).alias("partition")).collect()
    integer_of = {row.partition: row.id for row in integers_there}
    keys = F.array(*(F.lit(integer_of.get(partition, -1)) for partition in range(targets)))
    alone = cells.withColumn("goes", F.element_at(keys, F.col("target") + 1)).repartition(targets, "goes")
    sorted_ = alone.drop("goes").sortWithinPartitions("target", "key")
    written = sorted_.mapInArrow(_written(spark.sparkContext.broadcast(loader), stamp), FOLDERS).collect()
    with TemporaryDirectory(prefix="simhash-hbase-") as folder:
        command = [*loader.program(Path(folder)), "load", loader.table, loader.staging]
        hfiles.run_loader(command, ["\n".join(row.folder for row in written).encode()], loader.table)
    return sum(row.cells for row in written)


def _cells(
    profile: Profile, collection: Collection, starts: Sequence[bytes], stamp: int, batch_name: str | None
) -> Mapped:
    regions = np.array(starts, sorting.KEY)

    def keyed(packed: bytes, width: int, values: list[bytes] | None) -> pa.RecordBatch:
        keys = np.frombuffer(packed, np.dtype(f"S{width}"))
        return batch_of(
            CELLS,
            target=2 * (np.searchsorted(regions, keys.astype(sorting.KEY), side="right") - 1) + (values is None) * ROWS,
            key=[packed[at : at + width] for at in range(0, len(packed), width)],
            value=[None] * len(keys) if values is None else values,
        )

    def cells(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            entries = collection.stored(entries_of(batch, profile.bands)).in_batch(batch_name)
            numbers = integers(batch["number"])
            for run in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers) != 1) + 1):
                first = int(numbers[run[0]])
                block = sorting.document_cells(entries.take(run), stamp, first, checksum=profile.checksums)
                yield keyed(block.keys.tobytes(), sorting.KEY_BYTES, block.values)
            yield keyed(pack_rows(documentrows.entry_rows(profile, entries)), BLOCK_ROW_BYTES, None)

    return cells


def _written(shared: Broadcast, stamp: int) -> Mapped:
    def by_target(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        targets = integers(batch["target"])
        for run in np.split(np.arange(len(targets)), np.flatnonzero(np.diff(targets)) + 1):
            if len(run):
                yield int(targets[run[0]]), batch.slice(int(run[0]), len(run))

    def block_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[BlockRows]:
        """Yield the rows that lead to fingerprints in sorted batches, each row once.

        Documents with one fingerprint have the same rows.
        """
        last = b""
        for batch in batches:
            keys = batch["key"].to_pylist()
            new = [key for before, key in zip([last, *keys], keys, strict=False) if key != before]
            last = keys[-1]
            yield unpack_rows(b"".join(new))

    def written(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        loader: Loader = shared.value
        pieces = chain.from_iterable(map(by_target, batches))
        for target, some in groupby(pieces, key=lambda piece: piece[0]):
            tables = (table for _, table in some)
            # Each attempt of a task has a folder of its own; the folder of a lost attempt is not loaded.
            name = secrets.token_hex(8)
            with TemporaryDirectory(prefix="simhash-hbase-") as folder:
                program = [*loader.program(Path(folder)), "write"]
                writer = hfiles.HFileWriter(program, loader.table, f"{loader.staging}/{name}")
                if target % 2 == ROWS:
                    writer.write((), block_rows(tables), timestamp=stamp)
                else:
                    columns = ((batch["key"].to_pylist(), batch["value"].to_pylist()) for batch in tables)
                    blocks = (
                        sorting.CellBlock(np.frombuffer(b"".join(keys), sorting.KEY), values)
                        for keys, values in columns
                    )
                    writer.write(blocks, (), timestamp=stamp)
            yield batch_of(FOLDERS, folder=[name], cells=[sum(files.cells for files in writer.done.values())])

    return written


@dataclass(frozen=True)
class LoadCounts:
    """The counts of a finished load on Spark."""

    documents: int
    resumed: bool  # Whether an earlier attempt had analysed the documents.
    cells: int
    unnamed: Place | None  # Place of a document whose id is its file and line.
    has_fields: bool = True  # Whether its format has fields, of which one may be the id.


@dataclass(frozen=True)
class BulkSettings:
    """The choices of a load on Spark: its folder, its Java program, and more."""

    work: WorkPlace  # A folder for analysed documents; after an interruption the same call goes on from there.
    loader: Loader  # The Java program, and a folder below which it writes files.
    take_over: bool = False  # Whether to go ahead although another load was left open.
    batch: str | None = None  # The batch that all documents come in.


def load(
    spark: SparkSession,
    index: LocalIndex,
    named: Sequence[str],
    options: InputOptions,
    *,
    settings: BulkSettings,
    refusals: Refusals,
) -> LoadCounts:
    """Write a corpus, named by files and folders on any Hadoop file system, into an empty index in HBase as HFiles.

    Raises `InvalidArgument` when the index holds documents or is not in HBase, and `InvalidInput` when the input is
    another than that of the attempt before, which has begun to write.
    """
    if not isinstance(index.store, HBaseStore):
        raise InvalidArgument(f"{index.store.url} is not in HBase: Spark loads into hbase:// only")
    options = replace(options, agree_field=index.profile.agree)
    files = input_files(spark, named, options)
    progress = _progress(index, settings, files, options)
    stamp = begin_noted(index, progress, take_over=settings.take_over)
    resumed = progress.order is not None
    if not resumed:
        settings.work.save(progress)
        corpus = Input.of(spark, named, options)
        corpus.documents(index.analysis).write.mode("overwrite").parquet(settings.work.documents)
        progress.order = dict(corpus.order.files)
        settings.work.save(progress)
    documents = spark.read.parquet(settings.work.documents)
    order = Order(progress.order or {})
    whole, refused = without_repeats(documents, order)
    report_refused(refused, order, refusals)
    progress.writing = True
    settings.work.save(progress)
    starts = [region.start for region in index.store.regions()]
    placed = numbered(whole, "position").persist()
    loader = replace(settings.loader, staging=f"{settings.loader.staging}/{progress.token}")
    cells = write_files(placed, index, starts, stamp, loader, batch=settings.batch)
    indexrows.end_load(index.store, progress.token)
    unnamed = first_unnamed(placed, order)
    done = LoadCounts(placed.count(), resumed, cells, unnamed, all(has_fields(file.format) for file in files))
    settings.work.remove()
    return done


def _progress(
    index: LocalIndex, settings: BulkSettings, files: Sequence[InputFile], options: InputOptions
) -> LoadProgress:
    """Return the progress of an earlier attempt at this load, else that of a new load.

    Raises an error where the folder holds the progress of another load.
    """
    work, batch = settings.work, checked_batch(settings.batch)
    profile = digest_of(index.profile.encode())
    described = [(file.uri, file.size, file.changed) for file in files], msgspec.to_builtins(options)
    digest = digest_of(msgspec.json.encode(described))
    progress = work.read() or LoadProgress(url=index.address, profile=profile, input=digest, batch=batch)
    progress.check_index(index.address, profile, work.path, batch=batch)
    if progress.input != digest:
        progress.check_unwritten(work.path)
        progress.input, progress.order = digest, None
    return progress
