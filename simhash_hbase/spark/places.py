"""The files of an input on any Hadoop file system, in the order in which their documents count."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs import InputOptions, Sources
from simhash_hbase.inputs.folders import Source
from simhash_hbase.inputs.formats import format_of

FORMATS = ("jsonl", "text", "parquet")
LOCAL = "file"


@dataclass(frozen=True)
class InputFile:
    """One file of the input."""

    name: str  # As ids and messages show it.
    uri: str  # As Spark opens it.
    format: str
    size: int
    changed: int
    keys: tuple[str, ...]  # What Spark may say for it in the column ``_metadata.file_path``.


def input_files(spark: SparkSession, named: Sequence[str], options: InputOptions) -> list[InputFile]:
    """List the files: local ones as every command does, others in the order of their paths, hidden ones left out."""
    files = [file for name in named for file in _files(spark, name, options)]
    twice = {file.uri for file in files if sum(other.uri == file.uri for other in files) > 1} if named[1:] else set()
    if twice:
        raise InvalidInput(f"{min(twice)} is named twice")
    if not files:
        raise InvalidInput("there is no file to read")
    if len({file.format for file in files}) > 1:
        raise InvalidInput("the files have several formats: read those of one format at a time")
    return files


def _files(spark: SparkSession, name: str, options: InputOptions) -> Iterator[InputFile]:
    path = spark._jvm.org.apache.hadoop.fs.Path(name)
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    if path.toUri().getScheme() is None and system.getUri().getScheme() == LOCAL:
        for source in Sources([name]).files():
            yield _file(spark, source, _whole(spark, source), options)
        return
    found = system.globStatus(path)
    if found is None or not len(found):
        raise InvalidInput(f"{name} does not exist")
    for status in found:
        alone = len(found) == 1 and not status.isDirectory()
        for status_, uri in _below(system, status):
            source = Source(name if alone else uri, uri, uri, not alone, size=status_.getLen())
            yield _file(spark, source, status_, options)


def _below(system: JavaObject, status: JavaObject) -> Iterator[tuple[JavaObject, str]]:
    if not status.isDirectory():
        yield status, status.getPath().toString()
        return
    for inner in sorted(system.listStatus(status.getPath()), key=lambda each: str(each.getPath().getName())):
        if not inner.getPath().getName().startswith((".", "_")):
            yield from _below(system, inner)


def _whole(spark: SparkSession, source: Source) -> JavaObject:
    """Ask Hadoop about a local file."""
    if source.path is None or source.fault is not None or not source.has_name:
        raise InvalidInput(f"{source.name}: {source.fault or 'Spark reads files that have names'}")
    path = spark._jvm.org.apache.hadoop.fs.Path(Path(os.path.abspath(source.path)).as_uri())
    uri = spark._jvm.java.net.URI(Path(os.path.abspath(source.path)).as_uri())
    path = spark._jvm.org.apache.hadoop.fs.Path(uri)
    return path.getFileSystem(spark._jsc.hadoopConfiguration()).getFileStatus(path)


def _file(spark: SparkSession, source: Source, status: JavaObject, options: InputOptions) -> InputFile:
    path = status.getPath()
    name = format_of(source, options)
    if name not in FORMATS or source.compression == "zst":
        raise InvalidInput(f"{source.name}: Spark reads JSON lines, text and Parquet, as they are or as .gz")
    keys = (path.toString(), path.toUri().toString())
    return InputFile(source.name, path.toString(), name, status.getLen(), status.getModificationTime(), keys)
