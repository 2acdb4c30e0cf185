"""What becomes of rows with decisions: some are dropped, or all are marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.answers import Decision

MARKS = pa.schema(
    [("duplicate_of", pa.string()), ("distance", pa.int64()), ("similarity", pa.float64()), ("cluster", pa.string())]
)

Decided = Sequence[Decision | None]  # One a row; None for a refused row.


class Rows(Protocol):
    """Some rows of a table, in the type of that."""

    def taken(self, rows: NDArray[np.int64]) -> Any:  # noqa: ANN401 - the type of the table
        """Return some of the rows."""

    def beside(self, marks: pa.Table) -> Any:  # noqa: ANN401 - the type of the table
        """Return all rows with more columns."""


class Work(Protocol):
    """What is done with rows."""

    def __call__(self, rows: Rows, decided: Decided) -> Any:  # noqa: ANN401 - the type of the table
        """Do it."""

    def schema(self, of: pa.Schema) -> pa.Schema:
        """Return the columns of the result."""


@dataclass(frozen=True)
class Dropped:
    """Leaves out duplicates, and refused rows unless they are kept."""

    keeps_refused: bool

    def __call__(self, rows: Rows, decided: Decided) -> Any:  # noqa: ANN401 - the type of the table
        """Return the rows that stay."""
        kept = [at for at, one in enumerate(decided) if (self.keeps_refused if one is None else one.is_original)]
        return rows.taken(np.array(kept, np.int64))

    def schema(self, of: pa.Schema) -> pa.Schema:
        """Return the same columns."""
        return of


class Marked:
    """Adds what was decided."""

    def __call__(self, rows: Rows, decided: Decided) -> Any:  # noqa: ANN401 - the type of the table
        """Return all rows with more columns."""
        values = [
            (d.of, d.distance, d.similarity, d.of or d.id) if d is not None else (None,) * len(MARKS) for d in decided
        ]
        columns = [[row[at] for row in values] for at in range(len(MARKS))]
        return rows.beside(pa.table(columns, schema=MARKS))

    def schema(self, of: pa.Schema) -> pa.Schema:
        """Return all columns; refuse names that are taken."""
        if taken := set(of.names) & set(MARKS.names):
            raise InvalidArgument(f"the table has a column {min(taken)!r} already: rename that")
        return pa.schema([*of, *MARKS], metadata=of.metadata)
