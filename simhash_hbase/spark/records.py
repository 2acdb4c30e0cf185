"""From files to records: Spark reads lines and rows, this package's readers make documents of them on the workers."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs import InputOptions, Place, Reject, Scanned
from simhash_hbase.inputs.encodings import AUTO, UTF8, WIDE, checked_codec
from simhash_hbase.inputs.fields import Builder, listed, name_the_field
from simhash_hbase.inputs.jsonl import json_records
from simhash_hbase.inputs.parquet.parquetfile import Build, Row, record_of, values_of
from simhash_hbase.inputs.stream.streams import Stream
from simhash_hbase.inputs.textlines import text_records
from simhash_hbase.spark.places import InputFile

MARK = b"\xef\xbb\xbf"
LINES = {"jsonl": json_records, "text": text_records}

Split: TypeAlias = tuple[str, int]
"""A file's name, and the byte at which a split of it begins; of Parquet the row at which a batch does."""


@dataclass
class Part:
    """The records of a split, or of some of its rows."""

    split: Split
    records: Iterator[Scanned]
    lines: int = 0  # Those that were read; complete when the records are.


Records: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[Part]]


@dataclass(frozen=True)
class Counted:
    """What a first pass has counted."""

    lines: int
    records: int  # Those that are not refused by the reader.


@dataclass(frozen=True)
class Order:
    """How many lines are before each file and each split."""

    files: Mapping[str, int]  # Lines of all files before one.
    splits: Mapping[Split, int]  # Lines of the same file before a split.
    total: int

    @classmethod
    def of(cls, files: Sequence[InputFile], counted: Mapping[Split, Counted]) -> "Order":
        """Sum up."""
        before_file: dict[str, int] = {}
        before_split: dict[Split, int] = {}
        total = 0
        for file in files:
            before_file[file.name], lines = total, 0
            for split in sorted(split for split in counted if split[0] == file.name):
                before_split[split] = lines
                lines += counted[split].lines
            # A refusal of the whole file has line 0.
            total += lines + 1
        return cls(before_file, before_split, total)

    def position(self, place: Place) -> int:
        """Return the position of a record."""
        return self.files[place.file] + place.line

    def place(self, position: int) -> Place:
        """Return the place of a position."""
        starts = list(self.files.values())
        at = bisect_right(starts, position) - 1
        return Place(list(self.files)[at], position - starts[at])


def raw_frame(spark: SparkSession, files: Sequence[InputFile], options: InputOptions) -> DataFrame:
    """Read lines or rows, with the file and the byte at which their split begins."""
    uris = [file.uri for file in files]
    if files[0].format == "parquet":
        frame = spark.read.option("__globPaths__", "false").parquet(*uris)
        if options.source_field not in frame.columns:
            raise InvalidInput(
                f"the files have no column {options.source_field!r}; they have {listed(frame.columns)}: "
                f"{name_the_field(options)}"
            )
        wanted = dict.fromkeys((options.id_field, options.source_field, *options.metadata_fields))
        values = F.struct(*(F.col(f"`{name}`") for name in wanted if name in frame.columns))
        row = F.col("_metadata.row_index")
    else:
        _check_encoding(options)
        frame = spark.read.option("lineSep", "\n").option("__globPaths__", "false").text(uris)
        values, row = F.col("value").cast("binary"), F.col("_metadata.file_block_start")
    return frame.select(F.col("_metadata.file_path").alias("path"), row.alias("start"), values.alias("value"))


def record_reader(files: Sequence[InputFile], options: InputOptions, order: Order | None = None) -> Records:
    """Make what turns batches of `raw_frame` into the records of each split; without an order lines count from 1."""
    names = {key: file.name for file in files for key in file.keys}
    kind = files[0].format
    before = {} if order is None else order.splits

    def lines(batches: Iterable[pa.RecordBatch]) -> Iterator[Part]:
        rows = chain.from_iterable(zip(*(c.to_pylist() for c in batch.columns), strict=True) for batch in batches)
        for (path, start), some in groupby(rows, key=lambda row: row[:2]):
            part = Part((names[path], start), iter(()))
            stream = Stream(_blocks(some, part), codec=checked_codec(options.encoding), encoding=options.encoding)
            part.records = LINES[kind](stream, names[path], options, before.get(part.split, 0) + 1)
            yield part

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Part]:
        build = Builder(options).build
        for batch in batches:
            places = zip(batch["path"].to_pylist(), batch["start"].to_pylist(), strict=True)
            values = values_of(pa.RecordBatch.from_struct_array(batch["value"]))
            found = ((names[path], row + 1, value) for (path, row), value in zip(places, values, strict=True))
            for name, group in groupby(found, key=lambda row: row[0]):
                some = list(group)
                records = (_row(value, Place(name, row), options, build) for name, row, value in some)
                yield Part((name, some[0][1] - 1), records, len(some))

    return rows if kind == "parquet" else lines


def _row(values: Row | str, place: Place, options: InputOptions, build: Build) -> Scanned:
    return Reject(place, values, b"") if isinstance(values, str) else record_of(values, place, options, build)


def _blocks(rows: Iterable[tuple[str, int, bytes]], part: Part) -> Iterator[bytes]:
    for _, start, line in rows:
        part.lines += 1
        yield (line.removeprefix(MARK) if part.lines == 1 and start == 0 else line) + b"\n"


def _check_encoding(options: InputOptions) -> None:
    if options.encoding == AUTO or checked_codec(options.encoding) in WIDE:
        raise InvalidInput(f"encoding {options.encoding} cannot be read in splits: name one such as {UTF8} or gb18030")
