"""What a caller wants of a table, and the decisions on its rows."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import pyarrow as pa
from pyarrow import types

from simhash_hbase.client import RemoteIndex
from simhash_hbase.corpus.documents import Once
from simhash_hbase.corpus.options import Watch
from simhash_hbase.corpus.preferred import decide_preferred
from simhash_hbase.corpus.sample import TextSample
from simhash_hbase.errors import InvalidArgument, Retryable
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.exact import judging
from simhash_hbase.index.index import Index
from simhash_hbase.inputs import Document, InputOptions, Place, Record, Reject
from simhash_hbase.inputs.options import DOCUMENT_BYTES, Preference
from simhash_hbase.inputs.parquet import record_of, values_of
from simhash_hbase.inputs.records import Builder, listed
from simhash_hbase.opening import open_index, temporary_index
from simhash_hbase.pipeline.analyse import analyse
from simhash_hbase.profile.choices import check_share
from simhash_hbase.rows.analysed import Entries

# Bytes are read as UTF-8: some writers mark no column as a string. A column without any value has the type null.
_TEXTS = (
    types.is_string,
    types.is_large_string,
    types.is_string_view,
    types.is_binary,
    types.is_large_binary,
    types.is_binary_view,
    types.is_null,
)


def check_type(name: str, kind: pa.DataType, *, integers: bool) -> None:
    """Raise `InvalidArgument` where a column holds no strings, nor integers where these are ids."""
    held = _values(kind)
    if any(is_it(held) for is_it in _TEXTS) or (integers and types.is_integer(held)):
        return
    wanted = "strings or integers" if integers else "strings"
    floats = "; pandas makes floats of integers with gaps: convert them by astype('Int64')"
    advice = floats if integers and types.is_floating(held) else ""
    raise InvalidArgument(f"the column {name!r} is of type {kind}: wanted {wanted}{advice}")


def _values(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values behind an encoding or an extension."""
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _values(kind.value_type)
    return _values(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind


RowBatch = Any  # A pyarrow RecordBatch or Table.
Read = Callable[[], Iterable[RowBatch]]
Unreadable = Literal["raise", "keep", "drop"]

_PACKAGE = f"{__name__.partition('.')[0]}."


class RefusedRows(UserWarning):
    """Rows have no decision: a text is missing or empty, or an id came before."""


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
        if self._count:
            rows = "row has" if self._count == 1 else "rows have"
            warnings.warn(f"{self._count:,} {rows} no decision; {self._first}", RefusedRows, stacklevel=_callers())


def _callers() -> int:
    """Return the level of the stack, for the caller of this, where the package was called: warnings name that line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


@dataclass(frozen=True, kw_only=True)
class Request:
    """The columns and the choices of one call."""

    text: str
    id: str | None
    keep: Preference
    exact: bool
    contained: float | None
    index: Index | str | None
    unreadable: Unreadable
    workers: int
    max_document_bytes: int
    options: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        text: str,
        id: str | None,
        keep: str,
        index: Index | str | None,
        unreadable: Unreadable,
        options: Mapping[str, Any],
    ) -> Self:
        """Check what does not depend on the table."""
        profile = dict(options)
        workers = profile.pop("workers", 1)
        exact, contained = profile.pop("exact", False), profile.pop("contained", None)
        check_share(contained)
        max_bytes = profile.pop("max_document_bytes", DOCUMENT_BYTES)
        for name, number in (("workers", workers), ("max_document_bytes", max_bytes)):
            if not isinstance(number, int) or number < 1:
                raise InvalidArgument(f"{name} is {number!r}: wanted a number from 1")
        for name, column in (("text", text), ("id", id)):
            if not isinstance(column, str) and (name, column) != ("id", None):
                raise InvalidArgument(f"{name} is {column!r}: wanted the name of a column")
        if unreadable not in get_args(Unreadable):
            raise InvalidArgument(f"unreadable is {unreadable!r}: wanted 'raise', 'keep' or 'drop'")
        if index is not None and id is None:
            raise InvalidArgument("index needs id=COLUMN: the row numbers of two tables are the same")
        if index is not None and profile:
            raise InvalidArgument(f"the index has its own profile: leave out {', '.join(profile)}")
        return cls(
            text=text,
            id=id,
            keep=Preference.parse(keep),
            exact=bool(exact) or contained is not None,
            contained=contained,
            index=index,
            unreadable=unreadable,
            workers=workers,
            max_document_bytes=max_bytes,
            options=profile,
        )

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return [name for name in dict.fromkeys((self.text, self.id, self.keep.field)) if name is not None]

    @property
    def rereads(self) -> bool:
        """Whether all rows are read before the first decision."""
        return self.index is None or self.keep.by != "first"

    def check(self, schema: pa.Schema) -> None:
        """Refuse a table without the columns, or with other types."""
        for name in self.columns:
            if name not in schema.names:
                raise InvalidArgument(f"the table has no column {name!r}; it has {listed(schema.names)}")
            if schema.names.count(name) > 1:
                raise InvalidArgument(f"the table has the column {name!r} twice: rename one")
            if name in (self.text, self.id):
                check_type(name, schema.field(name).type, integers=name != self.text)

    def decide(self, read: Read) -> Iterator[tuple[int, Decision]]:
        """Yield row numbers with decisions, upwards; refused rows have none, and a warning counts them."""
        refused = _Refused(raises=self.unreadable == "raise")
        with self._opened(read) as index, ExitStack() as stack:
            if isinstance(index, RemoteIndex):
                yield from self._claimed(index, read, refused)
                return
            once = Once(refused.add)
            judge = stack.enter_context(judging(index.profile, exact=self.exact, contained=self.contained))
            deduplicator = index.deduplicator(judge=judge)

            def parts() -> Iterator[tuple[Entries, list[Document]]]:
                for chunk in analyse(self._records(read()), index.analysis, workers=self.workers):
                    for reject in chunk.rejects:
                        refused.add(reject)
                    yield once(chunk)

            def decided(entries: Entries, texts: list[str]) -> list[Decision]:
                return index.dedup_entries(entries, deduplicator, texts=texts)

            if self.keep.by != "first":
                for _, place, decision in decide_preferred(
                    parts(), self.keep, decided, Watch(), with_texts=judge is not None
                ):
                    yield place.line, decision
            else:
                for entries, documents in parts():
                    for document, decision in zip(
                        documents, decided(entries, [document.text or "" for document in documents]), strict=True
                    ):
                        yield document.place.line, decision
        refused.warn()

    def _claimed(self, index: RemoteIndex, read: Read, refused: _Refused) -> Iterator[tuple[int, Decision]]:
        """Decide rows through a service, which claims them."""
        if self.exact:
            raise InvalidArgument("exact needs the address of the index itself, not of a service")
        if self.keep.by != "first":
            raise InvalidArgument(f"keep={self.keep.by!r} needs the address of the index itself, not of a service")
        once = Once(refused.add)

        def documents() -> Iterator[Document]:
            for record in self._records(read()):
                if isinstance(record, Reject):
                    refused.add(record)
                elif once.passes(record):
                    yield record

        for document, outcome in index.claim_documents(documents()):
            if isinstance(outcome, Decision):
                yield document.place.line, outcome
            elif isinstance(outcome, Retryable):
                raise outcome
            else:
                refused.add(Reject(document.place, str(outcome), b""))
        refused.warn()

    @contextmanager
    def _opened(self, read: Read) -> Iterator[Index]:
        if isinstance(self.index, Index):
            yield self.index
        elif self.index is not None:
            with open_index(self.index) as index:
                yield index
        else:
            with temporary_index(None, **self._learned(read)) as index:
                yield index

    def _learned(self, read: Read) -> dict[str, Any]:
        """Complete the options of an index by texts to learn the idf from, as `dedup --create` does."""
        if self.options.get("analyzer", "learned") != "learned" or "learn_from" in self.options:
            return dict(self.options)
        sample = TextSample()
        for record in self._records(read()):
            sample.add(record)
        return {**self.options, "learn_from": sample.texts} if sample.texts else dict(self.options)

    def _records(self, batches: Iterable[RowBatch]) -> Iterator[Record]:
        row_number = f"number of {self.text}"
        options = InputOptions(
            id_field=self.id or row_number,
            text_field=self.text,
            max_document_bytes=self.max_document_bytes,
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
