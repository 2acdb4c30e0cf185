"""An opened index: its store, its profile and its clock, and documents a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

from simhash_hbase.errors import EmptyDocument, IndexClosed, InvalidArgument, Unsupported, no_words
from simhash_hbase.index.indexrows import read_idf, read_profile
from simhash_hbase.index.timestamps import Timer
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries, Metadata
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.keys import check_id_type
from simhash_hbase.stores.base import CellCounts, Store

if TYPE_CHECKING:
    from simhash_hbase.features.analysis import Analysis

T = TypeVar("T")

BATCH_DOCUMENTS = 2_000  # Documents that the methods with ``_many`` in their name take at a time: one commit each.

GivenDocument: TypeAlias = tuple[str, str] | tuple[str, str, Metadata | None]
"""Id, text and, where it is to be kept, metadata."""


@dataclass(slots=True, eq=False)
class _Shared:
    """What an index and the views of its collections have in common."""

    is_closed: bool = False
    last: int = 0  # The time of the latest batch.
    ticking: Lock = field(default_factory=Lock)
    analysis: Analysis | None = None


class OpenedIndex:
    """What reading and writing share."""

    def __init__(self, store: Store, *, clock: Callable[[], int] = now_ms, timer: Timer | None = None) -> None:
        self._store = store
        self._begin(read_profile(store), clock, timer)

    def _begin(self, profile: Profile, clock: Callable[[], int] = now_ms, timer: Timer | None = None) -> None:
        """Set what an index has wherever its rows are."""
        self.collection = Collection()
        """The collection whose documents are read and written."""
        self.profile = profile
        self._clock = clock
        self._timer = timer or Timer()
        self._shared = _Shared()

    def in_collection(self, name: str | None) -> Self:
        """Return a view of one collection: its documents and no others, under ids of its own; closed with the index.

        `stats`, `verify`, `vacuum` and `backup` of it are of the whole index.

        Parameters
        ----------
        name : str or None
            1 to 128 bytes of UTF-8 without control characters, compared as they are; None: the documents that are in
            no collection, which is what an index shows by itself.

        Raises
        ------
        InvalidArgument
            When it is no name of a collection.
        """
        view = copy(self)
        view.collection = Collection(name)
        return view

    @property
    def address(self) -> str:
        """The address of the store, and which collection."""
        name = self.collection.name
        return self._store.url if name is None else f"{self._store.url} (collection {name})"

    @property
    def analysis(self) -> Analysis:
        """What turns texts into entries; reads the learned table on first use."""
        if self._shared.analysis is None:
            # Look-ups need none of it, and its expressions take longer to compile than a look-up.
            from simhash_hbase.features.analysis import Analysis  # noqa: PLC0415

            self._shared.analysis = Analysis(self.profile, read_idf(self.store, self.profile))
        return self._shared.analysis

    @analysis.setter
    def analysis(self, analysis: Analysis) -> None:
        self._shared.analysis = analysis

    @property
    def store(self) -> Store:
        """What keeps the rows.

        Raises
        ------
        IndexClosed
            After `close`, whatever the store is.
        """
        if self._shared.is_closed:
            raise IndexClosed(f"{self._store.url}: this index was closed")
        return self._store

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}{', closed' if self._shared.is_closed else ''}>"

    def close(self) -> None:
        """Close the store; from now on every call that needs it raises `IndexClosed`. A second call does nothing."""
        self._shared.is_closed = True
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _now(self) -> int:
        """Read the clock; each batch of this process gets a later time than the one before."""
        with self._shared.ticking:
            self._shared.last = max(self._clock(), self._shared.last + 1)
            return self._shared.last

    def _oldest(self) -> int:
        """Return the time since which a document must have been seen to count, ms since 1970."""
        return self.profile.oldest(self._clock())

    def _check_whole(self, operation: str) -> None:
        """Refuse what needs ranges or compare-and-set of a store that has neither."""
        if isinstance(self.store, CellCounts):
            raise Unsupported(
                f"{operation} needs a file: or hbase:// index: {self.store.url} does create, add, query, remove, stats"
            )

    def _analysed(self, name: str, text: str, metadata: Metadata | None = None) -> Entries:
        """Analyse one document, which must have a fingerprint."""
        _check_types(name, text, metadata)
        analysed = self.analysis.texts([name], [text], [metadata])
        if analysed.refused:
            raise EmptyDocument(no_words(name))
        return analysed.entries

    def _in_batches(
        self, documents: Iterable[GivenDocument], act: Callable[[Entries], Iterable[T]]
    ) -> Iterator[tuple[str, T | None]]:
        """Analyse documents and act on them, a batch at a time; None for a text without usable words."""
        checked = (checked_document(number, document) for number, document in enumerate(documents, 1))
        for batch in batches(checked):
            ids, texts, metadata = zip(*batch, strict=True)
            analysed = self.analysis.texts(ids, texts, metadata)
            kept, results = set(analysed.kept), iter(act(analysed.entries))
            yield from ((name, next(results) if at in kept else None) for at, name in enumerate(ids))


def batches(items: Iterable[T]) -> Iterator[list[T]]:
    """Cut a stream into lists of `BATCH_DOCUMENTS`."""
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH_DOCUMENTS)):
        yield batch


def runs_of_ids(entries: Entries) -> Iterator[Entries]:
    """Cut documents into runs in which no id comes twice; nearly always into one."""
    ids: set[str] = set()
    start = 0
    for at, name in enumerate(entries.ids):
        if name in ids:
            yield entries.take(range(start, at))
            ids, start = set(), at
        ids.add(name)
    if ids:
        yield entries.take(range(start, len(entries))) if start else entries


def checked_ids(ids: Iterable[str]) -> Iterable[str]:
    """Return ids as they are passed, or raise `InvalidArgument` for one string, whose characters are no ids."""
    if isinstance(ids, str):
        raise InvalidArgument(f"the ids are one string, {ids!r}: wanted a list of ids")
    return ids


def checked_document(number: int, document: object) -> tuple[str, str, Metadata | None]:
    """Return id, text and metadata of a document that a caller passes, or raise `InvalidArgument`."""
    wanted = "wanted (id, text) or (id, text, metadata)"
    if not isinstance(document, tuple | list):
        raise InvalidArgument(f"document {number} is of type {type(document).__name__}: {wanted}")
    match document:
        case [name, text]:
            metadata = None
        case [name, text, metadata]:
            pass
        case _:
            raise InvalidArgument(f"document {number} is of length {len(document)}: {wanted}")
    _check_types(name, text, metadata)
    return name, text, metadata


def _check_types(name: object, text: object, metadata: object) -> None:
    """Refuse what a caller without a type checker may pass."""
    check_id_type(name)
    of = f" of {name!r}" if name else ""
    if not isinstance(text, str):
        raise InvalidArgument(f"the text{of} is of type {type(text).__name__}: wanted a string")
    if not isinstance(metadata, Mapping | None):
        raise InvalidArgument(f"the metadata{of} is of type {type(metadata).__name__}: wanted a mapping")
