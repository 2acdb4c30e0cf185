"""Records of files on any Hadoop file system: listed, counted, and made into documents on the workers."""

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, groupby
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession, functions as F

from simhash_hbase.corpus.sample import NOTHING_TO_LEARN_FROM
from simhash_hbase.errors import InvalidInput
from simhash_hbase.features.idf import Reservoir
from simhash_hbase.inputs import Document, InputOptions, Place, Reject, Scanned, Source, Sources, extract, format_of
from simhash_hbase.inputs.encodings import AUTO, UTF8, WIDE, checked_codec
from simhash_hbase.inputs.lines import json_lines, json_records, text_records
from simhash_hbase.inputs.parquet import record_of, values_of
from simhash_hbase.inputs.reading import check_id_field
from simhash_hbase.inputs.records import Builder, JsonLine, column_fault
from simhash_hbase.inputs.sources import has_records, is_marker, without_markers
from simhash_hbase.inputs.streams import Stream

FORMATS = ("jsonl", "text", "parquet")
LOCAL = "file"


TEXT = "struct<simhash:long,digest:binary>"
_ARROW = {
    "long": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "array<binary>": pa.list_(pa.binary()),
    TEXT: pa.struct([("simhash", pa.int64()), ("digest", pa.binary())]),
}


@cache
def schema_of(columns: str) -> pa.Schema:
    """Return the Arrow schema of columns that are named as Spark does: ``position long, id string``."""
    return pa.schema([(name, _ARROW[kind]) for name, kind in map(str.split, columns.split(", "))])


def batch_of(columns: str, **values: object) -> pa.RecordBatch:
    """Return a record batch of values by column; `columns` has names and types, as for `schema_of`."""
    return pa.RecordBatch.from_pydict(values, schema_of(columns))


def rows_batch(columns: str, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """Return a record batch of rows, with columns as for `schema_of`; a column that a row lacks is null in it."""
    return pa.RecordBatch.from_pylist(rows, schema_of(columns))


def by_batch(frame: DataFrame, columns: str, make: Callable[[pa.RecordBatch], pa.RecordBatch]) -> DataFrame:
    """Return a frame with other columns: the workers call `make` for each record batch of the given frame."""
    return frame.mapInArrow(lambda batches: map(make, batches), columns)


@dataclass(frozen=True)
class InputFile:
    """One file of the input, with its name, address, format and size."""

    name: str  # As ids and messages show it.
    uri: str  # As Spark opens it.
    format: str
    size: int
    changed: int
    keys: tuple[str, ...]  # The forms in which Spark may name the file in the column ``_metadata.file_path``.


def input_files(spark: SparkSession, named: Sequence[str], options: InputOptions) -> list[InputFile]:
    """Return the files of an input: local ones as every command finds them, others by Hadoop's paths.

    Hidden files are left out. Files of several formats are refused.
    """
    files = []
    for source, status in chain.from_iterable(_listed(spark, name) for name in without_markers(named, Counter())):
        path, name = status.getPath(), format_of(source, options)
        if name not in FORMATS or source.compression == "zst":
            raise InvalidInput(f"{source.name}: Spark reads JSON lines, text and Parquet, as they are or as .gz")
        uri, changed = path.toString(), status.getModificationTime()
        files.append(InputFile(source.name, uri, name, status.getLen(), changed, (uri, path.toUri().toString())))
    twice = {file.uri for file in files if sum(other.uri == file.uri for other in files) > 1} if named[1:] else set()
    if twice:
        raise InvalidInput(f"{min(twice)} is named twice")
    if not files:
        raise InvalidInput("there is no file to read")
    if len({file.format for file in files}) > 1:
        raise InvalidInput("the files have several formats: read those of one format at a time")
    check_id_field([file.format for file in files], options)
    return files


def _listed(spark: SparkSession, name: str) -> Iterator[tuple[Source, JavaObject]]:
    """Yield the files that a name leads to, a file, a folder or a pattern, each with its status in Hadoop."""
    path = spark._jvm.org.apache.hadoop.fs.Path(name)
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    if path.toUri().getScheme() is None and system.getUri().getScheme() == LOCAL:
        for source in Sources([name]).files():
            if source.path is None:
                raise InvalidInput("Spark does not read standard input: name a file")
            if source.fault is not None or not source.has_name:
                raise InvalidInput(f"{source.name}: {source.fault or 'Spark reads files that have names'}")
            uri = spark._jvm.java.net.URI(Path(os.path.abspath(source.path)).as_uri())
            path = spark._jvm.org.apache.hadoop.fs.Path(uri)
            yield source, path.getFileSystem(spark._jsc.hadoopConfiguration()).getFileStatus(path)
        return
    statuses = system.globStatus(path)
    if statuses is None or not len(statuses):
        raise InvalidInput(f"{name} does not exist")
    data = set(without_markers([str(status.getPath().toString()) for status in statuses], Counter()))
    for status in statuses:
        if str(status.getPath().toString()) not in data:
            continue
        alone = len(statuses) == 1 and not status.isDirectory()
        listed = list(_below(system, status))
        beside_records = has_records(str(below.getPath().getName()) for below in listed)
        for below in listed:
            uri, base = below.getPath().toString(), str(below.getPath().getName())
            if status.isDirectory() and is_marker(base, beside_records=beside_records):
                continue
            yield Source(name if alone else uri, uri, uri, not alone, size=below.getLen()), below


def _below(system: JavaObject, status: JavaObject) -> Iterator[JavaObject]:
    if not status.isDirectory():
        yield status
        return
    for inner in sorted(system.listStatus(status.getPath()), key=lambda each: str(each.getPath().getName())):
        if not inner.getPath().getName().startswith((".", "_")):
            yield from _below(system, inner)


MARK = b"\xef\xbb\xbf"
LINES = {"jsonl": json_records, "text": text_records}
SAMPLED = {"jsonl": json_lines, "text": text_records}
"""Readers of records to sample: as on one machine, a line of JSON is decoded only when it is in the sample."""

Split: TypeAlias = tuple[str, int]
"""A split of a file: the file's name and the byte at which the split begins; of Parquet a batch and its first row."""


@dataclass
class SplitRecords:
    """The records of a split, a part of a file that one task reads, or of some of its rows."""

    split: Split
    records: Iterator[Scanned | JsonLine]
    lines: int = 0  # Lines that were read; complete when the records are.


Records: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[SplitRecords]]


@dataclass(frozen=True)
class Counted:
    """The numbers of lines and records in a split of a file, or before it, as a first pass has counted them."""

    lines: int
    records: int  # Records that a sample is taken of.


@dataclass(frozen=True)
class Order:
    """The numbers of lines before each file and of lines and records before each split.

    From them a record's position in the whole input follows.
    """

    files: Mapping[str, int]  # Lines of all files before one.
    splits: Mapping[Split, Counted] = field(default_factory=dict)  # Lines of the same file, records of all files.
    lines: int = 0  # Lines of all files.
    records: int = 0

    @classmethod
    def of(cls, files: Sequence[InputFile], counted: Mapping[Split, Counted]) -> "Order":
        """Return the order of an input: its numbers of lines and records, added up file by file and split by split."""
        before_file: dict[str, int] = {}
        before_split: dict[Split, Counted] = {}
        total = records = 0
        for file in files:
            before_file[file.name], lines = total, 0
            for split in sorted(split for split in counted if split[0] == file.name):
                before_split[split] = Counted(lines, records)
                lines, records = lines + counted[split].lines, records + counted[split].records
            # A refusal of the whole file has line 0.
            total += lines + 1
        return cls(before_file, before_split, total, records)

    def position(self, place: Place) -> int:
        """Return the position in the whole input of the record at a place, a file and a line."""
        return self.files[place.file] + place.line

    def place(self, position: int) -> Place:
        """Return the file and line of a record from its position, as `position` makes it; line 0 is the whole file.

        Positions number the lines, in tables the rows, of all files in turn; each file begins with one for line 0.
        """
        starts = list(self.files.values())
        at = bisect_right(starts, position) - 1
        return Place(list(self.files)[at], position - starts[at])


def raw_frame(spark: SparkSession, files: Sequence[InputFile], options: InputOptions) -> DataFrame:
    """Return the input as a frame that is not decoded: of lines, or of Parquet rows.

    ``path`` is the file's; ``start`` is the first byte of a line's split, or a Parquet row's number; ``value`` is the
    line or row.
    """
    uris = [file.uri for file in files]
    if files[0].format == "parquet":
        frame = spark.read.option("__globPaths__", "false").parquet(*uris)
        if (fault := column_fault("the first file", frame.columns, options)) is not None:
            raise InvalidInput(fault)
        values = F.struct(*(F.col(f"`{name}`") for name in options.record_fields if name in frame.columns))
        row = F.col("_metadata.row_index")
    else:
        name = options.encoding
        if name == AUTO or checked_codec(name) in WIDE:
            raise InvalidInput(f"encoding {name} cannot be read in splits: name one such as {UTF8} or gb18030")
        frame = spark.read.option("lineSep", "\n").option("__globPaths__", "false").text(uris)
        values, row = F.col("value").cast("binary"), F.col("_metadata.file_block_start")
    return frame.select(F.col("_metadata.file_path").alias("path"), row.alias("start"), values.alias("value"))


def record_reader(
    files: Sequence[InputFile],
    options: InputOptions,
    order: Order | None = None,
    readers: Mapping[str, Callable[[Stream, str, InputOptions, int], Iterator[Scanned | JsonLine]]] = LINES,
) -> Records:
    """Return a function that reads batches of `raw_frame` into the records of each split.

    Its lines are numbered in the whole file by `order`, without one from 1 in each split. `readers` has the function
    for each format of lines.
    """
    names = {key: file.name for file in files for key in file.keys}
    kind = files[0].format

    def blocks(rows: Iterable[tuple[str, int, bytes]], part: SplitRecords) -> Iterator[bytes]:
        for _, start, line in rows:
            part.lines += 1
            yield (line.removeprefix(MARK) if part.lines == 1 and start == 0 else line) + b"\n"

    def lines(batches: Iterable[pa.RecordBatch]) -> Iterator[SplitRecords]:
        encoding = checked_codec(options.encoding)
        rows = chain.from_iterable(zip(*(c.to_pylist() for c in batch.columns), strict=True) for batch in batches)
        for (path, start), some in groupby(rows, key=lambda row: row[:2]):
            part = SplitRecords((names[path], start), iter(()))
            stream = Stream(blocks(some, part), encoding=encoding)
            before = 0 if order is None else order.splits[part.split].lines
            part.records = readers[kind](stream, names[path], options, before + 1)
            yield part

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[SplitRecords]:
        build = Builder(options).build
        for batch in batches:
            places = zip((names[path] for path in batch["path"].to_pylist()), batch["start"].to_pylist(), strict=True)
            values = values_of(pa.RecordBatch.from_struct_array(batch["value"]))
            numbered = ((name, row + 1, value) for (name, row), value in zip(places, values, strict=True))
            for name, group in groupby(numbered, key=lambda row: row[0]):
                some = list(group)
                records = (
                    Reject(Place(name, row), value, b"")
                    if isinstance(value, str)
                    else record_of(value, Place(name, row), options, build)
                    for name, row, value in some
                )
                yield SplitRecords((name, some[0][1] - 1), records, len(some))

    return rows if kind == "parquet" else lines


COUNTS = "name string, start long, lines long, records long"
TEXTS = "number long, text string"


def count_records(raw: DataFrame, read: Records) -> dict[Split, Counted]:
    """Return the numbers of lines and records of every split, read by `read`."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in read(batches):
            records = sum(not isinstance(record, Reject) for record in part.records)
            name, start = part.split
            yield batch_of(COUNTS, name=[name], start=[start], lines=[part.lines], records=[records])

    counted: dict[Split, Counted] = {}
    for row in raw.mapInArrow(count, COUNTS).collect():
        before = counted.get((row.name, row.start), Counted(0, 0))
        counted[row.name, row.start] = Counted(before.lines + row.lines, before.records + row.records)
    return counted


def sample_texts(raw: DataFrame, read: Records, order: Order) -> list[str]:
    """Return the texts from which ``dedup --create`` on one machine would learn an idf: the same random sample."""
    sample: Reservoir[int] = Reservoir()
    sample.add(range(order.records))
    numbers = frozenset(sample.items)

    def take(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in read(batches):
            offered = (record for record in part.records if not isinstance(record, Reject))
            for number, record in enumerate(offered, order.splits[part.split].records):
                if number in numbers and isinstance(document := extract(record), Document):
                    yield batch_of(TEXTS, number=[number], text=[document.text])

    texts = {row.number: row.text for row in raw.mapInArrow(take, TEXTS).collect()}
    sampled = [text for number in sample.items if (text := texts.get(number))]
    if not sampled:
        raise InvalidInput(NOTHING_TO_LEARN_FROM)
    return sampled
