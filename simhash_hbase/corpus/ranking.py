"""Ranking of near copies: all documents wait on the disk, and are decided from the best to the last."""

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
    """A decided document, as those who write or count decisions see it."""

    @property
    def place(self) -> Place:
        """The place where the record starts."""

    @property
    def remainder(self) -> bytes:
        """The sketch of a page's other sentences, where they are at least a quarter as long as its main text."""


class _Row(msgspec.Struct, array_like=True):
    """One document as it waits on the disk for its decision."""

    member: bytes  # The document's member cell, as an index holds it.
    simhash: int
    raw: bytes | None
    place: Place
    text: str
    source: str | None
    remainder: bytes


class RankedDocuments:
    """Analysed documents of a corpus, which are decided when all of them are read.

    They take about 150 bytes a document, its metadata and raw bytes, and its text where texts are judged, in the folder
    for temporary files, and 24 bytes a document in memory.

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
        """Write the documents of a corpus, which come in the order of the input, to the disk, and rank them."""
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
        """Decide all documents in batches by `decide`, the preferred first; earlier decisions are replaced."""
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
        """Yield the decisions in the order of the input."""
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
        """Yield the document numbers of an order in batches of bounded count and bytes."""
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
    """Return the rank of each document in an order of preference, the least first.

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
