"""The abstract class `Index`: the methods of every index, in a store or behind a service."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from numbers import Integral, Real
from threading import Event
from typing import TYPE_CHECKING, Self, TypeVar, Unpack, get_args

from simhash_hbase.errors import (
    ClaimContended,
    EmptyDocument,
    IndexClosed,
    InvalidArgument,
    SimhashError,
    no_words,
    short_repr,
)
from simhash_hbase.index.answers import (
    Added,
    Answer,
    ClueAnswer,
    Decision,
    DocumentBatch,
    ItemCounts,
    ItemsAnswer,
    PassagesAnswer,
    Stored,
)
from simhash_hbase.index.arguments import (
    BATCH_DOCUMENTS,
    GivenDocument,
    PassageOptions,
    PassageSearch,
    Search,
    SearchOptions,
    checked_limit,
    document_batches,
    given_document,
)
from simhash_hbase.index.batches import check_share
from simhash_hbase.index.claim import Claimed
from simhash_hbase.index.copies import Copies
from simhash_hbase.index.gathering import WriteGroups
from simhash_hbase.index.upkeep.stats import Stats
from simhash_hbase.index.upkeep.walk import ProgressCallback, pass_of
from simhash_hbase.inputs import Document
from simhash_hbase.profile import MatchRule, Profile, defaults
from simhash_hbase.rows.analysed import Metadata
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.layout import SIMHASH_BITS
from simhash_hbase.rows.names import checked_batch

if TYPE_CHECKING:
    from simhash_hbase.features.analysis import Analysis
    from simhash_hbase.features.chunks import Chunk

T = TypeVar("T")


class Index(ABC):
    """A near-duplicate index of documents: the methods that every index has, wherever its rows are.

    `LocalIndex` keeps the rows in a store, `RemoteIndex` asks a service that does. Several processes may use an index
    at a time, each with its own `Index`. Threads may share an `Index`.

    Notes
    -----
    Methods of one document, and those with ``_many`` in their names, are written once, over `added`, `claimed` and
    `answered`, which take documents that were read and analysed, over `found`, `repeated` and `held`, which need no
    analysis, and over `remove_many`, `get_many` and `copies`, which take ids.
    """

    _batch_documents = BATCH_DOCUMENTS

    def __init__(self, profile: Profile, *, clock: Callable[[], int] = now_ms) -> None:
        self.profile = profile
        """The options that the index was made with."""
        self.collection = Collection()
        """The collection whose documents are read and written."""
        self._clock = clock
        self._closed = Event()

    @property
    @abstractmethod
    def address(self) -> str:
        """The address of the index, such as ``file:news.index``, and the name of the collection if it is a view."""

    @property
    @abstractmethod
    def analysis(self) -> "Analysis | None":
        """The `Analysis`, which turns texts into fingerprints and sketches; None where a service does it."""

    @abstractmethod
    def in_collection(self, name: str | None) -> Self:
        """Return a view of one collection: an index that shows its documents and no others, under ids of its own.

        The view is closed with the index. `stats`, and methods that read or repair rows, are of the whole index.

        Parameters
        ----------
        name : str or None
            1 to 128 bytes of UTF-8 without control characters, compared as they are; None: the documents that are in
            no collection, which an index without a view shows.

        Raises
        ------
        InvalidArgument
            When `name` is not allowed as the name of a collection.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the store or the connections of the index; later calls that need them raise `IndexClosed`.

        A second call does nothing.
        """

    @abstractmethod
    def added(self, chunk: "Chunk", *, batch: str | None = None) -> Iterable[tuple[Document, Added | SimhashError]]:
        """Add the documents of a chunk (records analysed together); yield each with its result or its own error.

        `batch` names the batch (such as a crawl) that they are added in. The documents may be written only while the
        results are read, so read all of them, as with `claimed` and `answered`.
        """

    @abstractmethod
    def claimed(
        self, chunk: "Chunk", *, deadline_s: float | None = None, batch: str | None = None
    ) -> Iterable[tuple[Document, Decision | SimhashError]]:
        """Claim the documents of a chunk of analysed records; yield each with its decision or its own error.

        `deadline_s` and `batch` are as for `claim`.
        """

    @abstractmethod
    def answered(self, chunk: "Chunk", search: Search) -> Iterable[tuple[Document, Answer | SimhashError]]:
        """Yield each document of a chunk of analysed records with its near-duplicates, or with its own error."""

    @abstractmethod
    def found(
        self, chunk: "Chunk", *, limit: int | None = None
    ) -> Iterable[tuple[Document, ClueAnswer | SimhashError]]:
        """Yield each text of a chunk of records with the documents that contain it, or with its own error.

        This is `find` for many texts.
        """

    @abstractmethod
    def repeated(
        self, chunk: "Chunk", search: PassageSearch
    ) -> Iterable[tuple[Document, PassagesAnswer | SimhashError]]:
        """Yield each text of a chunk of records with its spans that stand in other documents, or with its own error.

        This is `passages` for many texts.
        """

    @abstractmethod
    def held(self, chunk: "Chunk", *, at_share: float) -> Iterable[tuple[Document, ItemsAnswer | SimhashError]]:
        """Yield each text of a chunk of records with the documents in it, of this collection, or with its own error.

        This is `items` for many texts.
        """

    @abstractmethod
    def count_items(self, watch: ProgressCallback | None = None) -> ItemCounts:
        """Return how many documents of this collection `items` can find inside a text, and how many it cannot.

        It cannot find duplicates, texts that are too short, and documents without a text. This reads the cells of all
        documents.

        Raises
        ------
        InvalidArgument
            When the index keeps no passages.
        CorruptIndex
            At the first damaged cell.
        """

    @abstractmethod
    def remove_many(self, ids: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Remove the documents of these ids; yield each id and whether it was there."""

    @abstractmethod
    def batches(self, *, watch: ProgressCallback | None = None) -> list[DocumentBatch]:
        """Return, for each batch such as a crawl, how many documents came in it; reads all document cells.

        Returns
        -------
        list of DocumentBatch
            The batch that began first comes first. Documents that came in no batch are counted, too, under None.

        Raises
        ------
        CorruptIndex
            When a document cell is damaged: `LocalIndex.verify` repairs it.
        """

    @abstractmethod
    def _removed_of_batch(self, name: str, watch: ProgressCallback | None) -> Iterator[str]:
        """Remove the documents that came in the batch with this name; yield the id of each when it is gone."""

    @abstractmethod
    def get_many(self, ids: Sequence[str]) -> list[Stored | None]:
        """Return the records of ids, in their order; None for an id that the index does not hold."""

    @abstractmethod
    def copies(self, document_id: str) -> Copies | None:
        """Return the copies of an original: the documents that `claim` and `dedup` decided to be its duplicates.

        Parameters
        ----------
        document_id : str
            The id of an original, or of a copy: then the copies of its original are listed.

        Returns
        -------
        Copies or None
            At most as many copies as the profile's ``max_members``; None when the index does not hold the id.
        """

    @abstractmethod
    def query_simhash(self, simhash: int, **search: Unpack[SearchOptions]) -> Answer:
        """Find the documents near a 64-bit fingerprint by Hamming distance alone; see `query` for the options."""

    @abstractmethod
    def query_id(self, document_id: str, **search: Unpack[SearchOptions]) -> Answer | None:
        """Find the near-duplicates of a stored document; None when the index does not hold the id; see `query`."""

    @abstractmethod
    def stats(self, *, exact: bool = False, watch: ProgressCallback | None = None) -> Stats:
        """Return figures of the index: documents, rows, bytes; those of a large one are estimates unless `exact`."""

    def expiry_warning(self) -> str | None:
        """Return a warning if all documents have expired, which may mean that this machine's clock is ahead; else None.

        An index behind a service always returns None: the service goes by its own clock.
        """
        return None

    def _check_open(self) -> None:
        """Raise `IndexClosed` if the index was closed."""
        if self._closed.is_set():
            raise IndexClosed(f"{self.address}: this index was closed")

    def _check_deadline(self, deadline_s: float | None) -> None:
        """Raise `InvalidArgument` unless a claim's deadline is None or a number of seconds above 0."""
        if deadline_s is not None and not (isinstance(deadline_s, int | float) and deadline_s > 0):
            raise InvalidArgument(
                f"deadline_s is {short_repr(deadline_s)}: wanted a number of seconds above 0", parameter="deadline_s"
            )

    def _check_search(self, search: Search) -> None:  # noqa: B027 - only a service takes less
        """Raise an error for a search that this index cannot make: `InvalidArgument` or `Unsupported`."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}{', closed' if self._closed.is_set() else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _chunk(self, documents: Sequence[Document], *, analysed: bool = True) -> "Chunk":
        """Return documents as a `Chunk`; `analysed` computes fingerprints and sketches, which look-ups do not need."""
        self._check_open()
        # Look-ups need no analysis, which takes longer to import than a look-up.
        from simhash_hbase.features.chunks import whole_chunk  # noqa: PLC0415

        return whole_chunk(documents, self.analysis if analysed else None)

    def _one(
        self,
        act: Callable[["Chunk"], Iterable[tuple[Document, T | SimhashError]]],
        name: str,
        text: str,
        metadata: Metadata | None = None,
        *,
        analysed: bool = True,
    ) -> T:
        """Call `act`, such as `added`, with a chunk of one document; return its result, or raise its error.

        Raises `EmptyDocument` for a text without usable words.
        """
        chunk = self._chunk([given_document(1, (name, text, metadata))], analysed=analysed)
        if chunk.rejects:
            raise EmptyDocument(no_words(name))
        [(_, outcome)] = act(chunk)
        if isinstance(outcome, SimhashError):
            raise outcome
        return outcome

    def _each(
        self,
        act: Callable[["Chunk"], Iterable[tuple[Document, T | SimhashError]]],
        documents: Iterable[GivenDocument],
        *,
        analysed: bool = True,
    ) -> Iterator[tuple[str, T | SimhashError | None]]:
        """Call `act`, such as `added`, with chunks of the documents; yield each id with its result or error.

        The result is None for a text without usable words.
        """
        given = (given_document(number, document) for number, document in enumerate(documents, 1))
        for batch in document_batches(given, self._batch_documents):
            chunk = self._chunk(batch, analysed=analysed)
            kept, outcomes = set(chunk.analysed.kept), iter(act(chunk))
            for at, document in enumerate(batch):
                outcome = next(outcomes)[1] if at in kept else None
                yield document.id, None if isinstance(outcome, EmptyDocument) else outcome
            # An iterable may raise an error after its last result.
            next(outcomes, None)

    def rule(
        self, *, match: str | None = None, distance: int | None = None, similarity: float | None = None
    ) -> MatchRule:
        """Return the match rule for a query: that of the index, with the given values changed.

        A distance by itself means rule ``distance``: everything within it. With rule ``verified`` it is the largest
        distance at which sketches are compared, if that is larger than the index's.

        Raises
        ------
        InvalidArgument
            When a value is out of range, ``verified`` is asked of an index without sketches, or ``copied`` of one
            without passages.
        """
        own = self.profile.rule
        if match not in (None, *get_args(defaults.MatchName)):
            raise InvalidArgument(f"match is {match!r}: wanted one of {', '.join(get_args(defaults.MatchName))}")
        if match not in (None, "distance") and self.profile.sketch is None:
            raise InvalidArgument("the index keeps no sketches, so it can match by distance only")
        if match == "copied" and self.profile.passages is None:
            raise InvalidArgument("the index keeps no passages, so it cannot match by rule copied")
        within = own.distance if distance is None else distance
        least = own.similarity if similarity is None else similarity
        if similarity is not None and match == "distance":
            raise InvalidArgument("a similarity goes with rules verified and copied, not with distance")
        if not isinstance(within, Integral) or isinstance(within, bool) or not 0 <= within <= SIMHASH_BITS:
            raise InvalidArgument(
                f"distance is {short_repr(within)}: wanted an integer from 0 to {SIMHASH_BITS}", parameter="distance"
            )
        if not isinstance(least, Real) or isinstance(least, bool) or not 0 <= least <= 1:
            raise InvalidArgument(
                f"similarity is {short_repr(least)}: wanted a number from 0 to 1", parameter="similarity"
            )
        plain = distance is not None and similarity is None
        chosen: defaults.MatchName = match or ("distance" if plain else own.match)
        return MatchRule(
            match=chosen,
            distance=int(within),
            similarity=float(least),
            radius=max(own.radius, within),
            band_distance=own.band_distance and tuple(max(bits, within) for bits in own.band_distance),
            free_distance=own.free_distance,
            share=(own.share or defaults.SHARE) if chosen == "copied" else None,
        )

    def add(self, document_id: str, text: str, *, metadata: Metadata | None = None, batch: str | None = None) -> int:
        """Add a document and return its fingerprint; if the id is known, this text replaces the one it had.

        Parameters
        ----------
        document_id : str
            The caller's id.
        text : str
            The document.
        metadata : mapping, optional
            Kept with it; at most 1 KB as JSON.
        batch : str, optional
            As for `add_many`.

        Raises
        ------
        EmptyDocument
            When the text has no usable words.
        InvalidArgument
            When the id is empty or above 64 KB, or the metadata is above 1 KB or cannot be stored.
        """
        return self._one(partial(self.added, batch=batch), document_id, text, metadata).simhash

    def add_many(
        self, documents: Iterable[GivenDocument], *, batch: str | None = None
    ) -> Iterator[tuple[str, int | None]]:
        """Add documents, a batch at a time; yield each id with its fingerprint.

        Parameters
        ----------
        documents : iterable of (id, text) or (id, text, metadata)
            The last text of an id that comes twice stays.
        batch : str, optional
            The name of their batch, such as that of a crawl; see `batches`. 1 to 128 bytes of UTF-8 without control
            characters. A document whose text stands in the index stays in the batch that brought it.

        Yields
        ------
        (id, fingerprint)
            In the order of the input, when the document is durable; the fingerprint is None for a text without usable
            words.
        """
        outcomes = self._each(partial(self.added, batch=checked_batch(batch)), documents)
        return ((name, None if (result := result_of(added)) is None else result.simhash) for name, added in outcomes)

    def remove(self, document_id: str) -> bool:
        """Remove a document, and return whether it was there."""
        [(_, was_there)] = self.remove_many([document_id])
        return was_there

    def remove_batch(self, name: str, *, yes: bool = False, watch: ProgressCallback | None = None) -> Iterator[str]:
        """Remove the documents that came in a batch, as `remove` does; reads all document cells.

        Parameters
        ----------
        name : str
            The name of the batch.
        yes : bool
            Remove them even if they are most of the documents; without it, these are counted first.
        watch : callable, optional
            Called with the progress, as a `ProgressCallback`.

        Yields
        ------
        str
            The id of each document that was removed, when it is gone for certain.

        Raises
        ------
        InvalidArgument
            At the call, when the batch has more than ten documents and more than half of all, unless `yes`; or when it
            is not allowed as the name of a batch.
        CorruptIndex
            When a document cell is damaged: `LocalIndex.verify` repairs it.

        Notes
        -----
        Documents of other batches that were decided duplicates of these stay what they are, with ``of_removed`` where
        they are claimed again; the next near copy that is claimed becomes an original. A text that another batch
        replaced does not come back. What an interrupt leaves, the same call removes. A document that another writer
        adds or claims in the batch meanwhile may stay.
        """
        name = checked_batch(name)
        if not yes:
            check_share(self.batches(watch=pass_of(watch, 0, passes=2)), name)
            watch = pass_of(watch, 1, passes=2)
        return self._removed_of_batch(name, watch)

    def claim(
        self,
        document_id: str,
        text: str,
        *,
        metadata: Metadata | None = None,
        deadline_s: float | None = None,
        batch: str | None = None,
    ) -> Decision:
        """Decide whether a document is an original or a duplicate, safely while other writers claim near copies of it.

        Parameters
        ----------
        document_id : str
            The caller's id. Claimed again with the same text it gets the same answer, for every writer.
        text : str
            The document.
        metadata : mapping, optional
            Kept with an original; at most 1 KB as JSON.
        deadline_s : float, optional
            Most seconds to wait for other writers; without it, as long as they are alive.
        batch : str, optional
            As for `add_many`.

        Returns
        -------
        Decision
            Durable. Exactly one of near copies claimed at the same time is the original (of more than 64 under rule
            ``copied`` in HBase and Redis there may be several), and every duplicate names an original within its reach.

        Raises
        ------
        ClaimContended
            When the document stayed contested; nothing was decided for it, so claim it again.
        EmptyDocument
            When the text has no usable words.
        InvalidArgument
            When `deadline_s` is no number above 0, or less than a service waits.
        """
        self._check_deadline(deadline_s)
        return self._one(partial(self.claimed, deadline_s=deadline_s, batch=batch), document_id, text, metadata)

    def claim_many(
        self, documents: Iterable[GivenDocument], *, deadline_s: float | None = None, batch: str | None = None
    ) -> Iterator[tuple[str, Claimed | None]]:
        """Claim documents, a batch at a time; of near copies in the input the first one is claimed first.

        Parameters
        ----------
        documents : iterable of (id, text) or (id, text, metadata)
            An id that comes twice gets one answer if the text is the same.
        deadline_s : float, optional
            As for `claim`, for all documents that are claimed at a time.
        batch : str, optional
            As for `add_many`.

        Yields
        ------
        (id, Decision)
            In the order of the input, when the decision is durable. In its place None for a text without usable words,
            and the error `ClaimContended`, not raised, for a document that stayed contested.

        Raises
        ------
        InvalidArgument
            At the call, when `deadline_s` is no number above 0, or less than a service waits.
        """
        self._check_deadline(deadline_s)
        act = partial(self.claimed, deadline_s=deadline_s, batch=checked_batch(batch))
        outcomes = self._each(act, documents)
        return (
            (name, claimed if isinstance(claimed, ClaimContended) else result_of(claimed)) for name, claimed in outcomes
        )

    def write_groups(self, *, gathers: bool = True) -> WriteGroups:
        """Return a `WriteGroups`, the context in which batches are written; here it commits each batch by itself."""
        return WriteGroups(None, gathers=gathers)

    def query(self, text: str, **search: Unpack[SearchOptions]) -> Answer:
        """Find the near-duplicates of a text.

        Parameters
        ----------
        text : str
            A document, in the index or not.
        rule : MatchRule, optional
            Another rule than the index's; see `Index.rule`.
        limit : int, optional
            Most matches, 1 or more; an answer that it cuts is marked ``truncated``.
        since : datetime or str, optional
            Only documents that were added or last seen since then: a time, in UTC if it has no zone; as text ISO 8601,
            or an age such as ``7d``, ``12h`` or ``30m``.

        Raises
        ------
        EmptyDocument
            When the text has no usable words.
        InvalidArgument
            When `since` is no point in time, or `limit` is below 1.
        """
        return self._one(partial(self.answered, search=Search(**search)), "", text)

    def find(self, clue: str, *, limit: int | None = None) -> ClueAnswer:
        """Find the documents that contain a clue, such as a sentence, or a part of the clue.

        Parameters
        ----------
        clue : str
            A text of at least as many letters, numbers and marks as the profile's ``passage_gram``. Case, width,
            blanks and punctuation do not matter.
        limit : int, optional
            Most matches, 1 or more; an answer that it cuts is marked ``truncated``.

        Returns
        -------
        ClueAnswer
            The answer is ``complete`` where the clue has at least the profile's ``passages`` letters, numbers and
            marks, and no limit cut the answer.

        Raises
        ------
        InvalidArgument
            When the clue is shorter, or the index keeps no passages.
        EmptyDocument
            When the clue has no letter, number or mark.
        """
        return self._one(partial(self.found, limit=checked_limit(limit)), "", clue, analysed=False)

    def find_many(
        self, documents: Iterable[GivenDocument], *, limit: int | None = None
    ) -> Iterator[tuple[str, ClueAnswer | None]]:
        """Find, for each of many texts, the documents that contain it.

        Parameters
        ----------
        documents : iterable of (id, text)
            A document does not match itself by id.
        limit : int, optional
            As for `find`.

        Yields
        ------
        (id, ClueAnswer)
            In the order of the input; None for a text without a letter, number or mark.
        """
        outcomes = self._each(partial(self.found, limit=checked_limit(limit)), documents, analysed=False)
        return ((name, result_of(answer)) for name, answer in outcomes)

    def passages(
        self, text: str, *, document_id: str = "", metadata: Metadata | None = None, **search: Unpack[PassageOptions]
    ) -> PassagesAnswer:
        """Find the passages of a text: its spans that stand in other documents, too.

        Parameters
        ----------
        text : str
            A document, in the index or not.
        document_id : str, optional
            Its id: that document is not counted.
        metadata : mapping, optional
            Its metadata, for `same`.
        at_least : int
            Least number of other documents that hold a span.
        same : str, optional
            A field of metadata: other documents count only if they have the same value there.

        Returns
        -------
        PassagesAnswer
            Each run of the profile's ``passages`` letters, numbers and marks that stands in another document has a span
            in it. Up to ``passages`` − ``passage_gram`` of them may be missing at each end of such a run. A text with
            fewer than ``passage_gram`` of them has no passages.

        Raises
        ------
        InvalidArgument
            When the index keeps no passages, or the text has no metadata `same`.
        EmptyDocument
            When the text has no letter, number or mark.
        """
        act = partial(self.repeated, search=PassageSearch(**search))
        return self._one(act, document_id, text, metadata, analysed=False)

    def passages_many(
        self, documents: Iterable[GivenDocument], **search: Unpack[PassageOptions]
    ) -> Iterator[tuple[str, PassagesAnswer | None]]:
        """Find the passages of many texts: their spans that stand in other documents, too.

        Parameters
        ----------
        documents : iterable of (id, text) or (id, text, metadata)
            A document does not count itself by id.
        at_least, same
            As for `passages`.

        Yields
        ------
        (id, PassagesAnswer)
            In the order of the input; None for a text without a letter, number or mark.
        """
        outcomes = self._each(partial(self.repeated, search=PassageSearch(**search)), documents, analysed=False)
        return ((name, result_of(answer)) for name, answer in outcomes)

    def items(self, text: str, *, at_share: float = defaults.ITEM_SHARE) -> ItemsAnswer:
        """Find the documents of this collection that stand in a text, such as test questions in training data.

        Parameters
        ----------
        text : str
            The text, such as a page of training data.
        at_share : float
            Least share of an item's passages that the text has, above 0 to 1. An item of which it has fewer merely
            shares a phrase with it.

        Returns
        -------
        ItemsAnswer
            All runs of the text are looked up, so the share is exact: an item that stands in it whole has 1, and each
            edit takes the passages away that it lies in. An item of fewer letters, numbers and marks than the profile's
            ``passage_gram`` has no passages, and is never there.

        Raises
        ------
        InvalidArgument
            When the index keeps no passages, or the share is not above 0 to 1.
        EmptyDocument
            When the text has no letter, number or mark.
        """
        act = partial(self.held, at_share=defaults.checked_share("at_share", at_share))
        return self._one(act, "", text, analysed=False)

    def items_many(
        self, documents: Iterable[GivenDocument], *, at_share: float = defaults.ITEM_SHARE
    ) -> Iterator[tuple[str, ItemsAnswer | None]]:
        """Find the documents of this collection that stand in each of many texts.

        Parameters
        ----------
        documents : iterable of (id, text)
            Their ids do not matter.
        at_share : float
            As for `items`.

        Yields
        ------
        (id, ItemsAnswer)
            In the order of the input; None for a text without a letter, number or mark.
        """
        act = partial(self.held, at_share=defaults.checked_share("at_share", at_share))
        return ((name, result_of(answer)) for name, answer in self._each(act, documents, analysed=False))

    def query_many(
        self, documents: Iterable[GivenDocument], **search: Unpack[SearchOptions]
    ) -> Iterator[tuple[str, Answer | None]]:
        """Find the near-duplicates of many documents, a batch at a time.

        Parameters
        ----------
        documents : iterable of (id, text)
            A document does not match itself by id.
        rule, limit, since
            As for `query`.

        Yields
        ------
        (id, Answer)
            In the order of the input; None for a text without usable words.
        """
        asked = Search(**search).begun(self._clock())
        self._check_search(asked)
        answers = self._each(partial(self.answered, search=asked), documents)
        return ((name, result_of(answer)) for name, answer in answers)

    def get(self, document_id: str) -> Stored | None:
        """Return the record of an id; None when the index does not hold it, or only knows that it was removed."""
        return self.get_many([document_id])[0]

    def __contains__(self, document_id: object) -> bool:
        """Return whether the index holds a document of this id, an original or a duplicate."""
        return isinstance(document_id, str) and self.get(document_id) is not None


def result_of(outcome: T | SimhashError | None) -> T | None:
    """Return the result of one document, or raise it if it is an error that was returned in place of the result."""
    if isinstance(outcome, SimhashError):
        raise outcome
    return outcome
