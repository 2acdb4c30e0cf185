"""Some rows of Parquet files, copied into a file like them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidInput
from simhash_hbase.files.remote import shown
from simhash_hbase.inputs.parquet.parquetfile import Row, batches, described, open_parquet, pa, pq, values_of

_GROUP_BYTES = 64 << 20
_OTHER_NAMES = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}


def schema_of(path: str) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the columns of a file, to be compared with another's; None where it cannot be read as Parquet."""
    try:
        with open_parquet(path) as file:
            return file.schema_arrow
    except (pa.ArrowException, OSError):
        return None


def copy_rows(parts: Iterable[tuple[str, NDArray[np.int64]]], target: str, show: Callable[[int], None]) -> None:
    """Copy rows.

    Schema, its metadata and the columns' codecs are those of the first file. A row group becomes one row group, or
    several of 64 MB, which is the memory held.
    """
    done, writer = 0, None
    with ExitStack() as stack:
        for path, rows in parts:
            try:
                with open_parquet(path) as file:
                    writer = writer or stack.enter_context(_writer(file, target))
                    for table in _groups(file, rows):
                        writer.write_table(table, row_group_size=table.num_rows)
                        done += table.num_rows
                        show(done)
            except (pa.ArrowException, OSError) as error:
                raise InvalidInput(f"{shown(path)}: rows to be kept cannot be copied: {described(error)}") from error


def read_rows(parts: Iterable[tuple[str, NDArray[np.int64]]]) -> Iterator[Row]:
    """Read rows as values that JSON has: bytes as text or base64, times and decimals as strings."""
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
        for name, value in values.items():
            if isinstance(value, bytes):
                # Hive, Impala and old Spark mark no column as a string.
                with suppress(UnicodeDecodeError):
                    values[name] = value.decode()
        yield msgspec.to_builtins(values, enc_hook=str, str_keys=True)


def _writer(file: pq.ParquetFile, target: str) -> pq.ParquetWriter:
    return pq.ParquetWriter(target, file.schema_arrow, compression=_codecs(file.metadata))


def _codecs(metadata: pq.FileMetaData) -> dict[str, str] | str:
    if not metadata.num_row_groups:
        return "snappy"
    first = metadata.row_group(0)
    columns = (first.column(number) for number in range(first.num_columns))
    return {column.path_in_schema: _OTHER_NAMES.get(column.compression, column.compression) for column in columns}


def _groups(file: pq.ParquetFile, rows: NDArray[np.int64]) -> Iterator[pa.Table]:
    """Yield what is kept of each row group, in parts of bounded size."""
    start = 0
    for group in range(file.metadata.num_row_groups):
        stop = start + file.metadata.row_group(group).num_rows
        first, last = np.searchsorted(rows, (start, stop)).tolist()
        yield from joined(_taken(file, group, rows[first:last] - start))
        start = stop


def _taken(file: pq.ParquetFile, group: int, rows: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Yield runs of rows as slices, which every type has; Arrow's `take` lacks some types."""
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
    """Join batches to tables of 64 MB."""
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
