"""Parquet: a document a row, read in batches of row groups, of the columns that are needed only."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from simhash_hbase.errors import InvalidInput, MissingExtra
from simhash_hbase.files.remote import is_remote, open_remote, without_secrets
from simhash_hbase.inputs.encodings import AUTO, UTF8, checked_codec, undecodable
from simhash_hbase.inputs.fields import Builder, listed, name_the_field
from simhash_hbase.inputs.folders import Source
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.records import Place, Record, Reject
from simhash_hbase.inputs.stream.streams import Progress

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise MissingExtra("Parquet files need pyarrow: pip install 'simhash-hbase[parquet]'") from error

__all__ = ["Build", "Row", "batches", "described", "open_parquet", "pa", "pq", "read_parquet", "record_of", "values_of"]

_BATCH_BYTES = 4 << 20
_MAX_BATCH_ROWS = 1_000

# An unknown time zone is a KeyError of pytz and zoneinfo; a missing dictionary entry is an IndexError.
_NO_VALUE = (
    ValueError,
    LookupError,
    ArithmeticError,
    TypeError,
    AttributeError,
    NotImplementedError,
    pa.ArrowException,
)

Row = dict[str, object]
Build = Callable[[Row, Place, bytes], Record]


def open_parquet(path: str) -> pq.ParquetFile:
    """Open a file so that a row group of any size is read piece by piece."""
    # With read-ahead, or without a buffer, it holds whole columns of a row group: of 520 MB 540 MB, not 80 MB.
    return pq.ParquetFile(open_remote(path) if is_remote(path) else path, pre_buffer=False, buffer_size=1 << 20)


def _size(path: str) -> int:
    with open_remote(path) if is_remote(path) else open(path, "rb") as stream:
        return stream.seek(0, 2)


def batches(file: pq.ParquetFile, columns: Sequence[str] | None, group: int) -> Iterator[pa.RecordBatch]:
    """Read a row group in batches of some MB; ``columns`` None reads all."""
    facts = file.metadata.row_group(group)
    each = facts.total_byte_size // max(facts.num_rows, 1) + 1
    rows = min(max(_BATCH_BYTES // each, 1), _MAX_BATCH_ROWS)
    yield from file.iter_batches(rows, [group], columns, use_threads=False)


def read_parquet(source: Source, options: InputOptions, progress: Progress) -> Iterator[Record]:
    """Read Parquet."""
    progress.file = source.name
    before, size, done = progress.bytes_read, 0, 0
    try:
        size = _size(source.path or "")
        with open_parquet(source.path or "") as file:
            columns = _columns(file.schema_arrow.names, options)
            if isinstance(columns, str):
                yield Reject(Place(source.name, 0), columns, b"")
                return
            for record, rows in _rows(file, columns, source.name, options):
                done += rows
                progress.bytes_read = before + size * done // max(file.metadata.num_rows, 1)
                yield record
    except (pa.ArrowException, OSError) as error:
        yield Reject(Place(source.name, 0), f"the file cannot be read as Parquet: {described(error)}", b"")
    finally:
        progress.bytes_read = before + size


def _columns(names: list[str], options: InputOptions) -> list[str] | str:
    """Return which columns to read, or why none can be."""
    if options.source_field not in names:
        return f"the file has no column {options.source_field!r}; it has {listed(names)}: {name_the_field(options)}"
    wanted = dict.fromkeys((options.id_field, options.source_field, *options.metadata_fields))
    for name in wanted:
        if names.count(name) > 1:
            return f"the file has the column {name!r} twice"
    return [name for name in wanted if name in names]


def _rows(file: pq.ParquetFile, columns: list[str], name: str, options: InputOptions) -> Iterator[tuple[Record, int]]:
    """Yield each record with the number of rows that it stands for."""
    build = Builder(options).build
    start = 0
    for group in range(file.metadata.num_row_groups):
        row, stop = start, start + file.metadata.row_group(group).num_rows
        try:
            for batch in batches(file, columns, group):
                for values in values_of(batch):
                    row += 1
                    place = Place(name, row)
                    if isinstance(values, str):
                        yield Reject(place, values, b""), 1
                    else:
                        yield record_of(values, place, options, build), 1
        except (pa.ArrowException, OSError) as error:
            reason = f"rows {row + 1} to {stop} cannot be read: {described(error)}"
            yield Reject(Place(name, row + 1), reason, b""), stop - row
        start = stop


def values_of(batch: pa.RecordBatch) -> Iterator[Row | str]:
    """Yield each row of a batch, or why a row has no values."""
    try:
        yield from batch.to_pylist()
    except _NO_VALUE:
        for at in range(len(batch)):
            yield _value(batch, at)


def _value(batch: pa.RecordBatch, at: int) -> Row | str:
    row: Row = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            row[name] = column[at].as_py()
        except UnicodeDecodeError:
            return f"the column {name!r} is not utf-8"
        except _NO_VALUE as error:
            return f"the column {name!r} has no value that Python knows: {type(error).__name__}: {described(error)}"
    return row


def record_of(values: Row, place: Place, options: InputOptions, build: Build) -> Record:
    """Make the document of a row."""
    raw = _encoded(values)
    try:
        return build(_decoded(_plain(values, options), options), place, raw)
    except InvalidInput as error:
        return Reject(place, str(error), raw)


def _decoded(row: Row, options: InputOptions) -> Row:
    """Read bytes as text where text is wanted: Hive, Impala and old Spark mark no column as a string."""
    codec = UTF8 if options.encoding == AUTO else checked_codec(options.encoding)
    for name in (options.id_field, options.source_field):
        value = row.get(name)
        if isinstance(value, bytes):
            try:
                row[name] = value.decode(codec)
            except UnicodeError as error:
                raise InvalidInput(f"the column {name!r}: {undecodable(error, codec)}") from error
    return row


def _plain(row: Row, options: InputOptions) -> Row:
    """Convert dates and decimals of the metadata to JSON's types."""
    for name in options.metadata_fields:
        if name in row:
            row[name] = msgspec.to_builtins(row[name], enc_hook=str)
    return row


def _encoded(row: Row) -> bytes:
    return msgspec.json.encode(row, enc_hook=str)


def described(error: BaseException) -> str:
    """Write pyarrow's message in one line without a full stop."""
    return " ".join(without_secrets(str(error)).split()).rstrip(".")
