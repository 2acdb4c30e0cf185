"""An index over a store that this process opens itself: queries, decisions and maintenance.

The store is LMDB in a folder, HBase, Redis or memory.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

import numpy as np

from simhash_hbase.errors import (
    ClaimContended,
    EmptyDocument,
    IndexExists,
    InvalidArgument,
    SimhashError,
    StoreFull,
    StoreRefused,
)
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.index import indexrows
from simhash_hbase.index.answers import (
    Added,
    Answer,
    BatchCounts,
    BatchRemoval,
    ClueAnswer,
    Decision,
    DocumentBatch,
    ItemCounts,
    ItemsAnswer,
    PassagesAnswer,
    Span,
    Stored,
    as_given,
    make_answers,
)
from simhash_hbase.index.arguments import (
    BATCH_DOCUMENTS,
    OWN_RULE,
    GivenDocument,
    PassageSearch,
    Search,
    SearchOptions,
    batches,
    checked_ids,
    runs_of_ids,
)
from simhash_hbase.index.batches import count_batches, count_batches_after, remove_batch, remove_batch_after
from simhash_hbase.index.candidates import Queries
from simhash_hbase.index.claim import Claimed, claim_by_protocol, claim_in_transaction
from simhash_hbase.index.copied import PassagePair, compare_passages
from simhash_hbase.index.copies import Copies, find_copies
from simhash_hbase.index.decisions import Decisions
from simhash_hbase.index.dedup import Deduplicator
from simhash_hbase.index.documentrows import WriteBatch
from simhash_hbase.index.documents import StoredDocuments
from simhash_hbase.index.exact import TextJudge
from simhash_hbase.index.gathering import WriteGroups
from simhash_hbase.index.index import Index, result_of
from simhash_hbase.index.members import are_found
from simhash_hbase.index.passages import Clue, check_kept, find_clue, find_items, find_passages
from simhash_hbase.index.search import Neighbours, Searched
from simhash_hbase.index.timestamps import BatchClock, ServerClock, Timer
from simhash_hbase.index.upkeep.stats import Stats, read_stats
from simhash_hbase.index.upkeep.vacuum import Vacuumed, expiry_warning, vacuum
from simhash_hbase.index.upkeep.verification import Times, Verified, verify
from simhash_hbase.index.upkeep.walk import DamageCallback, ProgressCallback
from simhash_hbase.index.write import Written, remove_documents, write_documents
from simhash_hbase.inputs import Document
from simhash_hbase.profile import Profile
from simhash_hbase.rows import keys
from simhash_hbase.rows.analysed import Entries, check_storable
from simhash_hbase.rows.clock import Since, now_ms, rfc3339, since_ms
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.names import checked_batch
from simhash_hbase.stores.base import UNLIMITED, Store, Transactional, atomically
from simhash_hbase.tracing import traced

if TYPE_CHECKING:
    from simhash_hbase.features.analysis import Analysis
    from simhash_hbase.features.chunks import Chunk


T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Shared:
    """State that an index shares with the views of its collections: the clock, the analysis and the secret key."""

    clock: BatchClock
    analysis: "Analysis | None" = None
    secret: bytes | None = None


class LocalIndex(Index):
    """A near-duplicate index whose rows are in a store that this process opens itself (LMDB, HBase, Redis or memory).

    Parameters
    ----------
    store : Store
        Holds the index; it must have been made by `LocalIndex.create`.
    clock : callable, optional
        Milliseconds since 1970.
    timer : Timer, optional
        Measures how long claims wait for other writers.
    server_clock : ServerClock, optional
        The clock of the store's server.

    Raises
    ------
    IndexMissing
        When the store holds no index.

    Notes
    -----
    Threads may share an index: they take turns where texts are analysed.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], int] = now_ms,
        timer: Timer | None = None,
        server_clock: ServerClock | None = None,
    ) -> None:
        super().__init__(indexrows.read_profile(store), clock=clock)
        self._store = store
        self._timer = timer or Timer()
        self._server_clock = server_clock or ServerClock(store)
        self._shared = _Shared(BatchClock(clock))
        self.on_search: Callable[[Searched], None] | None = None
        """Called with the cost of each search after it, in the thread that made the search."""

    @classmethod
    def create(
        cls, store: Store, profile: Profile, *, idf: IdfTable | None = None, clock: Callable[[], int] = now_ms
    ) -> Self:
        """Make an index in an empty store, and return it.

        Parameters
        ----------
        store : Store
            Takes the index.
        profile : Profile
            The options of the index, which never change.
        idf : IdfTable, optional
            The learned table, for the analyzer ``learned``.
        clock : callable, optional
            Milliseconds since 1970.

        Raises
        ------
        IndexExists
            When the store holds an index.

        Notes
        -----
        The profile is written last: after a crash there is either no index or a whole one.
        """
        with atomically(store):
            if indexrows.find_profile(store) is not None:
                raise IndexExists(
                    f"there is an index at {store.url} already: open_index opens it, and `if_not_exists` takes it if "
                    "its profile is the same"
                )
            indexrows.write_own_rows(store, profile, idf)
        return cls(store, clock=clock)

    @property
    def address(self) -> str:
        """The address of the store, such as ``file:news.index``, and the name of the collection if it is a view."""
        name = self.collection.name
        return self._store.url if name is None else f"{self._store.url} (collection {name})"

    @property
    def analysis(self) -> "Analysis":
        """The `Analysis`, which turns texts into fingerprints and sketches; an idf table is read on first use."""
        if self._shared.analysis is None:
            # Look-ups need no analysis, which takes longer to import than a look-up.
            from simhash_hbase.features.analysis import Analysis  # noqa: PLC0415

            self._shared.analysis = Analysis(self.profile, indexrows.read_idf(self.store, self.profile))
        return self._shared.analysis

    @analysis.setter
    def analysis(self, analysis: "Analysis") -> None:
        self._shared.analysis = analysis

    @property
    def store(self) -> Store:
        """The store that keeps the rows.

        Raises
        ------
        IndexClosed
            After `close`, whatever the store is.
        """
        self._check_open()
        return self._store

    @property
    def _documents(self) -> StoredDocuments:
        """The stored documents of this view's collection, for reading by id or page by page."""
        return StoredDocuments(self.store, self.profile, self.collection, self._oldest)

    def close(self) -> None:
        """Close the store; see `Index.close`."""
        self._closed.set()
        self._store.close()

    def in_collection(self, name: str | None) -> Self:
        """Return a view of one collection; see `Index.in_collection`."""
        view = copy(self)
        view.collection = Collection() if name is None else Collection(name, self._secret())
        return view

    def _secret(self) -> bytes | None:
        """Return the random key that hides the fingerprints of named collections; None in an index of version 1.0."""
        if self._shared.secret is None:
            self._shared.secret = indexrows.read_secret(self.store, self.profile)
        return self._shared.secret

    def _now(self) -> int:
        """Return the timestamp of the next batch, in ms since 1970: later than that of the batch before."""
        return self._shared.clock.next_time()

    def _oldest(self) -> int:
        """Return a time in ms since 1970: documents that were last seen before it have expired."""
        return self.profile.oldest(self._clock())

    def added(self, chunk: "Chunk", *, batch: str | None = None) -> Iterator[tuple[Document, Added | SimhashError]]:
        """Add the documents of a chunk of analysed records; yield each with its result; see `Index.added`.

        Of an id that comes twice, the last text stays.
        """
        entries = chunk.entries.in_batch(batch)
        written = self.add_entries(entries)
        flags = zip(chunk.kept, entries.simhashes.tolist(), written.known, written.moved, strict=True)
        return ((document, Added(document.id, simhash, known, moved)) for document, simhash, known, moved in flags)

    @traced("add")
    def add_entries(self, entries: Entries) -> Written:
        """Add analysed documents; return which ids were known, and which had another text.

        Of an id that comes twice, the last text stays.
        """
        check_storable(entries)
        written = Written([], [])
        for run in runs_of_ids(self.collection.stored(entries)):
            flags = write_documents(
                WriteBatch(self.store, self.profile, run), None, server_clock=self._server_clock, now=self._now()
            )
            written = Written(written.known + flags.known, written.moved + flags.moved)
        return written

    def write_groups(self, *, gathers: bool = True) -> WriteGroups:
        """Return a `WriteGroups`, which commits several batches of writes together if the store is a folder (LMDB)."""
        self._check_open()
        return WriteGroups(self.store, gathers=gathers)

    def claimed(
        self, chunk: "Chunk", *, deadline_s: float | None = None, batch: str | None = None
    ) -> Iterator[tuple[Document, Decision | SimhashError]]:
        """Claim the documents of a chunk of analysed records; yield each with its decision or its own error."""
        entries = chunk.entries.in_batch(batch)
        return zip(chunk.kept, self.claim_entries(entries, deadline_s=deadline_s), strict=True)

    @traced("claim")
    def claim_entries(self, entries: Entries, *, deadline_s: float | None = None) -> list[Claimed]:
        """Claim analysed documents: decide which are originals; return one answer for each document; see `claim_many`.

        Raises
        ------
        StoreTimeout, StoreUnavailable
            When the store did not answer for longer than its calls are retried. Some of the documents may have been
            decided by then. Claim all again: those get the same answers, and the others are decided. A claim that was
            under way delays this by the index's lease at most.
        """
        check_storable(entries)
        claimed: list[Claimed] = []
        for run in runs_of_ids(self.collection.stored(entries)):
            for at in range(0, len(run), BATCH_DOCUMENTS):
                whole = len(run) <= BATCH_DOCUMENTS
                few = run if whole else run.take(range(len(run))[at : at + BATCH_DOCUMENTS])
                claimed += self._claim(few, deadline_s)
        return [answer if isinstance(answer, ClaimContended) else as_given(answer) for answer in claimed]

    def _claim(self, entries: Entries, deadline_s: float | None) -> Sequence[Claimed]:
        store, now = self.store, self._now()
        # A transaction decides the whole batch at once; without one, writers agree by compare-and-set.
        if isinstance(store, Transactional):
            return claim_in_transaction(store, self.profile, entries, now=now)
        behind = self._server_clock.writing_time(now) - now
        return claim_by_protocol(
            store, self.profile, entries, clock=lambda: self._now() + behind, timer=self._timer, deadline_s=deadline_s
        )

    def answered(self, chunk: "Chunk", search: Search) -> Iterator[tuple[Document, Answer | SimhashError]]:
        """Yield each document of a chunk of analysed records with its near-duplicates; see `answer_entries`."""
        return zip(chunk.kept, self.answer_entries(chunk.entries, search), strict=True)

    @traced("query")
    def answer_entries(self, entries: Entries, search: Search = OWN_RULE) -> Iterator[Answer]:
        """Yield for each analysed document the answer to its query: its near-duplicates in the index.

        Answers are made while they are read: where the matches of all documents together do not fit into memory, drop
        each answer before the next one.
        """
        oldest, limit = self._oldest(), search.limit
        if search.since is not None:
            oldest = max(oldest, since_ms(search.since, self._clock()))
        # A hit more than the limit shows that there are more; the document itself may be among them.
        most = UNLIMITED if limit is None else limit + 2
        queries = Queries.of(self.profile, self.collection.stored(entries), search.rule)
        found = Neighbours(self.store, queries, oldest=oldest, most=most)
        matches = cut = 0
        try:
            for answer in make_answers(queries, found, limit=limit):
                matches += len(answer.matches)
                cut += answer.truncated
                yield answer
        finally:
            # In `finally`: a caller that knows how many answers there are does not ask for one more.
            if self.on_search is not None:
                self.on_search(Searched(len(entries), found.rows, found.candidates, matches, cut))

    @traced("find")
    def found(
        self, chunk: "Chunk", *, limit: int | None = None
    ) -> Iterator[tuple[Document, ClueAnswer | SimhashError]]:
        """Yield each text of a chunk of records with the documents that contain it; see `Index.found`."""
        search = partial(find_clue, self.store, self.profile, self.collection, limit=limit, oldest=self._oldest())
        yield from self._of_texts(search, chunk.kept)

    @traced("passages")
    def repeated(
        self, chunk: "Chunk", search: PassageSearch
    ) -> Iterator[tuple[Document, PassagesAnswer | SimhashError]]:
        """Yield each text of a chunk of records with its spans that stand in other documents; see `Index.repeated`."""
        find = partial(find_passages, self.store, self.profile, self.collection, search=search, oldest=self._oldest())
        yield from self._of_texts(find, chunk.kept)

    @traced("items")
    def held(self, chunk: "Chunk", *, at_share: float) -> Iterator[tuple[Document, ItemsAnswer | SimhashError]]:
        """Yield each text of a chunk of records with the collection's documents that stand in it; see `Index.held`."""
        find = partial(find_items, self.store, self.profile, self.collection, at_share=at_share, oldest=self._oldest())
        yield from self._of_texts(find, chunk.kept)

    def count_items(self, watch: ProgressCallback | None = None) -> ItemCounts:
        """Return how many documents of this collection `items` can find, and how many not; see `Index.count_items`."""
        check_kept(self.profile)
        return self._documents.count_items(watch)

    def _of_texts(
        self, search: Callable[[Document], T], documents: Iterable[Document]
    ) -> Iterator[tuple[Document, T | SimhashError]]:
        for document in documents:
            outcome: T | SimhashError
            try:
                outcome = search(document)
            except (EmptyDocument, InvalidArgument) as error:
                outcome = error
            yield document, outcome

    def query_entries(self, entries: Entries, **search: Unpack[SearchOptions]) -> list[Answer]:
        """Return for each analysed document the answer to its query, as a list; see `Index.query_many`."""
        return list(self.answer_entries(entries, Search(**search)))

    def query_simhash(self, simhash: int, **search: Unpack[SearchOptions]) -> Answer:
        """Find the documents near a fingerprint; see `Index.query_simhash`."""
        entries = Entries.of_fingerprints([""], np.array([keys.check_simhash(simhash)], dtype=np.uint64))
        [answer] = self.answer_entries(entries, Search(**search))
        return answer

    def query_id(self, document_id: str, **search: Unpack[SearchOptions]) -> Answer | None:
        """Find the near-duplicates of a stored document; see `Index.query_id`."""
        # Bad options are refused whether the document is there or not.
        asked = Search(**search).begun(self._clock())
        entries = self.entries_of(document_id)
        if entries is None:
            return None
        [answer] = self.answer_entries(entries, asked)
        return answer

    def entries_of(self, document_id: str) -> Entries | None:
        """Return a stored document as `Entries` of length 1 (fingerprint, sketch, …); None if the id is not there.

        A duplicate comes without its sketch, which is not stored.
        """
        return self._documents.entries(document_id)

    def compare_passages(self, a: Entries, b: Entries) -> PassagePair:
        """Compare two single documents by passages: how many both share, and which of these rule ``copied`` counts.

        A passage is a hashed run of characters; the rule counts those that few other documents have.
        """
        collection = self.collection
        pair = compare_passages(
            self.store, self.profile.rule, collection.stored(a), collection.stored(b), partial(are_found, self.profile)
        )
        # A collection's mask is its own inverse: this returns the hashes of the texts themselves.
        return pair._replace(counted=np.sort(collection.masked_passages(pair.counted)))

    def counted_spans(self, text: str, pair: PassagePair) -> list[Span]:
        """Return the spans of a text, in its own characters, that are covered by the passages counted in `pair`.

        `pair` is a result of `compare_passages`.
        """
        clue = Clue(self.profile, self.collection, text)
        held = clue.held_of(np.sort(self.collection.masked_passages(pair.counted)))
        return [clue.span(*run) for run in clue.runs(held)] if len(held) else []

    @traced("remove")
    def remove_many(self, ids: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Remove documents, a batch at a time; see `Index.remove_many`."""
        oldest = self._oldest()
        for batch in batches(checked_ids(ids)):
            stored_ids = list(map(self.collection.stored_id, batch))
            removed = remove_documents(self.store, self.profile, stored_ids, oldest=oldest)
            yield from zip(batch, removed, strict=True)

    def batches(self, *, watch: ProgressCallback | None = None) -> list[DocumentBatch]:
        """Return, for each batch, how many documents came in it; see `Index.batches`."""
        return count_batches(self._documents, watch)

    @traced("batches")
    def batches_after(self, after: str | None, *, pages: int) -> BatchCounts:
        """Return the counts of documents by batch, from the next `pages` pages of the scan through all documents.

        `after` is the position at which the last call ended, as its result says; None begins with the first page.
        """
        return count_batches_after(self._documents, after, pages=pages)

    def _removed_of_batch(self, name: str, watch: ProgressCallback | None) -> Iterator[str]:
        return remove_batch(self._documents, name, watch)

    @traced("remove_batch")
    def remove_batch_after(self, name: str, after: str | None, *, pages: int) -> BatchRemoval:
        """Remove the documents of a batch from the next page, of a scan through all documents, that has any of them.

        At most `pages` pages are read. `after` is the position at which the last call ended; None begins with the first
        page. The result has the ids of the removed documents and the position for the next call.
        """
        return remove_batch_after(self._documents, checked_batch(name), after, pages=pages)

    @traced("get")
    def get_many(self, ids: Sequence[str]) -> list[Stored | None]:
        """Return the records of ids; see `Index.get_many`."""
        return self._documents.records(checked_ids(ids))

    @traced("copies")
    def copies(self, document_id: str) -> Copies | None:
        """Return the copies (duplicates) of an original; see `Index.copies`."""
        return find_copies(self.store, self.profile, self.collection.stored_id(document_id), self._oldest())

    def export(
        self,
        *,
        batch: str | None = None,
        watch: ProgressCallback | None = None,
        on_damage: DamageCallback | None = None,
    ) -> Iterator[Stored]:
        """Yield the records of all documents, or of a batch, in the order of the digests of their ids.

        They are read a page at a time.

        Parameters
        ----------
        batch : str, optional
            The name of a batch; without it documents of all batches come, and those of none.
        watch : callable, optional
            Called with the progress, as a `ProgressCallback`.
        on_damage : callable, optional
            Is called with the row of each damaged cell, and with the error. A document whose document cell (in the row
            of its id) is damaged is left out then, whatever its collection was. One whose member cell (in the row of
            its fingerprint) is damaged comes without the fields that are kept there.

        Raises
        ------
        CorruptIndex
            At the first damaged cell, without `on_damage`.
        """
        yield from self._documents.export(checked_batch(batch), watch, on_damage)

    def dedup_many(
        self, documents: Iterable[GivenDocument], *, deduplicator: Deduplicator | None = None, batch: str | None = None
    ) -> Iterator[tuple[str, Decision | None]]:
        """De-duplicate a corpus greedily, in the order of the input, a batch at a time.

        Each document is compared with the originals that the index holds and with those kept before it. It becomes an
        original itself, or a duplicate of the nearest one. Each id is yielded with its decision.

        Parameters
        ----------
        documents : iterable of (id, text) or (id, text, metadata)
            An id that the index held before gets its recorded decision if the text is the same.
        deduplicator : Deduplicator, optional
            Made by the method `deduplicator`, such as one that writes to a scratch store for a dry run.
        batch : str, optional
            As for `add_many`.

        Yields
        ------
        (id, Decision)
            In the order of the input, when the decision is durable. None for a document that has no decision: its text
            has no usable words, or its id came before in the input, whatever its text is.

        Raises
        ------
        InvalidArgument
            When an item is no document.

        Notes
        -----
        Decisions do not depend on how the input is cut into batches. In memory are a batch of 2,000 documents, and some
        hundred bytes a document, for the ids.
        Use `claim_many` where other writers add documents at the same time.

        Examples
        --------
        >>> from simhash_hbase import create_index
        >>> with create_index("memory:", analyzer="shingle") as index:
        ...     texts = [("a", "The quick brown fox jumps over the lazy dog."), ("b", "…!")]
        ...     decided = dict(index.dedup_many([*texts, ("c", texts[0][1].upper())]))
        >>> decided["a"].is_original, decided["b"], decided["c"].of
        (True, None, 'a')
        """
        chosen = self.deduplicator() if deduplicator is None else deduplicator
        seen: set[bytes] = set()

        def decide(entries: Entries) -> list[Decision | None]:
            places = []
            for at, digest in enumerate(map(keys.id_digest, entries.ids)):
                if digest not in seen:
                    seen.add(digest)
                    places.append(at)
            decisions: list[Decision | None] = [None] * len(entries)
            if places:
                few = entries if len(places) == len(entries) else entries.take(places)
                for at, decision in zip(places, self.dedup_entries(few, chosen), strict=True):
                    decisions[at] = decision
            return decisions

        def decided(chunk: "Chunk") -> Iterator[tuple[Document, Decision | None]]:
            return zip(chunk.kept, decide(chunk.entries.in_batch(name)), strict=True)

        name = checked_batch(batch)
        return ((each, result_of(decision)) for each, decision in self._each(decided, documents))

    def deduplicator(self, *, scratch: Store | None = None, judge: TextJudge | None = None) -> Deduplicator:
        """Return a `Deduplicator` of this index, which decides a corpus for `dedup_many` or `dedup_entries`.

        With a `scratch` store nothing is written to the index. `judge` compares whole texts, None only their sketches.
        """
        return Deduplicator(self.store, self.profile, scratch=scratch, judge=judge, server_clock=self._server_clock)

    @traced("dedup")
    def dedup_entries(self, entries: Entries, deduplicator: Deduplicator, *, texts: Sequence[str] = ()) -> Decisions:
        """Decide the next analysed documents of a corpus: original or duplicate; no id may come twice in one call.

        `texts` are their texts, if the deduplicator has a judge that compares whole texts; else empty.
        """
        self._check_open()
        check_storable(entries)
        return deduplicator.decide(self.collection.stored(entries), now=self._now(), texts=texts).given()

    @traced("stats")
    def stats(self, *, exact: bool = False, watch: ProgressCallback | None = None) -> Stats:
        """Return the figures of the index: documents, rows, bytes; see `Index.stats`."""
        return read_stats(self.store, self.profile, exact=exact, watch=watch)

    def __len__(self) -> int:
        """Return the number of the collection's documents that are no duplicates, by reading all; `stats` estimates."""
        return sum(stored.state != "duplicate" for stored in self.export())

    def __bool__(self) -> bool:
        """Return True: an index without documents must not count as false, as other empty containers do."""
        return True

    @traced("verify")
    def verify(
        self, *, repair: bool = False, watch: ProgressCallback | None = None, on_damage: DamageCallback | None = None
    ) -> Verified:
        """Check that search rows, member cells and document cells agree, and return counts of what was found.

        Search rows lead from hashes (of blocks of a fingerprint, bands of a sketch, passages) to fingerprints. A member
        cell stands for one document, in the row of its fingerprint; its document cell, in the row of its id, has the
        decision about it.

        Parameters
        ----------
        repair : bool
            Complete or remove what does not agree.
        watch : callable, optional
            Called with the progress, as a `ProgressCallback`.
        on_damage : callable, optional
            Is called with the row of each damaged cell, and with an error that says what is wrong.
        """
        # Damage of a mapped file may end the process that reads it, so another one reads it first.
        self.store.check_readable()
        times = Times.of(self._server_clock, self._now()) if repair else None
        return verify(self.store, self.profile, times=times, watch=watch, on_damage=on_damage)

    def expiry_warning(self) -> str | None:
        """Return a warning if all documents have expired by this machine's clock, which may be ahead; else None.

        Either nobody has written for longer than the time to live, or a clock is ahead: then copies of documents that
        are still wanted become originals. Reads one page of documents.
        """
        return expiry_warning(self.store, self.profile, self._clock())

    @traced("vacuum")
    def vacuum(self, *, yes: bool = False, watch: ProgressCallback | None = None) -> Vacuumed:
        """Delete expired documents, old removals, and cells and rows that no document needs; return how many of each.

        Parameters
        ----------
        yes : bool
            Delete expired documents even if these are most of the index.
        watch : callable, optional
            Called with the progress, as a `ProgressCallback`.

        Raises
        ------
        InvalidArgument
            When most documents have expired by this machine's clock, or the server's, or nothing was seen for a time
            to live between those that have expired and those that stay, unless `yes`. A clock that is ahead makes
            documents expire that are still wanted, so nothing is deleted then.
        StoreBusy
            While a bulk load is open.
        """
        return vacuum(self.store, self.profile, server_clock=self._server_clock, now=self._now(), yes=yes, watch=watch)

    def backup(self, destination: str | os.PathLike[str]) -> bool:
        """Copy the index while it is in use, and record in it when the copy began.

        Parameters
        ----------
        destination : str or path
            A folder that does not exist yet.

        Returns
        -------
        bool
            Whether the time could be noted: an index that may not be written, or whose disk is full, is copied all the
            same.

        Raises
        ------
        Unsupported
            When the store has no backup of its own.

        Notes
        -----
        The time is noted when the copy is complete. After a crash in between there is a backup that is not noted, so
        `stats` shows an earlier time, never a later one. The copy holds the time of the backup before.
        """
        began = self._now()
        self.store.backup(os.fspath(destination).removeprefix("file:"))
        try:
            indexrows.write_last_backup(self.store, began)
        except (InvalidArgument, StoreFull, StoreRefused):
            return False
        return True

    def note_backup(self, taken: Since) -> str:
        """Record a backup that was taken by other means, such as a snapshot of a table; return its time in RFC 3339.

        Parameters
        ----------
        taken : datetime or str
            When it began; an age such as ``2h`` is counted back from now.

        Raises
        ------
        InvalidArgument
            When the time is in the future, or none at all.
        """
        now = self._clock()
        time = since_ms(taken, now, name="taken")
        if time > now:
            raise InvalidArgument(f"taken is {taken}: that is in the future")
        indexrows.write_last_backup(self.store, time)
        return rfc3339(time)
