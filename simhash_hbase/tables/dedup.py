"""Near-duplicate decisions on the rows of a table, for `drop_near_duplicates` and `mark_near_duplicates`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, Literal, get_args

import pyarrow as pa

from simhash_hbase import corpus
from simhash_hbase.api import temporary_index
from simhash_hbase.corpus.ranking import RankedDocuments
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.features.chunks import analyse, whole_chunk
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.arguments import BATCH_DOCUMENTS, document_batches
from simhash_hbase.index.decisions import Decisions
from simhash_hbase.index.exact import judging
from simhash_hbase.index.index import Index
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.inputs import Document, InputOptions, Place, Preference, Record, Reject
from simhash_hbase.inputs.records import came_before, listed
from simhash_hbase.profile.defaults import checked_share
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.names import checked_batch
from simhash_hbase.tables.request import Read, Refused, TableRequest, check_number, opened

MARKS = pa.schema(
    [("duplicate_of", pa.string()), ("distance", pa.int64()), ("similarity", pa.float64()), ("cluster", pa.string())]
)

Unreadable = Literal["raise", "keep", "drop"]


def check_unreadable(unreadable: str) -> None:
    """Raise `InvalidArgument` unless the parameter ``unreadable`` is ``raise``, ``keep`` or ``drop``."""
    if unreadable not in get_args(Unreadable):
        raise InvalidArgument(f"unreadable is {unreadable!r}: wanted 'raise', 'keep' or 'drop'")


def _first_ones(records: Iterable[Record], refused: Refused) -> Iterator[Document]:
    """Yield the documents among records whose ids have not come before; refuse the other records."""
    unique_ids = corpus.documents.UniqueIds(refused.add, reason=_repeated_row)
    for record in records:
        if isinstance(record, Reject):
            refused.add(record)
        elif unique_ids.passes(record):
            yield record


def _repeated_row(document_id: str, _: Place) -> str:
    return came_before(document_id)


_ADVICE = "unreadable='keep' keeps such rows, 'drop' leaves them out"


class DedupRequest(TableRequest[Decision]):
    """One call of `drop_near_duplicates` or `mark_near_duplicates`: its columns, and the options of `TableOptions`."""

    agree: str | None
    """The column about which near copies must agree; that of an index is known when it is open."""

    def __init__(self, text: str, unreadable: Unreadable, options: Mapping[str, Any], *, marks: bool = False) -> None:
        profile = dict(options)
        columns = {name: profile.pop(name) for name in ("max_document_bytes", "progress") if name in profile}
        super().__init__(text, profile.pop("id"), profile.pop("index"), **columns)
        self.unreadable = unreadable
        self.added = MARKS if marks else None
        self.keep = Preference.parse(profile.pop("keep"))
        self.contained: float | None = profile.pop("contained", None)
        if self.contained is not None:
            checked_share("contained", self.contained)
        self.exact = profile.pop("exact", False) or self.contained is not None
        self.workers = profile.pop("workers", 1)
        check_number("workers", self.workers)
        self.batch = checked_batch(profile.pop("batch", None))
        self.profile = profile
        """The profile options of the temporary index."""
        self.agree = None if self.index is not None else profile.get("agree")
        self.rereads = self.index is None or self.keep.by != "first"
        check_unreadable(unreadable)
        if self.index is not None and self.id is None:
            raise InvalidArgument("index needs id=COLUMN: the row numbers of two tables are the same")
        if self.index is None and self.batch is not None:
            raise InvalidArgument(f"batch={self.batch!r} needs an index, of which the batch can be taken back")
        if self.index is not None and self.profile:
            raise InvalidArgument(f"the index has its own profile: leave out {', '.join(self.profile)}")

    def input_options(self, id_field: str) -> InputOptions:
        """Return how rows are read: their columns, the field on which near copies must agree, and the preference.

        The preference says which one of near copies stays.
        """
        return InputOptions(
            id_field=id_field,
            text_field=self.text,
            max_document_bytes=self.max_document_bytes,
            agree_field=self.agree,
            preference=self.keep,
        )

    def keeps(self, result: Decision | None) -> bool:
        """Return whether a row stays in the table: an original, or a refused one if these are kept."""
        return self.unreadable == "keep" if result is None else result.is_original

    def values(self, result: Decision) -> Sequence[object]:
        """Return a row's values for the columns of `MARKS`, from the decision about it."""
        return result.of, result.distance, result.similarity, result.of or result.id

    def results(self, read: Read, rows: int | None = None) -> Iterator[tuple[int, Decision]]:
        """Yield row numbers, ascending, with the decisions on them.

        A row that cannot be decided is refused: none is yielded for it, and a warning at the end counts such rows.
        """
        refused = Refused("decision", advice=_ADVICE if self.unreadable == "raise" else None)
        with self.opened(read, rows) as index:
            self.agree = index.profile.agree
            if self.agree is not None and self.agree not in self._names:
                raise InvalidArgument(
                    f"near copies must agree about {self.agree!r} in this index, and the table has no such column; it "
                    f"has {listed(self._names)}"
                )
            records = self.records("dedup", read, rows)
            if isinstance(index, LocalIndex):
                yield from self._deduplicated(index, records, refused)
            else:
                yield from self._claimed(index, records, refused)
        refused.warn()

    def _deduplicated(
        self, index: LocalIndex, records: Iterable[Record], refused: Refused
    ) -> Iterator[tuple[int, Decision]]:
        unique_ids = corpus.documents.UniqueIds(refused.add, reason=_repeated_row)

        def parts() -> Iterator[tuple[Entries, Sequence[Document]]]:
            for chunk in analyse(records, index.analysis, workers=self.workers):
                for reject in chunk.rejects:
                    refused.add(reject)
                yield unique_ids(chunk)

        with judging(index.profile, exact=self.exact, contained=self.contained) as judge:
            deduplicator = index.deduplicator(judge=judge)

            def decide(entries: Entries, texts: list[str]) -> Decisions:
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

    def _claimed(self, index: Index, records: Iterable[Record], refused: Refused) -> Iterator[tuple[int, Decision]]:
        """Yield row numbers with decisions by claiming the rows in an index that is reached by its HTTP service."""
        if self.exact:
            raise InvalidArgument("exact needs the address of the index itself, not of a service")
        if self.keep.by != "first":
            raise InvalidArgument(f"keep={self.keep.by!r} needs the address of the index itself, not of a service")
        batched = document_batches(_first_ones(records, refused), BATCH_DOCUMENTS)
        claimed = (index.claimed(whole_chunk(batch, index.analysis), batch=self.batch) for batch in batched)
        yield from refused.results(chain.from_iterable(claimed))

    def opened(self, read: Read, rows: int | None = None) -> AbstractContextManager[Index]:
        """Open the index that the caller named, or else make a temporary one.

        Its idf is learned from the table, as ``dedup --create`` does.
        """
        if self.index is not None:
            return opened(self.index)
        profile, sample = dict(self.profile), corpus.sample.TextSample()
        if profile.get("analyzer", "learned") == "learned" and "learn_from" not in profile:
            for record in self.records("learn", read, rows):
                sample.add(record)
        if texts := sample.texts():
            profile["learn_from"] = texts
        return temporary_index(None, **profile)
