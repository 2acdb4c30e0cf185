"""Parquet of rows that come as JSON: each column gets the type that its values have."""

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, BinaryIO

from simhash_hbase.inputs.fields import text_of
from simhash_hbase.inputs.parquet.parquetcopy import joined
from simhash_hbase.inputs.parquet.parquetfile import Row, pa, pq

_NUMBERS_WITHOUT_TYPE = (pa.ArrowException, OverflowError)


def schema_of_rows(batches: Iterable[list[Row]]) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the columns of rows; those of objects, or of values of several types, are strings."""
    kinds: dict[str, Any] = {}
    for rows in batches:
        for name in dict.fromkeys(name for row in rows for name in row):
            kind = _kind([row.get(name) for row in rows])
            kinds[name] = _common(kinds.get(name, kind), kind)
    return pa.schema(list(kinds.items()))


def batch_of(rows: list[Row], schema: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Make columns of rows; what is no string in a column of strings is written as JSON."""
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
    """Write batches; yields the number of rows of each row group."""
    with pq.ParquetWriter(file, schema) as writer:
        for table in joined(batches):
            writer.write_table(table, row_group_size=table.num_rows)
            yield table.num_rows


def _kind(values: list[object]) -> Any:  # noqa: ANN401 - pyarrow has no types
    try:
        kind = pa.array(values).type
    except _NUMBERS_WITHOUT_TYPE:
        return pa.string()
    return pa.string() if _has_objects(kind) else kind


def _has_objects(kind: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    return _has_objects(kind.value_type) if pa.types.is_list(kind) else pa.types.is_struct(kind)


def _common(one: Any, other: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the type that holds the values of both."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if pa.types.is_list(one) and pa.types.is_list(other):
        inner = [one.value_type, other.value_type]
        # Strings in one list and numbers in another are no list of strings.
        value = reduce(_common, inner)
        return pa.list_(value) if value in inner else pa.string()
    numbers = {one, other}
    return pa.float64() if numbers == {pa.int64(), pa.float64()} else pa.string()
