"""Streams of Arrow batches: read as far as decisions need it, on the disk where all is read before the first."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import tee
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simhash_hbase.index.answers import Decision
from simhash_hbase.tables.asked import Asked, Read
from simhash_hbase.tables.work import Decided, Work


class ArrowRows(NamedTuple):
    """Rows of a pyarrow Table."""

    table: pa.Table

    def taken(self, rows: NDArray[np.int64]) -> pa.Table:
        """Take rows."""
        try:
            return self.table.take(rows)
        except pa.ArrowNotImplementedError:
            # Some types, such as Polars' strings, can be sliced only.
            runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
            slices = [self.table.slice(int(run[0]), len(run)) for run in runs if len(run)]
            return pa.concat_tables(slices) if slices else self.table.slice(0, 0)

    def beside(self, marks: pa.Table) -> pa.Table:
        """Append columns."""
        table = self.table
        for field, column in zip(marks.schema, marks.columns, strict=True):
            table = table.append_column(field, column)
        return table


def stream(schema: pa.Schema, batches: Iterable[pa.RecordBatch], asked: Asked, work: Work) -> Iterator[pa.Table]:
    """Decide batches as the result is read."""
    with _readers(schema, batches, asked) as (ahead, behind):
        for batch, decided in _paired(behind, asked.decide(ahead)):
            yield work(ArrowRows(pa.Table.from_batches([batch])), decided)


@contextmanager
def _readers(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], asked: Asked
) -> Iterator[tuple[Read, Iterable[pa.RecordBatch]]]:
    """Read a stream twice: to decide, which runs ahead, and to give the rows back."""
    if not asked.rereads:
        ahead, behind = tee(batches)
        yield lambda: (batch.select(asked.columns) for batch in ahead), behind
        return
    with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder:
        path = Path(folder) / "rows.arrows"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

        def again() -> Iterator[pa.RecordBatch]:
            with pa.memory_map(str(path)) as mapped:
                yield from pa.ipc.open_stream(mapped)

        yield lambda: (batch.select(asked.columns) for batch in again()), again()


def _paired(
    batches: Iterable[pa.RecordBatch], decisions: Iterator[tuple[int, Decision]]
) -> Iterator[tuple[pa.RecordBatch, Decided]]:
    """Put to each batch the decisions on its rows."""
    start, held = 0, next(decisions, None)
    for batch in batches:
        decided: list[Decision | None] = [None] * len(batch)
        while held is not None and held[0] < start + len(batch):
            decided[held[0] - start] = held[1]
            held = next(decisions, None)
        start += len(batch)
        yield batch, decided


def batches_of(tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Take tables apart."""
    for table in tables:
        yield from table.to_batches()
