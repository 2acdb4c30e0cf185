"""The types of tables, each read as Arrow batches and given back in its own type; their libraries are not imported."""

import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice, tee
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.tables.request import Read, RowBatch, TableRequest

T = TypeVar("T")


def give_back(rows: "ArrowRows | _WholeTable", results: Sequence[T | None], request: TableRequest[T]) -> Any:  # noqa: ANN401 - the type of the table
    """Return the rows that stay, or, if the request adds columns, all rows with their results in these.

    `results` has one for each row, None for a refused row, whose added columns are null.
    """
    if request.added is None:
        kept = [at for at, result in enumerate(results) if request.keeps(result)]
        return rows.taken(np.array(kept, np.int64))
    values = [[None] * len(request.added) if result is None else request.values(result) for result in results]
    columns = [[row[at] for row in values] for at in range(len(request.added))]
    return rows.beside(pa.table(columns, schema=request.added))


def result_schema(schema: pa.Schema, request: TableRequest[Any]) -> pa.Schema:
    """Return the columns of a request's result; raise where the table lacks a needed column or has an added one."""
    request.check(schema)
    if request.added is None:
        return schema
    if taken := set(schema.names) & set(request.added.names):
        raise InvalidArgument(f"the table has a column {min(taken)!r} already: rename that")
    return pa.schema([*schema, *request.added], metadata=schema.metadata)


class ArrowRows(NamedTuple):
    """Rows of a pyarrow Table, to be selected or to get more columns."""

    table: pa.Table

    def taken(self, rows: NDArray[np.int64]) -> pa.Table:
        """Return a table of the rows at these positions."""
        try:
            return self.table.take(rows)
        except pa.ArrowNotImplementedError:
            # Some types, such as Polars' strings, can be sliced only.
            runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
            slices = [self.table.slice(int(run[0]), len(run)) for run in runs if len(run)]
            return pa.concat_tables(slices) if slices else self.table.slice(0, 0)

    def beside(self, marks: pa.Table) -> pa.Table:
        """Return the table with the columns of `marks` after its own."""
        table = self.table
        for field, column in zip(marks.schema, marks.columns, strict=True):
            table = table.append_column(field, column)
        return table


def stream(schema: pa.Schema, batches: Iterable[pa.RecordBatch], request: TableRequest[T]) -> Iterator[pa.Table]:
    """Yield for each record batch, as it is read, a table with the results of its rows; see `give_back`."""
    with _readers(schema, batches, request) as (ahead, behind):
        results, start = request.results(ahead), 0
        following = next(results, None)
        for batch in behind:
            of_batch: list[T | None] = [None] * len(batch)
            while following is not None and following[0] < start + len(batch):
                of_batch[following[0] - start] = following[1]
                following = next(results, None)
            start += len(batch)
            yield give_back(ArrowRows(pa.Table.from_batches([batch])), of_batch, request)


@contextmanager
def _readers(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], request: TableRequest[Any]
) -> Iterator[tuple[Read, Iterable[pa.RecordBatch]]]:
    """Yield two readers of a stream: one for the request, which runs ahead, and one for the rows to be given back.

    If the request reads all rows before its first result, they are kept in a temporary file.
    """
    if not request.rereads:
        ahead, behind = tee(batches)
        yield lambda: (batch.select(request.columns) for batch in ahead), behind
        return
    with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder:
        path = Path(folder) / "rows.arrows"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

        def again() -> Iterator[pa.RecordBatch]:
            with pa.memory_map(str(path)) as mapped:
                yield from pa.ipc.open_stream(mapped)

        yield lambda: (batch.select(request.columns) for batch in again()), again()


BATCH_ROWS = 1_000


class _WholeTable(NamedTuple):
    """A table that is no stream, with functions that read columns, select rows and add columns in its own type."""

    schema: pa.Schema
    rows: int
    read: Callable[[list[str]], Iterable[RowBatch]]
    taken: Callable[[NDArray[np.int64]], Any]
    beside: Callable[[pa.Table], Any]


def apply(table: Any, request: TableRequest[T]) -> Any:  # noqa: ANN401 - of the type of the table
    """Return the result of a request about a table, in the table's own type: with fewer rows, or with more columns."""
    kinds = [(each.__module__.partition(".")[0], each.__name__) for each in type(table).__mro__]
    # For a subclass, such as geopandas' frames, library and name of the type that it extends.
    library, kind = next((kind for kind in kinds if kind in _WHOLE), kinds[0])
    if (library, kind) == ("polars", "LazyFrame"):
        return apply(table.collect(), request).lazy()
    if (library, kind) == ("datasets", "IterableDataset"):
        return _iterable(table, request)
    if make := _WHOLE.get((library, kind)):
        whole = make(table)
        result_schema(whole.schema, request)
        results: list[T | None] = [None] * whole.rows
        for row, result in request.results(lambda: whole.read(request.columns), whole.rows):
            results[row] = result
        return give_back(whole, results, request)
    # Until the stream of a relation is read, its connection answers nothing else.
    if isinstance(table, pa.RecordBatch) or kind == "DuckDBPyRelation":
        return apply(pa.table(table), request)
    # A column speaks Arrow, too, but is no table.
    if hasattr(table, "__arrow_c_stream__") and not isinstance(table, pa.ChunkedArray) and kind != "Series":
        reader = pa.RecordBatchReader.from_stream(table)
        schema = result_schema(reader.schema, request)
        batches = chain.from_iterable(some.to_batches() for some in stream(reader.schema, reader, request))
        return pa.RecordBatchReader.from_batches(schema, batches)
    raise InvalidArgument(
        f"a {library}.{kind} is no table: wanted one of pyarrow, Polars, pandas, DuckDB or datasets, "
        "a list of dictionaries or of strings, or what exports an Arrow stream"
    )


def _arrow(table: pa.Table) -> _WholeTable:
    rows = ArrowRows(table)
    return _WholeTable(
        table.schema, len(table), lambda columns: _sliced(table.select(columns)), rows.taken, rows.beside
    )


def _polars(frame: Any) -> _WholeTable:  # noqa: ANN401 - polars is not imported
    def read(columns: list[str]) -> Iterator[RowBatch]:
        try:
            return _sliced(pa.table(frame.select(columns)))
        except pa.ArrowException as error:
            raise InvalidArgument(f"a column has a type that pyarrow does not know: {error}") from error

    return _WholeTable(
        pa.schema([(name, pa.null()) for name in frame.columns]),
        len(frame),
        read,
        lambda rows: frame[rows],
        lambda marks: frame.hstack(type(frame)(marks)),
    )


def _pandas(frame: Any) -> _WholeTable:  # noqa: ANN401 - pandas is not imported
    def read(columns: list[str]) -> Iterator[RowBatch]:
        with _of_one_type((name, frame[name]) for name in columns):
            return _sliced(pa.Table.from_pandas(frame[columns], preserve_index=False))

    def beside(marks: pa.Table) -> Any:  # noqa: ANN401 - pandas is not imported
        # pandas' own integers and truth values have no null.
        library = sys.modules["pandas"]
        types = {pa.int64(): library.Int64Dtype(), pa.bool_(): library.BooleanDtype()}
        made = marks.to_pandas(types_mapper=types.get)
        return frame.assign(**{name: made[name].array for name in made})

    return _WholeTable(
        # Columns may have other names than strings, which nobody can ask for.
        pa.schema([(name, pa.null()) for name in frame.columns if isinstance(name, str)]),
        len(frame),
        read,
        lambda rows: frame.iloc[rows],
        beside,
    )


def _list(given: list[Any]) -> _WholeTable:
    """Return a list as a table: dictionaries are its rows, and so are strings, in one column named ``text``."""
    rows = [{"text": item} if isinstance(item, str) else item for item in given]
    if not all(isinstance(row, Mapping) for row in rows) or len({isinstance(item, str) for item in given}) > 1:
        kinds = " and ".join(sorted({type(item).__name__ for item in given}))
        raise InvalidArgument(f"a list of {kinds} is no table: wanted dictionaries or strings")
    names = dict.fromkeys(name for row in rows for name in row if isinstance(name, str)) or {"text": None}

    def read(columns: list[str]) -> Iterator[RowBatch]:
        values = {name: [row.get(name) for row in rows] for name in columns}
        with _of_one_type(values.items()):
            return _sliced(pa.table({name: pa.array(column) for name, column in values.items()}))

    return _WholeTable(
        pa.schema([(name, pa.null()) for name in names]),
        len(rows),
        read,
        lambda chosen: [given[at] for at in chosen.tolist()],
        lambda marks: [{**row, **more} for row, more in zip(rows, marks.to_pylist(), strict=True)],
    )


@contextmanager
def _of_one_type(columns: Iterable[tuple[str, Iterable[Any]]]) -> Iterator[None]:
    """Raise `InvalidArgument` in place of pyarrow's errors about columns of Python objects, within the block."""
    try:
        yield
    except pa.ArrowException as error:
        reason = ": ".join(map(str, reversed(error.args)))
        raise InvalidArgument(f"a column has values of several types: {reason}") from error
    except UnicodeError as error:
        for name, column in columns:
            for row, value in enumerate(column, 1):
                if isinstance(value, str) and not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
                    raise InvalidArgument(
                        f"row {row} of the column {name!r} is not Unicode text, it has half of a surrogate pair:"
                        f" {value[:40]!r}; value.encode(errors='replace').decode() replaces that"
                    ) from error
        raise InvalidArgument(f"a column has a string that is not Unicode text: {error}") from error


def _dataset(dataset: Any) -> _WholeTable:  # noqa: ANN401 - datasets is not imported
    library = sys.modules["datasets"]
    return _WholeTable(
        dataset.features.arrow_schema,
        len(dataset),
        lambda columns: dataset.select_columns(columns).with_format("arrow").iter(BATCH_ROWS),
        dataset.select,
        lambda marks: library.concatenate_datasets([dataset, library.Dataset(marks)], axis=1),
    )


def _iterable(dataset: Any, request: TableRequest[Any]) -> Any:  # noqa: ANN401 - datasets is not imported
    """Return a Hugging Face iterable data set with the request's results, computed anew each time it is read."""
    library = sys.modules["datasets"]
    try:
        dataset = dataset if dataset.features else dataset._resolve_features()
    except StopIteration as error:
        raise InvalidArgument("the data set has neither rows nor features, so its columns are unknown") from error
    features, given = dataset.features, dataset.features.arrow_schema
    schema = result_schema(given, request)

    def batches() -> Iterator[pa.RecordBatch]:
        rows = iter(dataset.with_format("arrow").iter(1))
        # datasets gives each row its type, but does not join rows of which some have a null.
        while some := list(islice(rows, BATCH_ROWS)):
            yield from pa.concat_tables(some).combine_chunks().to_batches()

    def tables() -> Iterator[tuple[int, pa.Table]]:
        return enumerate(stream(given, batches(), request))

    more = library.Features.from_arrow_schema(pa.schema([schema.field(n) for n in schema.names if n not in features]))
    return library.IterableDataset(
        library.iterable_dataset.ArrowExamplesIterable(tables, {}),
        info=library.DatasetInfo(features=library.Features({**features, **more})),
        split=dataset.split,
    )


def _sliced(table: pa.Table) -> Iterator[RowBatch]:
    yield from table.to_reader(max_chunksize=BATCH_ROWS)


_WHOLE: dict[tuple[str, str], Callable[[Any], _WholeTable]] = {
    ("pyarrow", "Table"): _arrow,
    ("polars", "DataFrame"): _polars,
    ("pandas", "DataFrame"): _pandas,
    ("datasets", "Dataset"): _dataset,
    ("builtins", "list"): _list,
}
