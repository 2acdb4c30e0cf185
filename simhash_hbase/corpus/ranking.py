"""Deciding a corpus by preference: all documents are read first, wait on the disk, and are decided best first.

So the preferred one of near copies, such as the longest, becomes the original, wherever it stands in the input.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, Self, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.corpus.options import RunListener
from simhash_hbase.errors import InvalidInput
from simhash_hbase.files.local import RecordFile
from simhash_hbase.index import documentrows
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.decisions import Decisions
from simhash_hbase.inputs import Document, Place, Preference
from simhash_hbase.inputs.columns import DocumentColumns
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.documentcells import decode_member

BATCH = 1_000
BATCH_BYTES = 16 << 20
"""Most bytes of records in memory at a time, unless a single record has more."""

Decide: TypeAlias = Callable[[Entries, list[str]], Decisions]
"""Returns the decisions on a batch of documents, given their entries, and their texts where these are judged."""


class WrittenDocument(Protocol):
    """The parts of a decided document that are needed to warn of duplicates that may be wrong."""

    @property
    def place(self) -> Place:
        """File and line at which the record of the document starts."""

    @property
    def remainder(self) -> bytes:
        """A sketch of a page's sentences outside of its main text, if they have a quarter of its length; else empty."""


class _Row(msgspec.Struct, array_like=True):
    """One document, as it is written to a temporary file until it is decided."""

    member: bytes  # The document's member cell, as an index holds it.
    simhash: int
    raw: bytes | None
    place: Place
    text: str
    source: str | None
    remainder: bytes


class RankedDocuments:
    """The analysed documents of a corpus on the disk, which are decided in an order of preference when all are read.

    A document takes 24 bytes of memory. In the folder for temporary files it takes about 150 bytes, its metadata and
    raw bytes, and its text if texts are judged.

    Parameters
    ----------
    preference : Preference
        The order in which they are decided.
    with_texts : bool
        Whether deciding needs their texts.
    """

    def __init__(self, preference: Preference, *, with_texts: bool) -> None:
        self.batch = BATCH
        """Documents that are decided, and may be written, at a time."""
        self._preference = preference
        self._with_texts = with_texts
        self._rows, self._decided = RecordFile(), RecordFile()
        self._ranks = [np.empty(0)]
        self._bands = 0
        self._order = np.empty(0, np.int64)
        self._encode, self._decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(_Row).decode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.close()
        self._decided.close()

    def read(self, parts: Iterable[tuple[Entries, Sequence[Document]]]) -> None:
        """Write all documents of a corpus to the disk, in the order of the input, and sort their numbers by rank."""
        for entries, documents in parts:
            self._ranks.append(ranks_of(self._preference, entries, documents))
            self._bands = max(self._bands, entries.segments.shape[1])
            members = documentrows.member_values(entries, [0] * len(entries), checksum=False)
            for document, member, simhash in zip(documents, members, entries.simhashes.tolist(), strict=True):
                text = (document.text or "") if self._with_texts else ""
                row = _Row(member, simhash, document.raw, document.place, text, document.source, document.remainder)
                self._rows.append(self._encode(row))
        self._order = np.argsort(np.concatenate(self._ranks), kind="stable")

    def decide(self, decide: Decide, listener: RunListener, *, name: str = "dedup: decide") -> None:
        """Have `decide` decide all documents in batches, the preferred first; decisions of an earlier call are dropped.

        `name` is the title of the progress meter.
        """
        self._decided.close()
        self._decided, bands = RecordFile(), self._bands
        with listener.meter(name, len(self._order)) as meter:
            for numbers in self._batches(self._order.tolist()):
                batch = [self._decode(self._rows.read(number)) for number in numbers]
                decoded = [decode_member(row.member, bands=bands) for row in batch]
                entries = documentrows.member_entries(decoded, [row.simhash for row in batch], bands=bands)
                for decision in decide(entries, [row.text for row in batch]):
                    self._decided.append(self._encode(decision))
                meter.show(len(self._decided), len(self._decided))

    def decisions(self) -> Iterator[Decision]:
        """Yield the decisions about all documents, in the order of the input."""
        decode, turns = msgspec.msgpack.Decoder(Decision).decode, np.empty(len(self._order), np.int64)
        turns[self._order] = np.arange(len(self._order))
        for turn in turns.tolist():
            yield decode(self._decided.read(turn))

    def __iter__(self) -> Iterator[tuple[WrittenDocument, Decision]]:
        """Yield the documents with their decisions, in the order of the input."""
        for number, decision in enumerate(self.decisions()):
            yield self._decode(self._rows.read(number)), decision

    def written(self) -> Iterator[tuple[DocumentColumns, Decisions]]:
        """Yield batches of documents, as columns, with their decisions, in the order of the input."""
        decisions = self.decisions()
        for numbers in self._batches(range(len(self._order))):
            rows = [self._decode(self._rows.read(number)) for number in numbers]
            decided = Decisions.of(islice(decisions, len(rows)))
            columns = zip(*((*row.place, row.raw, row.source, row.remainder) for row in rows), strict=True)
            files, lines, raws, sources, remainders = columns
            unknown = [None] * len(rows)
            yield DocumentColumns(decided.ids, unknown, files, lines, raws, unknown, sources, remainders), decided

    def _batches(self, order: Sequence[int]) -> Iterator[list[int]]:
        """Yield the numbers of documents in lists of at most `self.batch` documents and `BATCH_BYTES` of records."""
        numbers: list[int] = []
        size = 0
        for number in order:
            if numbers and (len(numbers) == self.batch or size + self._rows.size(number) > BATCH_BYTES):
                yield numbers
                numbers, size = [], 0
            numbers.append(number)
            size += self._rows.size(number)
        if numbers:
            yield numbers


def ranks_of(preference: Preference, entries: Entries, documents: Sequence[Document]) -> NDArray[np.float64]:
    """Return a number for each document by which an order of preference sorts it: the document with the least is first.

    Raises
    ------
    InvalidInput
        When the order goes by a field, and a document comes of a format without fields.
    """
    if preference.by == "longest":
        return -entries.lengths.astype(np.float64)
    if preference.field is None:
        return np.zeros(len(entries))
    for document in documents:
        if document.preference is None:
            raise InvalidInput(
                f"{document.place}: the format has no field {preference.field!r}: near copies are ranked by a field"
                " in JSON lines, CSV and Parquet"
            )
    return np.array([document.preference for document in documents], np.float64)
