"""Parquet: read rows as documents, copy chosen rows to another file, and write other records as Parquet."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidInput, missing_extra
from simhash_hbase.files.remote import is_remote, open_remote, shown, without_secrets
from simhash_hbase.inputs.encodings import AUTO, UTF8, checked_codec, undecodable
from simhash_hbase.inputs.options import RECORD_BYTES, RESULT_BYTES, InputOptions
from simhash_hbase.inputs.records import TITLE, Builder, Place, Record, Reject, column_fault, text_of
from simhash_hbase.inputs.sources import FileVersion, Part
from simhash_hbase.inputs.streams import ReadRequest

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise missing_extra("Parquet files need pyarrow", "parquet") from error

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
    """Return an opened Parquet file that is read piece by piece, so that even a huge row group needs little memory."""
    # With read-ahead, or without a buffer, it holds whole columns of a row group: of 520 MB 540 MB, not 80 MB.
    return pq.ParquetFile(open_remote(path) if is_remote(path) else path, pre_buffer=False, buffer_size=1 << 20)


def batches(file: pq.ParquetFile, columns: Sequence[str] | None, group: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of row group `group` in batches of some MB; `columns` names the columns to read, None all."""
    facts = file.metadata.row_group(group)
    each = facts.total_byte_size // max(facts.num_rows, 1) + 1
    rows = min(max(_BATCH_BYTES // each, 1), _MAX_BATCH_ROWS)
    yield from file.iter_batches(rows, [group], columns, use_threads=False)


def group_parts(request: ReadRequest, sizes: Iterator[int]) -> Iterator[Part]:
    """Yield the parts into which a Parquet file is divided, in order, so that several processes can read it.

    Each part is some row groups: together at most the next number of `sizes` in bytes, or a single larger one. A file
    is one part where it cannot be read, has a single row group, or one whose results are too large to be held.
    """
    source, options = request.source, request.options
    try:
        version = FileVersion.of(source.path or "")
        with open_parquet(source.path or "") as file:
            fault = column_fault("the file", file.schema_arrow.names, options)
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
            facts = np.array([(group.num_rows, group.total_byte_size) for group in groups], np.int64).reshape(-1, 2)
    except (pa.ArrowException, OSError):
        yield Part((source,))
        return
    rows, held = facts[:, 0], RECORD_BYTES * facts[:, 0] + options.keep_raw * facts[:, 1]
    if fault is not None or len(facts) < 2 or held.max() > RESULT_BYTES:  # noqa: PLR2004
        yield Part((source,))
        return
    first = row = 0
    while first < len(facts):
        fits = (np.cumsum(facts[first:, 1]) <= next(sizes)) & (np.cumsum(held[first:]) <= RESULT_BYTES)
        stop = first + max(int(fits.sum()), 1)
        yield Part((source,), line=row + 1, version=version, groups=range(first, stop))
        row += int(rows[first:stop].sum())
        first = stop


def read_parquet(request: ReadRequest) -> Iterator[Record]:
    """Yield the records of a Parquet file, or of the row groups that the request's part names."""
    source, options, progress = request.source, request.options, request.progress
    path, part = source.path or "", request.part or Part((source,))
    counted = end = 0  # Bytes of the file.
    try:
        part.check(path)
        with open_remote(path) if is_remote(path) else open(path, "rb") as stream:
            size = end = stream.seek(0, 2)
        with open_parquet(path) as file:
            names = file.schema_arrow.names
            if (fault := column_fault("the file", names, options)) is not None:
                yield Reject(Place(source.name, 0), fault, b"")
                return
            columns = [name for name in options.record_fields if name in names]
            if options.titles and names.count(TITLE) == 1 and pa.types.is_string(file.schema_arrow.field(TITLE).type):
                columns = list(dict.fromkeys((*columns, TITLE)))
            groups, start, total = range(file.metadata.num_row_groups), 0, max(file.metadata.num_rows, 1)
            if part.groups is not None:
                groups, start = part.groups, part.line - 1
                stop = start + sum(file.metadata.row_group(group).num_rows for group in groups)
                counted, end = size * start // total, size * stop // total
            for record, row in _rows(file, columns, Place(source.name, start), options, groups):
                before, counted = counted, size * row // total
                progress.bytes_read += counted - before
                yield record
        part.check(path)
    except (pa.ArrowException, OSError) as error:
        part.check(path)
        yield Reject(Place(source.name, 0), f"the file cannot be read as Parquet: {described(error)}", b"")
    finally:
        progress.bytes_read += end - counted


def _rows(
    file: pq.ParquetFile, columns: list[str], before: Place, options: InputOptions, groups: range
) -> Iterator[tuple[Record, int]]:
    """Yield the record of each row in some row groups, with the number of the row in the file.

    `before` is the file and the number of the row before them. Rows that cannot be read are one refusal, with the
    number of the last of them.
    """
    build = Builder(options).build
    name, start = before
    for group in groups:
        row, stop = start, start + file.metadata.row_group(group).num_rows
        try:
            for batch in batches(file, columns, group):
                for values in values_of(batch):
                    row += 1
                    place = Place(name, row)
                    if isinstance(values, str):
                        yield Reject(place, values, b""), row
                    else:
                        yield record_of(values, place, options, build), row
        except (pa.ArrowException, OSError) as error:
            reason = f"rows {row + 1} to {stop} cannot be read: {described(error)}"
            yield Reject(Place(name, row + 1), reason, b""), stop
        start = stop


def values_of(batch: pa.RecordBatch) -> Iterator[Row | str]:
    """Yield each row of a batch as a dictionary, or, if a value cannot be converted to Python, the reason as string."""
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
    """Return the document of a row, or its refusal.

    Values are converted to those of JSON, and bytes in text columns to strings: Hive, Impala and old Spark mark no
    column as a string.
    """
    raw = msgspec.json.encode(values, enc_hook=str)
    for name in options.kept_fields:
        if name in values:
            value = _as_text(values[name])
            if isinstance(value, bytes) and name in (options.agree_field, options.by_field):
                value = value.decode(errors="backslashreplace")  # A URL may have other bytes behind its host.
            values[name] = msgspec.to_builtins(value, enc_hook=str)
    codec = UTF8 if options.encoding == AUTO else checked_codec(options.encoding)
    for name in (options.id_name, options.source_field):
        if isinstance(value := values.get(name), bytes):
            try:
                values[name] = value.decode(codec)
            except UnicodeError as error:
                return Reject(place, f"the column {name!r}: {undecodable(error, codec)}", raw)
    return build(values, place, raw)


def _as_text(value: object) -> object:
    """Return bytes that are UTF-8 as a string, and any other value as it is."""
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return value.decode()
    return value


def described(error: BaseException) -> str:
    """Return the message of an error of pyarrow as one line, without passwords and without full stop at the end."""
    return " ".join(without_secrets(str(error)).split()).rstrip(".")


_GROUP_BYTES = 64 << 20
_OTHER_NAMES = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}


def schema_of(path: str) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the Arrow schema of a Parquet file, to compare it with another file's; None if the file cannot be read."""
    try:
        with open_parquet(path) as file:
            return file.schema_arrow
    except (pa.ArrowException, OSError):
        return None


def copy_rows(
    parts: Iterable[tuple[str, NDArray[np.int64]]],
    target: BinaryIO,
    show: Callable[[int], None],
    added: Mapping[str, NDArray[np.int64]],
) -> None:
    """Copy chosen rows of Parquet files into one file, and append columns of integers.

    `parts` has the path of each file with the numbers of its rows, ascending; `added` has each new column by name, one
    number for each row; `show` is called with the number of rows copied so far. Schema, metadata and the columns'
    codecs are those of the first file. A row group becomes one row group, or several of 64 MB, which is the memory
    held.
    """
    done, writer = 0, None
    with ExitStack() as stack:
        for path, rows in parts:
            try:
                with open_parquet(path) as file:
                    if writer is None:
                        codecs: str | dict[str, str] = "snappy"
                        if file.metadata.num_row_groups:
                            first = file.metadata.row_group(0)
                            columns = (first.column(number) for number in range(first.num_columns))
                            codecs = {
                                column.path_in_schema: _OTHER_NAMES.get(column.compression, column.compression)
                                for column in columns
                            }
                        schema = file.schema_arrow
                        for name in added:
                            schema = schema.append(pa.field(name, pa.int64()))
                        writer = stack.enter_context(pq.ParquetWriter(target, schema, compression=codecs))
                    for table in _groups(file, rows):
                        more = (pa.array(numbers[done : done + table.num_rows]) for numbers in added.values())
                        whole = pa.Table.from_arrays([*table.columns, *more], schema=schema)
                        writer.write_table(whole, row_group_size=table.num_rows)
                        done += table.num_rows
                        show(done)
            except (pa.ArrowException, OSError) as error:
                if isinstance(error, OSError) and error.filename == target.name:
                    raise  # The error is one of writing, not of reading.
                raise InvalidInput(f"{shown(path)}: rows to be kept cannot be copied: {described(error)}") from error


def read_rows(parts: Iterable[tuple[str, NDArray[np.int64]]]) -> Iterator[Row]:
    """Yield chosen rows of Parquet files as dictionaries of JSON values.

    `parts` has the path of each file with the numbers of its rows. Bytes become text or base64, times and decimals
    strings.
    """
    for path, rows in parts:
        try:
            with open_parquet(path) as file:
                for table in _groups(file, rows):
                    for batch in table.to_batches(1_000):
                        yield from _plain_rows(path, batch)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{shown(path)}: rows to be kept cannot be copied: {described(error)}") from error


def _plain_rows(path: str, batch: pa.RecordBatch) -> Iterator[Row]:
    for values in values_of(batch):
        if isinstance(values, str):
            raise InvalidInput(f"{shown(path)}: rows to be kept cannot be converted: {values}")
        # Hive, Impala and old Spark mark no column as a string.
        texts = {name: _as_text(value) for name, value in values.items()}
        yield msgspec.to_builtins(texts, enc_hook=str, str_keys=True)


def _groups(file: pq.ParquetFile, rows: NDArray[np.int64]) -> Iterator[pa.Table]:
    """Yield the chosen rows of a Parquet file as tables of bounded size; none has rows of two row groups."""
    start = 0
    for group in range(file.metadata.num_row_groups):
        stop = start + file.metadata.row_group(group).num_rows
        first, last = np.searchsorted(rows, (start, stop)).tolist()
        yield from joined(_taken(file, group, rows[first:last] - start))
        start = stop


def _taken(file: pq.ParquetFile, group: int, rows: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Yield the chosen rows of a row group, as one batch for each run of consecutive rows.

    Arrow's `take`, which would do it in one call, lacks some types.
    """
    at = first = 0
    if not len(rows):
        return
    for batch in batches(file, None, group):
        last = int(np.searchsorted(rows, at + len(batch)))
        for run in np.split(rows[first:last] - at, np.flatnonzero(np.diff(rows[first:last]) > 1) + 1):
            if len(run):
                yield batch.slice(int(run[0]), len(run))
        at, first = at + len(batch), last
        # After the last kept row there may be damage, which reading has refused.
        if first == len(rows):
            return


def joined(taken: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join record batches to tables of about 64 MB, and yield these."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in taken:
        held.append(batch)
        size += batch.nbytes
        if size >= _GROUP_BYTES:
            yield pa.Table.from_batches(held)
            held.clear()
            size = 0
    if held:
        yield pa.Table.from_batches(held)


def schema_of_rows(batches: Iterable[list[Row]]) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return an Arrow schema that fits rows given as dictionaries.

    Columns with JSON objects, or with values of several types, become strings.
    """
    kinds: dict[str, Any] = {}
    for rows in batches:
        for name in dict.fromkeys(name for row in rows for name in row):
            try:
                kind = pa.array([row.get(name) for row in rows]).type
            except (pa.ArrowException, OverflowError):  # Values of several types, and integers beyond 64 bits.
                kind = pa.string()
            kind = pa.string() if _has_objects(kind) else kind
            both = [pa.schema([("", each)]) for each in (kinds.get(name, kind), kind)]
            try:
                kinds[name] = pa.unify_schemas(both, promote_options="permissive").field(0).type
            except pa.ArrowException:  # No type holds the values of both.
                kinds[name] = pa.string()
    return pa.schema(list(kinds.items()))


def batch_of(rows: list[Row], schema: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return rows as an Arrow record batch with this schema; other values in string columns are written as JSON."""
    columns = []
    for column in schema:
        values: list[Any] = [row.get(column.name) for row in rows]
        if pa.types.is_string(column.type):
            values = [text_of(value) for value in values]
        elif pa.types.is_floating(column.type):
            values = [None if value is None else float(value) for value in values]
        columns.append(pa.array(values, column.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def written(file: BinaryIO, schema: Any, batches: Iterable[Any]) -> Iterator[int]:  # noqa: ANN401 - pyarrow has no types
    """Write record batches as a Parquet file; yield the number of rows in each row group, when it is written."""
    with pq.ParquetWriter(file, schema) as writer:
        for table in joined(batches):
            writer.write_table(table, row_group_size=table.num_rows)
            yield table.num_rows


def _has_objects(kind: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    return _has_objects(kind.value_type) if pa.types.is_list(kind) else pa.types.is_struct(kind)
