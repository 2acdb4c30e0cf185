"""HFiles on the workers: one partition a region and family, by the Java class of ``load``."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from simhash_hbase.bulk import HFileWriter
from simhash_hbase.bulk.cells import KEY, KEY_BYTES, CellBlock, document_cells
from simhash_hbase.bulk.hfiles import run_loader
from simhash_hbase.bulk.parts import Part
from simhash_hbase.bulk.seen import DIGEST
from simhash_hbase.bulk.tools import Tools
from simhash_hbase.index.lookup import entry_rows
from simhash_hbase.profile import Profile
from simhash_hbase.rows.keys import BlockRows, id_digest, pack_rows, unpack_rows
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES
from simhash_hbase.spark.columns import Mapped, batch_of, entries_of, integers

CELLS = "target int, key binary, value binary"
FOLDERS = "folder string, cells long, bytes long"
TRIED = 64
ROWS = 1  # Of the two targets of a region the second one: block rows and sketch rows; the first one are cells.


@dataclass(frozen=True)
class Loader:
    """The Java program with all that a worker needs of it, but for Java and HBase's jars."""

    java: str
    jars: str
    conf: dict[str, bytes]
    classes: dict[str, bytes]
    table: str
    staging: str
    user: str

    @classmethod
    def of(cls, tools: Tools, conf: Path, table: str, staging: str, user: str) -> "Loader":
        """Read the files; `user` is who writes on the workers, too, where HDFS believes names."""
        return cls(str(tools.java), str(tools.jars), _files(conf), _files(tools.classes), table, staging, user)

    def below(self, token: str) -> "Loader":
        """Write files to a folder of one load."""
        return replace(self, staging=f"{self.staging}/{token}")

    def program(self, folder: Path) -> list[str]:
        """Write the files below a folder, and return the command."""
        for name, files in (("conf", self.conf), ("classes", self.classes)):
            (folder / name).mkdir()
            for file, content in files.items():
                (folder / name / file).write_bytes(content)
        tools = Tools(java=Path(self.java), jars=Path(self.jars), classes=folder / "classes")
        java, *words = tools.program(folder / "conf")
        # Else it would be whoever runs the worker, and HBase moves the files as who submitted.
        return [java, f"-DHADOOP_USER_NAME={self.user}", *words]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def write_files(documents: DataFrame, profile: Profile, starts: Sequence[bytes], stamp: int, loader: Loader) -> int:
    """Write the files of all documents and have HBase take them over; return the number of cells."""
    spark = documents.sparkSession
    targets = 2 * len(starts)
    cells = documents.mapInArrow(_cells(profile, starts, stamp), CELLS)
    keys = F.array(*(F.lit(key) for key in _keys(spark, targets)))
    alone = cells.withColumn("goes", F.element_at(keys, F.col("target") + 1)).repartition(targets, "goes")
    sorted_ = alone.drop("goes").sortWithinPartitions("target", "key")
    written = sorted_.mapInArrow(_written(spark.sparkContext.broadcast(loader), stamp), FOLDERS).collect()
    with TemporaryDirectory(prefix="simhash-hbase-") as folder:
        command = [*loader.program(Path(folder)), "load", loader.table, loader.staging]
        run_loader(command, ["\n".join(row.folder for row in written).encode()], loader.table)
    return sum(row.cells for row in written)


def _keys(spark: SparkSession, count: int) -> list[int]:
    """Find for each partition an integer that Spark's hash sends there: then no two regions share one."""
    found = spark.range(TRIED * count).select(F.col("id").cast("int"))
    rows = found.select("id", F.pmod(F.hash("id"), F.lit(count)).alias("partition")).collect()
    keys = {row.partition: row.id for row in rows}
    # Of one that was not found in so many tries the files are written all the same, after those of another region.
    return [keys.get(partition, -1) for partition in range(count)]


def _cells(profile: Profile, starts: Sequence[bytes], stamp: int) -> Mapped:
    regions = np.array(starts, KEY)

    def cells(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            entries = entries_of(batch, profile.bands)
            digests = np.array([id_digest(name) for name in entries.ids], DIGEST)
            part = Part(entries=entries, digests=digests, rejects=[])
            places = integers(batch["place"])
            for run in np.split(np.arange(len(places)), np.flatnonzero(np.diff(places) != 1) + 1):
                block = document_cells(part.take(run), stamp, int(places[run[0]]))
                yield _keyed(regions, block.keys.tobytes(), KEY_BYTES, block.values)
            yield _keyed(regions, pack_rows(entry_rows(profile, entries)), BLOCK_ROW_BYTES, None)

    return cells


def _keyed(regions: NDArray[np.bytes_], packed: bytes, width: int, values: list[bytes] | None) -> pa.RecordBatch:
    keys = np.frombuffer(packed, np.dtype(f"S{width}"))
    target = 2 * (np.searchsorted(regions, keys.astype(KEY), side="right") - 1) + (values is None) * ROWS
    cut = [packed[at : at + width] for at in range(0, len(packed), width)]
    none = pa.nulls(len(keys), pa.binary())
    return batch_of(
        target=pa.array(target, pa.int32()),
        key=pa.array(cut, pa.binary()),
        value=none if values is None else pa.array(values, pa.binary()),
    )


def _written(shared: Broadcast, stamp: int) -> Mapped:
    def written(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        loader: Loader = shared.value
        pieces = chain.from_iterable(map(_by_target, batches))
        for target, some in groupby(pieces, key=lambda piece: piece[0]):
            tables = (table for _, table in some)
            # A folder for each attempt of a task: of one that was lost nothing is loaded.
            name = secrets.token_hex(8)
            with TemporaryDirectory(prefix="simhash-hbase-") as folder:
                program = [*loader.program(Path(folder)), "write"]
                writer = HFileWriter(program, loader.table, f"{loader.staging}/{name}")
                is_rows = target % 2 == ROWS
                writer.write(() if is_rows else map(_block, tables), _rows(tables) if is_rows else (), timestamp=stamp)
            done = list(writer.done.values())
            yield batch_of(folder=[name], cells=[sum(f.cells for f in done)], bytes=[sum(f.bytes for f in done)])

    return written


def _by_target(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    targets = integers(batch["target"])
    edges = [0, *(np.flatnonzero(np.diff(targets)) + 1).tolist(), len(targets)]
    for start, stop in pairwise(edges):
        if start < stop:
            yield int(targets[start]), batch.slice(start, stop - start)


def _block(batch: pa.RecordBatch) -> CellBlock:
    keys = np.frombuffer(b"".join(batch["key"].to_pylist()), KEY)
    return CellBlock(keys, batch["value"].to_pylist())


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[BlockRows]:
    """Read sorted rows, each once: documents of one fingerprint share them."""
    last = b""
    for batch in batches:
        keys = batch["key"].to_pylist()
        new = [key for before, key in zip([last, *keys], keys, strict=False) if key != before]
        last = keys[-1]
        yield unpack_rows(b"".join(new))
