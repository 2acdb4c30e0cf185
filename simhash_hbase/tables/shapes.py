"""The types of tables, each read as Arrow batches and given back as its own; no library of theirs is imported."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.answers import Decision
from simhash_hbase.tables.asked import Asked, Batch
from simhash_hbase.tables.streams import ArrowRows, batches_of, stream
from simhash_hbase.tables.work import Work

BATCH_ROWS = 1_000


class _Whole(NamedTuple):
    """A table whose rows are all there, with what reads, takes and adds columns in its own type."""

    schema: pa.Schema
    rows: int
    read: Callable[[list[str]], Iterable[Batch]]
    taken: Callable[[NDArray[np.int64]], Any]
    beside: Callable[[pa.Table], Any]


def apply(table: Any, asked: Asked, work: Work) -> Any:  # noqa: ANN401 - of the type of the table
    """Decide the rows of a table, and give back what becomes of them."""
    library, kind = _kind(type(table))
    if (library, kind) == ("polars", "LazyFrame"):
        return apply(table.collect(), asked, work).lazy()
    if (library, kind) == ("datasets", "IterableDataset"):
        return _iterable(table, asked, work)
    if whole := _WHOLE.get((library, kind)):
        return _in_one(whole(table), asked, work)
    # Until the stream of a relation is read, its connection answers nothing else.
    if isinstance(table, pa.RecordBatch) or kind == "DuckDBPyRelation":
        return apply(pa.table(table), asked, work)
    # A column speaks Arrow, too, but is no table.
    if hasattr(table, "__arrow_c_stream__") and not isinstance(table, pa.ChunkedArray) and kind != "Series":
        return _lazily(pa.RecordBatchReader.from_stream(table), asked, work)
    raise InvalidArgument(
        f"a {library}.{kind} is no table: wanted one of pyarrow, Polars, pandas, DuckDB or datasets, "
        "a list of dictionaries or of strings, or what exports an Arrow stream"
    )


def _kind(given: type) -> tuple[str, str]:
    """Name library and type; of a subclass, such as geopandas' frames, those of the type that it extends."""
    kinds = [(each.__module__.partition(".")[0], each.__name__) for each in given.__mro__]
    return next((kind for kind in kinds if kind in _WHOLE), kinds[0])


def _in_one(whole: _Whole, asked: Asked, work: Work) -> Any:  # noqa: ANN401 - of the type of the table
    asked.check(whole.schema)
    work.schema(whole.schema)
    decided: list[Decision | None] = [None] * whole.rows
    for row, decision in asked.decide(partial(whole.read, asked.columns)):
        decided[row] = decision
    return work(whole, decided)


def _lazily(reader: pa.RecordBatchReader, asked: Asked, work: Work) -> pa.RecordBatchReader:
    asked.check(reader.schema)
    schema = work.schema(reader.schema)
    return pa.RecordBatchReader.from_batches(schema, batches_of(stream(reader.schema, reader, asked, work)))


def _arrow(table: pa.Table) -> _Whole:
    rows = ArrowRows(table)
    return _Whole(table.schema, len(table), lambda columns: _sliced(table.select(columns)), rows.taken, rows.beside)


def _polars(frame: Any) -> _Whole:  # noqa: ANN401 - polars is not imported
    return _Whole(
        pa.schema([(name, pa.null()) for name in frame.columns]),
        len(frame),
        lambda columns: _sliced(_exported(frame.select(columns))),
        lambda rows: frame[rows],
        lambda marks: frame.hstack(type(frame)(marks)),
    )


def _exported(frame: Any) -> pa.Table:  # noqa: ANN401 - polars is not imported
    try:
        return pa.table(frame)
    except pa.ArrowException as error:
        raise InvalidArgument(f"a column has a type that pyarrow does not know: {error}") from error


def _pandas(frame: Any) -> _Whole:  # noqa: ANN401 - pandas is not imported
    def read(columns: list[str]) -> Iterator[Batch]:
        with _of_one_type():
            return _sliced(pa.Table.from_pandas(frame[columns], preserve_index=False))

    def beside(marks: pa.Table) -> Any:  # noqa: ANN401 - pandas is not imported
        # pandas' integers have no null.
        made = marks.to_pandas(types_mapper={pa.int64(): sys.modules["pandas"].Int64Dtype()}.get)
        return frame.assign(**{name: made[name].array for name in made})

    return _Whole(
        # Columns may have other names than strings, which nobody can ask for.
        pa.schema([(name, pa.null()) for name in frame.columns if isinstance(name, str)]),
        len(frame),
        read,
        lambda rows: frame.iloc[rows],
        beside,
    )


def _list(given: list[Any]) -> _Whole:
    """Take dictionaries for rows, and strings for rows of a column called text."""
    rows = [{"text": item} if isinstance(item, str) else item for item in given]
    if not all(isinstance(row, Mapping) for row in rows) or len({isinstance(item, str) for item in given}) > 1:
        kinds = " and ".join(sorted({type(item).__name__ for item in given}))
        raise InvalidArgument(f"a list of {kinds} is no table: wanted dictionaries or strings")
    names = dict.fromkeys(name for row in rows for name in row if isinstance(name, str)) or {"text": None}

    def read(columns: list[str]) -> Iterator[Batch]:
        with _of_one_type():
            return _sliced(pa.table({name: pa.array([row.get(name) for row in rows]) for name in columns}))

    return _Whole(
        pa.schema([(name, pa.null()) for name in names]),
        len(rows),
        read,
        lambda chosen: [given[at] for at in chosen.tolist()],
        lambda marks: [{**row, **more} for row, more in zip(rows, marks.to_pylist(), strict=True)],
    )


@contextmanager
def _of_one_type() -> Iterator[None]:
    """Translate what pyarrow says of a column of Python's own objects."""
    try:
        yield
    except pa.ArrowException as error:
        reason = ": ".join(map(str, reversed(error.args)))
        raise InvalidArgument(f"a column has values of several types: {reason}") from error
    except UnicodeError as error:
        raise InvalidArgument(f"a column has a string that is not Unicode text: {error}") from error


def _dataset(dataset: Any) -> _Whole:  # noqa: ANN401 - datasets is not imported
    library = sys.modules["datasets"]
    return _Whole(
        dataset.features.arrow_schema,
        len(dataset),
        lambda columns: dataset.select_columns(columns).with_format("arrow").iter(BATCH_ROWS),
        dataset.select,
        lambda marks: library.concatenate_datasets([dataset, library.Dataset(marks)], axis=1),
    )


def _iterable(dataset: Any, asked: Asked, work: Work) -> Any:  # noqa: ANN401 - datasets is not imported
    """Decide when the result is iterated, each time anew."""
    library = sys.modules["datasets"]
    dataset = _typed(dataset)
    features = dataset.features
    asked.check(features.arrow_schema)
    schema = work.schema(features.arrow_schema)

    def tables() -> Iterator[tuple[int, pa.Table]]:
        return enumerate(stream(features.arrow_schema, _joined(dataset.with_format("arrow").iter(1)), asked, work))

    more = library.Features.from_arrow_schema(pa.schema([schema.field(n) for n in schema.names if n not in features]))
    return library.IterableDataset(
        library.iterable_dataset.ArrowExamplesIterable(tables, {}),
        info=library.DatasetInfo(features=library.Features({**features, **more})),
        split=dataset.split,
    )


def _typed(dataset: Any) -> Any:  # noqa: ANN401 - datasets is not imported
    """Infer the features where a data set has none."""
    try:
        return dataset if dataset.features else dataset._resolve_features()
    except StopIteration as error:
        raise InvalidArgument("the data set has neither rows nor features, so its columns are unknown") from error


def _joined(rows: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Join tables of one row: datasets gives each row its type, but does not join rows of which some have a null."""
    while some := list(islice(rows, BATCH_ROWS)):
        yield from pa.concat_tables(some).combine_chunks().to_batches()


def _sliced(table: pa.Table) -> Iterator[Batch]:
    yield from table.to_reader(max_chunksize=BATCH_ROWS)


_WHOLE: dict[tuple[str, str], Callable[[Any], _Whole]] = {
    ("pyarrow", "Table"): _arrow,
    ("polars", "DataFrame"): _polars,
    ("pandas", "DataFrame"): _pandas,
    ("datasets", "Dataset"): _dataset,
    ("builtins", "list"): _list,
}
