"""An opened index: its store, its profile and its clock, and documents a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

from simhash_hbase.errors import EmptyDocument, IndexClosed, InvalidArgument, Unsupported, no_words
from simhash_hbase.index.claim import Timer
from simhash_hbase.index.profilerows import read_idf, read_profile
from simhash_hbase.profile import Profile
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.rows.entries import Entries, Metadata
from simhash_hbase.rows.keys import check_id_type
from simhash_hbase.stores.abilities import CellCounts
from simhash_hbase.stores.base import Store

if TYPE_CHECKING:
    from simhash_hbase.features.analysis import Analysis

T = TypeVar("T")

BATCH_DOCUMENTS = 2_000  # Documents that the methods with ``_many`` in their name take at a time: one commit each.

Document: TypeAlias = tuple[str, str] | tuple[str, str, Metadata | None]
"""Id, text and, where it is to be kept, metadata."""


class OpenedIndex:
    """What reading and writing share."""

    def __init__(self, store: Store, *, clock: Callable[[], int] = now_ms, timer: Timer | None = None) -> None:
        self._store = store
        self._is_closed = False
        self.profile: Profile = read_profile(store)
        self._clock = clock
        self._timer = timer or Timer()
        self._last = 0
        self._ticking = Lock()

    @cached_property
    def analysis(self) -> Analysis:
        """What turns texts into entries; reads the learned table on first use."""
        # Look-ups need none of it, and its expressions take longer to compile than a look-up.
        from simhash_hbase.features.analysis import Analysis  # noqa: PLC0415

        return Analysis(self.profile, read_idf(self.store, self.profile))

    @property
    def store(self) -> Store:
        """What keeps the rows.

        Raises
        ------
        IndexClosed
            After `close`, whatever the store is.
        """
        if self._is_closed:
            raise IndexClosed(f"{self._store.url}: this index was closed")
        return self._store

    def close(self) -> None:
        """Close the store; from now on every call that needs it raises `IndexClosed`. A second call does nothing."""
        self._is_closed = True
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _now(self) -> int:
        """Read the clock; each batch of this process gets a later time than the one before."""
        with self._ticking:
            self._last = max(self._clock(), self._last + 1)
            return self._last

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
        self, documents: Iterable[Document], act: Callable[[Entries], Iterable[T]]
    ) -> Iterator[tuple[str, T | None]]:
        """Analyse documents and act on them, a batch at a time; None for a text without usable words."""
        checked = (_checked(number, document) for number, document in enumerate(documents, 1))
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


def _checked(number: int, document: object) -> tuple[str, str, Metadata | None]:
    """Take a document of an input apart."""
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
