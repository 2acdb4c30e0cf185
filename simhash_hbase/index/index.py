"""The index: documents in, near-duplicates out, over any store."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self

from simhash_hbase.errors import ClaimContended, IndexExists, InvalidArgument, StoreFull, StoreRefused, Unsupported
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.index import indexrows, timestamps
from simhash_hbase.index.answers import Decision, as_given
from simhash_hbase.index.arguments import BATCH_DOCUMENTS, GivenDocument, batches, checked_ids, runs_of_ids
from simhash_hbase.index.claim import Claimed, claim_by_protocol, claim_in_transaction
from simhash_hbase.index.dedup import Deduplicator
from simhash_hbase.index.exact import TextJudge
from simhash_hbase.index.reading import ReadableIndex
from simhash_hbase.index.upkeep.maintenance import Vacuumed, Verified, expiry_warning, vacuum, verify
from simhash_hbase.index.upkeep.stats import Stats, read_stats
from simhash_hbase.index.upkeep.walk import ProgressCallback
from simhash_hbase.index.write import Written, remove_documents, write_documents
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries, Metadata, check_storable
from simhash_hbase.rows.clock import Since, now_ms, rfc3339, since_ms
from simhash_hbase.rows.keys import id_digest
from simhash_hbase.stores.base import OnDisk, Store, Transactional, atomically


class Index(ReadableIndex):
    """A near-duplicate index.

    Parameters
    ----------
    store : Store
        Holds the index; it must have been made by `Index.create`.
    clock : callable, optional
        Milliseconds since 1970.
    timer : Timer, optional
        Measures how long claims wait for other writers.

    Raises
    ------
    IndexMissing
        When the store holds no index.

    Notes
    -----
    Several processes may use one index at a time, each with its own `Index`. Threads may share one: they take turns
    where texts are analysed.
    """

    @classmethod
    def create(
        cls, store: Store, profile: Profile, *, idf: IdfTable | None = None, clock: Callable[[], int] = now_ms
    ) -> Self:
        """Make an index in an empty store.

        Parameters
        ----------
        store : Store
            Takes the index.
        profile : Profile
            Frozen from now on.
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

    def add(self, document_id: str, text: str, *, metadata: Metadata | None = None) -> int:
        """Add a document and return its fingerprint; a known id gets this text from now on.

        Parameters
        ----------
        document_id : str
            The caller's id.
        text : str
            The document.
        metadata : mapping, optional
            Kept with it; at most 1 KB as JSON.

        Raises
        ------
        EmptyDocument
            When the text has no usable words.
        InvalidArgument
            When the id is empty or above 64 KB, or the metadata is above 1 KB or cannot be stored.
        """
        entries = self._analysed(document_id, text, metadata)
        self.add_entries(entries)
        return int(entries.simhashes[0])

    def add_many(self, documents: Iterable[GivenDocument]) -> Iterator[tuple[str, int | None]]:
        """Add documents, a batch at a time.

        Parameters
        ----------
        documents : iterable of (id, text) or (id, text, metadata)
            Of an id that comes twice, the last text stays.

        Yields
        ------
        (id, fingerprint)
            In the order of the input, when the document is durable; the fingerprint is None for a text without usable
            words.
        """

        def add(entries: Entries) -> list[int]:
            self.add_entries(entries)
            return [int(simhash) for simhash in entries.simhashes]

        return self._in_batches(documents, add)

    def add_entries(self, entries: Entries) -> Written:
        """Add analysed documents and return which were known; of an id that comes twice, the last one stays."""
        check_storable(entries)
        written = Written([], [])
        for run in runs_of_ids(self.collection.stored(entries)):
            flags = write_documents(self.store, self.profile, run, None, now=self._now())
            written = Written(written.known + flags.known, written.moved + flags.moved)
        return written

    def remove(self, document_id: str) -> bool:
        """Remove a document, and return whether it was there."""
        [(_, was_there)] = self.remove_many([document_id])
        return was_there

    def remove_many(self, ids: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Remove documents; yield each id and whether it was there."""
        oldest = self._oldest()
        for batch in batches(checked_ids(ids)):
            stored_ids = list(map(self.collection.stored_id, batch))
            yield from zip(batch, remove_documents(self.store, stored_ids, oldest=oldest), strict=True)

    def claim(
        self, document_id: str, text: str, *, metadata: Metadata | None = None, deadline_s: float | None = None
    ) -> Decision:
        """Decide whether a document is an original, safely while other writers claim near copies of it.

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

        Returns
        -------
        Decision
            Durable. Of near copies claimed at the same time exactly one is the original, and every duplicate names an
            original within its reach.

        Raises
        ------
        ClaimContended
            When the document stayed contested; nothing was decided for it, so claim it again.
        EmptyDocument
            When the text has no usable words.
        """
        [claimed] = self.claim_entries(self._analysed(document_id, text, metadata), deadline_s=deadline_s)
        if isinstance(claimed, ClaimContended):
            raise claimed
        return claimed

    def claim_many(
        self, documents: Iterable[GivenDocument], *, deadline_s: float | None = None
    ) -> Iterator[tuple[str, Claimed | None]]:
        """Claim documents, a batch at a time; of near copies in the input the first one is claimed first.

        Parameters
        ----------
        documents : iterable of (id, text) or (id, text, metadata)
            An id that comes twice gets one answer if the text is the same.
        deadline_s : float, optional
            For each batch, as for `claim`.

        Yields
        ------
        (id, Decision)
            In the order of the input, when the decision is durable. In its place None for a text without usable words,
            and the error `ClaimContended`, not raised, for a document that stayed contested.
        """
        return self._in_batches(documents, lambda entries: self.claim_entries(entries, deadline_s=deadline_s))

    def claim_entries(self, entries: Entries, *, deadline_s: float | None = None) -> list[Claimed]:
        """Claim analysed documents, and return one answer a document; see `claim_many`.

        Raises
        ------
        StoreTimeout, StoreUnavailable
            When the store did not answer for longer than its calls are retried. Part of the documents may have been
            decided by then. Claim them again: that part gets its answers, the rest is decided, where the first try
            was under way after the index's lease at the latest.
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
        if isinstance(store, Transactional):
            return claim_in_transaction(store, self.profile, entries, now=now)
        behind = timestamps.writing_time(store, now) - now
        return claim_by_protocol(
            store, self.profile, entries, clock=lambda: self._now() + behind, timer=self._timer, deadline_s=deadline_s
        )

    def dedup_many(
        self, documents: Iterable[GivenDocument], *, deduplicator: Deduplicator | None = None
    ) -> Iterator[tuple[str, Decision | None]]:
        """De-duplicate a corpus greedily, in the order of the input, a batch at a time.

        Each document is compared with the originals that the index holds and with those kept before it. It becomes an
        original itself, or a duplicate of the nearest one.

        Parameters
        ----------
        documents : iterable of (id, text) or (id, text, metadata)
            An id that the index held before gets its recorded decision if the text is the same.
        deduplicator : Deduplicator, optional
            One of `deduplicator`, such as one that writes to a scratch store for a dry run.

        Yields
        ------
        (id, Decision)
            In the order of the input, when the decision is durable. None for a document that has no decision: its text
            has no usable words, or its id came before in the input, whatever its text is.

        Raises
        ------
        InvalidArgument
            When what comes is no document.

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
            for at, digest in enumerate(map(id_digest, entries.ids)):
                if digest not in seen:
                    seen.add(digest)
                    places.append(at)
            decisions: list[Decision | None] = [None] * len(entries)
            if places:
                few = entries if len(places) == len(entries) else entries.take(places)
                for at, decision in zip(places, self.dedup_entries(few, chosen), strict=True):
                    decisions[at] = decision
            return decisions

        return self._in_batches(documents, decide)

    def deduplicator(self, *, scratch: Store | None = None, judge: TextJudge | None = None) -> Deduplicator:
        """Make a `Deduplicator` of this index; with a scratch store nothing is written to the index."""
        return Deduplicator(self.store, self.profile, scratch=scratch, judge=judge)

    def dedup_entries(
        self, entries: Entries, deduplicator: Deduplicator, *, texts: Sequence[str] = ()
    ) -> list[Decision]:
        """Decide the next documents of a corpus; no id may come twice in one call."""
        self._check_open()
        check_storable(entries)
        decisions = deduplicator.decide(self.collection.stored(entries), now=self._now(), texts=texts)
        return list(map(as_given, decisions))

    def stats(self, *, exact: bool = False, watch: ProgressCallback | None = None) -> Stats:
        """Count documents, rows and bytes; sampled unless `exact`, and where counting is cheap."""
        return read_stats(self.store, self.profile, exact=exact, watch=watch)

    def __len__(self) -> int:
        """Count the documents that queries find, those of the collection, by reading all; `stats` estimates."""
        return sum(stored.state != "duplicate" for stored in self.export())

    def __bool__(self) -> bool:
        """Return True: an index without documents is an index, too."""
        return True

    def verify(self, *, repair: bool = False, watch: ProgressCallback | None = None) -> Verified:
        """Check that rows, members and document cells agree, and complete or remove what does not."""
        if isinstance(self.store, OnDisk):
            self.store.check_readable()
        return verify(self.store, self.profile, now=self._now(), repair=repair, watch=watch)

    def expiry_warning(self) -> str | None:
        """Say so where all documents have expired by this machine's clock, which may be ahead; None else.

        Nobody may have written for longer than the time to live, or a clock is ahead: then copies of documents that are
        still wanted become originals. Reads a page of documents.
        """
        return expiry_warning(self.store, self.profile, self._clock())

    def vacuum(self, *, yes: bool = False, watch: ProgressCallback | None = None) -> Vacuumed:
        """Delete what no answer needs any more.

        Parameters
        ----------
        yes : bool
            Delete expired documents even if these are most of the index.
        watch : callable, optional
            Is told how far it is.

        Raises
        ------
        InvalidArgument
            When most documents have expired by this machine's clock, or the server's, unless `yes`. A clock that is
            ahead makes documents expire that are still wanted, so nothing is deleted then.
        StoreBusy
            While a bulk load is open.
        """
        return vacuum(self.store, self.profile, now=self._now(), yes=yes, watch=watch)

    def backup(self, destination: str) -> bool:
        """Copy the index while it is in use, and note in it when the copy began.

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
        if not isinstance(self.store, OnDisk):
            raise Unsupported(f"{self.store.url} cannot be copied by this command; see docker/README.md, Back up")
        began = self._now()
        self.store.backup(destination)
        try:
            indexrows.write_last_backup(self.store, began)
        except (InvalidArgument, StoreFull, StoreRefused):
            return False
        return True

    def note_backup(self, taken: Since) -> str:
        """Note a backup that was taken by other means, such as a snapshot of a table; return its time in RFC 3339.

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
            raise InvalidArgument(f"taken {taken}: that is in the future")
        indexrows.write_last_backup(self.store, time)
        return rfc3339(time)
