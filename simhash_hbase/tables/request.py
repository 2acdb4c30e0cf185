"""A caller's request about a table, and the decisions on its rows."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any, Literal, get_args

import pyarrow as pa

from simhash_hbase import corpus
from simhash_hbase.api import open_index, temporary_index
from simhash_hbase.corpus.ranking import RankedDocuments
from simhash_hbase.errors import InvalidArgument, Retryable
from simhash_hbase.features.chunks import analyse, whole_chunk
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.arguments import BATCH_DOCUMENTS, document_batches
from simhash_hbase.index.exact import judging
from simhash_hbase.index.index import Index
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.inputs import DOCUMENT_BYTES, Document, InputOptions, Place, Preference, Record, Reject
from simhash_hbase.inputs.meter import Metering, silent
from simhash_hbase.inputs.parquet import record_of, values_of
from simhash_hbase.inputs.records import Builder, came_before, listed
from simhash_hbase.profile.defaults import check_share
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.names import checked_batch
from simhash_hbase.stores.addresses import Address
from simhash_hbase.tables.progress import show_progress

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
    """Raise `InvalidArgument` where a column holds no strings, nor integers where these are ids."""
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
    """Return the type of the values behind an encoding or an extension."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _values(kind.value_type)
    return _values(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind


RowBatch = Any  # A pyarrow RecordBatch or Table.
Read = Callable[[], Iterable[RowBatch]]
Unreadable = Literal["raise", "keep", "drop"]


def check_unreadable(unreadable: str) -> None:
    """Raise `InvalidArgument` unless the treatment of documents that cannot be decided is a known one."""
    if unreadable not in get_args(Unreadable):
        raise InvalidArgument(f"unreadable is {unreadable!r}: wanted 'raise', 'keep' or 'drop'")


def _first_ones(records: Iterable[Record], refused: "_Refused") -> Iterator[Document]:
    """Yield the documents whose ids have not come before; refuse the others."""
    unique_ids = corpus.documents.UniqueIds(refused.add, reason=_repeated_row)
    for record in records:
        if isinstance(record, Reject):
            refused.add(record)
        elif unique_ids.passes(record):
            yield record


_PACKAGE = f"{__name__.partition('.')[0]}."


class RefusedRows(UserWarning):
    """Rows have no decision: a text is missing or empty, or an id came before."""


def _repeated_row(document_id: str, _: Place) -> str:
    return came_before(document_id)


class _Refused:
    """Counts refused rows, or raises at the first."""

    def __init__(self, *, raises: bool) -> None:
        self._count, self._first = 0, ""
        self._raises = raises

    def add(self, reject: Reject) -> None:
        reason = f"row {reject.place.line}: {reject.reason}"
        if self._raises:
            raise InvalidArgument(f"{reason}; unreadable='keep' keeps such rows, 'drop' leaves them out")
        self._count += 1
        self._first = self._first or reason

    def warn(self) -> None:
        """Warn of the counted rows, at the line from which the package was called."""
        if not self._count:
            return
        frame, level = sys._getframe(), 1
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
            frame, level = frame.f_back, level + 1
        rows = "row has" if self._count == 1 else "rows have"
        warnings.warn(f"{self._count:,} {rows} no decision; {self._first}", RefusedRows, stacklevel=level)


class Request:
    """The columns and the choices of one call: the options are those of `TableOptions`.

    Whatever does not depend on the table is checked.
    """

    agree: str | None
    """The column about which near copies must agree; that of an index is known when it is open."""
    _names: Sequence[str] = ()  # All columns of the table.

    def __init__(self, text: str, unreadable: Unreadable, options: Mapping[str, Any], *, marks: bool = False) -> None:
        profile = dict(options)
        self.text = text
        self.unreadable = unreadable
        self.marks = marks
        """Whether all rows stay, with what was decided beside them."""
        self.id: str | None = profile.pop("id")
        self.index: Index | Address | None = profile.pop("index")
        self.keep = Preference.parse(profile.pop("keep"))
        self.contained: float | None = profile.pop("contained", None)
        check_share(self.contained)
        self.exact = profile.pop("exact", False) or self.contained is not None
        self.workers = profile.pop("workers", 1)
        self.meter: Metering = show_progress if profile.pop("progress", False) else silent
        self.max_document_bytes = profile.pop("max_document_bytes", DOCUMENT_BYTES)
        self.batch = checked_batch(profile.pop("batch", None))
        self.profile = profile
        """The options of a temporary index."""
        self.agree = None if self.index is not None else profile.get("agree")
        for name in ("workers", "max_document_bytes"):
            number = getattr(self, name)
            if not isinstance(number, int) or number < 1:
                raise InvalidArgument(f"{name} is {number!r}: wanted a number from 1")
        for name, column in (("text", text), ("id", self.id)):
            if not isinstance(column, str) and (name, column) != ("id", None):
                raise InvalidArgument(f"{name} is {column!r}: wanted the name of a column")
        check_unreadable(unreadable)
        if self.index is not None and self.id is None:
            raise InvalidArgument("index needs id=COLUMN: the row numbers of two tables are the same")
        if self.index is None and self.batch is not None:
            raise InvalidArgument(f"batch={self.batch!r} needs an index, of which the batch can be taken back")
        if self.index is not None and self.profile:
            raise InvalidArgument(f"the index has its own profile: leave out {', '.join(self.profile)}")

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        columns = dict.fromkeys((self.text, self.id, self.keep.field, self.agree))
        return [name for name in columns if name is not None]

    @property
    def rereads(self) -> bool:
        """Whether all rows are read before the first decision."""
        return self.index is None or self.keep.by != "first"

    def check(self, schema: pa.Schema) -> None:
        """Refuse a table without the columns, or with other types."""
        self._names = self._names or schema.names
        for name in self.columns:
            if name not in schema.names:
                raise InvalidArgument(f"the table has no column {name!r}; it has {listed(schema.names)}")
            if schema.names.count(name) > 1:
                raise InvalidArgument(f"the table has the column {name!r} twice: rename one")
            if name in (self.text, self.id):
                check_type(name, schema.field(name).type, integers=name != self.text)

    def decide(self, read: Read, rows: int | None = None) -> Iterator[tuple[int, Decision]]:
        """Yield row numbers with decisions, upwards; refused rows have none, and a warning counts them."""
        refused = _Refused(raises=self.unreadable == "raise")
        with self.opened(read, rows) as index:
            self.agree = index.profile.agree
            if self.agree is not None and self.agree not in self._names:
                raise InvalidArgument(
                    f"near copies must agree about {self.agree!r} in this index, and the table has no such column; it "
                    f"has {listed(self._names)}"
                )
            records = self._shown("dedup", read, rows)
            if isinstance(index, LocalIndex):
                yield from self._deduplicated(index, records, refused)
            else:
                yield from self._claimed(index, records, refused)
        refused.warn()

    def _deduplicated(
        self, index: LocalIndex, records: Iterable[Record], refused: _Refused
    ) -> Iterator[tuple[int, Decision]]:
        unique_ids = corpus.documents.UniqueIds(refused.add, reason=_repeated_row)

        def parts() -> Iterator[tuple[Entries, list[Document]]]:
            for chunk in analyse(records, index.analysis, workers=self.workers):
                for reject in chunk.rejects:
                    refused.add(reject)
                yield unique_ids(chunk)

        with judging(index.profile, exact=self.exact, contained=self.contained) as judge:
            deduplicator = index.deduplicator(judge=judge)

            def decide(entries: Entries, texts: list[str]) -> list[Decision]:
                return index.dedup_entries(entries.in_batch(self.batch), deduplicator, texts=texts)

            if self.keep.by != "first":
                with RankedDocuments(self.keep, with_texts=judge is not None) as waiting:
                    waiting.read(parts())
                    waiting.decide(decide, corpus.RunListener(meter=self.meter))
                    for document, decision in waiting:
                        yield document.place.line, decision
                return
            for entries, documents in parts():
                decisions = decide(entries, [document.text or "" for document in documents])
                yield from zip((document.place.line for document in documents), decisions, strict=True)

    def _claimed(self, index: Index, records: Iterable[Record], refused: _Refused) -> Iterator[tuple[int, Decision]]:
        """Decide rows through a service, which claims them."""
        if self.exact:
            raise InvalidArgument("exact needs the address of the index itself, not of a service")
        if self.keep.by != "first":
            raise InvalidArgument(f"keep={self.keep.by!r} needs the address of the index itself, not of a service")
        batched = document_batches(_first_ones(records, refused), BATCH_DOCUMENTS)
        for document, outcome in chain.from_iterable(
            index.claimed(whole_chunk(batch, index.analysis), batch=self.batch) for batch in batched
        ):
            if isinstance(outcome, Decision):
                yield document.place.line, outcome
            elif isinstance(outcome, Retryable):
                raise outcome
            else:
                refused.add(Reject(document.place, str(outcome), b""))

    def opened(self, read: Read, rows: int | None = None) -> AbstractContextManager[Index]:
        """Open the index, or make a temporary one, whose idf is learned from the table as `dedup --create` does."""
        if self.index is not None:
            return nullcontext(self.index) if isinstance(self.index, Index) else open_index(self.index)
        profile, sample = dict(self.profile), corpus.sample.TextSample()
        if profile.get("analyzer", "learned") == "learned" and "learn_from" not in profile:
            for record in self._shown("learn", read, rows):
                sample.add(record)
        if texts := sample.texts():
            profile["learn_from"] = texts
        return temporary_index(None, **profile)

    def _shown(self, name: str, read: Read, rows: int | None) -> Iterator[Record]:
        """Read the records, and show how many of so many rows are read."""
        with self.meter(name, rows, noun="rows") as meter:
            for count, record in enumerate(self._records(read()), 1):
                yield record
                meter.show(count, count)

    def _records(self, batches: Iterable[RowBatch]) -> Iterator[Record]:
        row_number = f"number of {self.text}"
        options = InputOptions(
            id_field=self.id or row_number,
            text_field=self.text,
            max_document_bytes=self.max_document_bytes,
            agree_field=self.agree,
            preference=self.keep,
        )
        build, row = Builder(options).build, 0
        for batch in batches:
            # The types of a data frame are known from here only.
            self.check(batch.schema)
            for values in values_of(batch):
                place = Place("row", row)
                if isinstance(values, str):
                    yield Reject(place, values, b"")
                else:
                    if self.id is None:
                        values[row_number] = row
                    yield record_of(values, place, options, build)
                row += 1
