"""What a caller asks about a table: its columns, the records of its rows, and the rows that are refused."""

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

import pyarrow as pa

from simhash_hbase.api import open_index
from simhash_hbase.errors import InvalidArgument, Retryable, SimhashError
from simhash_hbase.index.index import Index
from simhash_hbase.inputs import DOCUMENT_BYTES, Document, InputOptions, Place, Record, Reject
from simhash_hbase.inputs.meter import Metering, silent
from simhash_hbase.inputs.parquet import record_of, values_of
from simhash_hbase.inputs.records import Builder, listed
from simhash_hbase.stores.addresses import Address
from simhash_hbase.tables.progress import show_progress

T = TypeVar("T")

# Bytes are read as UTF-8: some writers mark no column as a string. A column without any value has the type null.
_TEXTS = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_null,
)


def check_type(name: str, kind: pa.DataType, *, integers: bool) -> None:
    """Raise `InvalidArgument` unless a column holds strings, or, where `integers` allows them as ids, integers."""
    values = _values(kind)
    if any(is_it(values) for is_it in _TEXTS) or (integers and pa.types.is_integer(values)):
        return
    kinds = "strings or integers" if integers else "strings"
    floats = "; pandas makes floats of integers with gaps: convert them by astype('Int64')"
    advice = floats if integers and pa.types.is_floating(values) else ""
    if integers and (pa.types.is_decimal(values) or kind != values):
        advice = "; convert them to strings"
    raise InvalidArgument(f"the column {name!r} is of type {kind}: wanted {kinds}{advice}")


def _values(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values: of an encoded column or an extension type, the type underneath."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _values(kind.value_type)
    return _values(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind


RowBatch = Any  # A pyarrow RecordBatch or Table.
Read = Callable[[], Iterable[RowBatch]]


_PACKAGE = f"{__name__.partition('.')[0]}."


class RefusedRows(UserWarning):
    """Warns of rows that have no decision, or no passages: a text is missing or empty, or an id came before."""


class Refused:
    """Counts rows that cannot be worked on, such as those without a text, to warn of them at the end.

    If the caller wants an error, it raises one at the first such row.
    """

    def __init__(self, lack: str, *, advice: str | None = None) -> None:
        self._count, self._first = 0, ""
        self._lack = lack
        self._advice = advice

    def add(self, reject: Reject) -> None:
        """Count a row that cannot be worked on; raise `InvalidArgument` instead if the caller wants an error."""
        reason = f"row {reject.place.line}: {reject.reason}"
        if self._advice is not None:
            raise InvalidArgument(f"{reason}; {self._advice}")
        self._count += 1
        self._first = self._first or reason

    def results(self, outcomes: Iterable[tuple[Document, T | SimhashError]]) -> Iterator[tuple[int, T]]:
        """Yield row numbers with results, from documents with results or errors.

        An error that may be retried is raised; any other one refuses its row.
        """
        for document, outcome in outcomes:
            if not isinstance(outcome, SimhashError):
                yield document.place.line, outcome
            elif isinstance(outcome, Retryable):
                raise outcome
            else:
                self.add(Reject(document.place, str(outcome), b""))

    def warn(self) -> None:
        """Warn once of all counted rows, as if at the line of the caller's program that called this package."""
        if not self._count:
            return
        frame, level = sys._getframe(), 1
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
            frame, level = frame.f_back, level + 1
        rows = "row has" if self._count == 1 else "rows have"
        warnings.warn(f"{self._count:,} {rows} no {self._lack}; {self._first}", RefusedRows, stacklevel=level)


def check_number(name: str, number: object) -> None:
    """Raise `InvalidArgument` unless an option is an integer of at least 1."""
    if not isinstance(number, int) or number < 1:
        raise InvalidArgument(f"{name} is {number!r}: wanted a number from 1")


def opened(index: Index | Address, *, readonly: bool = False) -> AbstractContextManager[Index]:
    """Return a block with an index: one at an address is closed at its end, one that the caller opened stays open."""
    return nullcontext(index) if isinstance(index, Index) else open_index(index, readonly=readonly)


class TableRequest(ABC, Generic[T]):
    """One call with a table, such as `mark_passages`: its columns and options, and the results for the rows.

    All that does not depend on the table is checked on construction.
    """

    added: pa.Schema | None = None
    """The columns that all rows get; None: rows are left out."""
    rereads = False
    """Whether all rows are read before the first result."""
    _names: Sequence[str] = ()  # All columns of the table.

    def __init__(
        self,
        text: str,
        id: str | None,
        index: Index | Address | None,
        *,
        max_document_bytes: int = DOCUMENT_BYTES,
        progress: bool = False,
    ) -> None:
        self.text = text
        self.id = id
        self.index = index
        self.meter: Metering = show_progress if progress else silent
        self.max_document_bytes = max_document_bytes
        check_number("max_document_bytes", max_document_bytes)
        for name, column in (("text", text), ("id", id)):
            if not isinstance(column, str) and (name, column) != ("id", None):
                raise InvalidArgument(f"{name} is {column!r}: wanted the name of a column")

    @abstractmethod
    def input_options(self, id_field: str) -> InputOptions:
        """Return the options that read rows as records with the id in the field `id_field`."""

    @abstractmethod
    def results(self, read: Read, rows: int | None = None) -> Iterator[tuple[int, T]]:
        """Yield row numbers, ascending, with the results for them; a warning at the end counts the rows without one.

        `read` returns the table's batches anew at each call; `rows` is their number of rows, None if it is not known.
        """

    @abstractmethod
    def values(self, result: T) -> Sequence[object]:
        """Return the values of a result for the columns that are added to its row."""

    def keeps(self, result: T | None) -> bool:
        """Return whether a row stays in a request that adds no columns; for a refused row the result is None."""
        return True

    @property
    def _id_field(self) -> str:
        """The field of a record that has the row's id: a column's name, or a made-up one for the row's number."""
        return f"number of {self.text}" if self.id is None else self.id

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns that the request reads."""
        fields = self.input_options(self._id_field).record_fields
        return [name for name in fields if self.id is not None or name != self._id_field]

    def check(self, schema: pa.Schema) -> None:
        """Raise `InvalidArgument` for a table that lacks a column of the request, or has one of another type."""
        self._names = self._names or schema.names
        for name in self.columns:
            if name not in schema.names:
                raise InvalidArgument(f"the table has no column {name!r}; it has {listed(schema.names)}")
            if schema.names.count(name) > 1:
                raise InvalidArgument(f"the table has the column {name!r} twice: rename one")
            if name in (self.text, self.id):
                check_type(name, schema.field(name).type, integers=name != self.text)

    def records(self, name: str, read: Read, rows: int | None) -> Iterator[Record]:
        """Yield the rows as records (documents and refused rows) with a meter of how many of `rows` are read.

        `name` is the meter's.
        """
        options = self.input_options(self._id_field)
        build, row = Builder(options).build, 0
        with self.meter(name, rows, noun="rows") as meter:
            for batch in read():
                # The types of a data frame are known from here only.
                self.check(batch.schema)
                for values in values_of(batch):
                    place = Place("row", row)
                    if isinstance(values, str):
                        yield Reject(place, values, b"")
                    else:
                        if self.id is None:
                            values[self._id_field] = row
                        yield record_of(values, place, options, build)
                    row += 1
                    meter.show(row, row)
