"""The index: documents in, near-duplicates out, over any store."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from threading import Lock
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

import numpy as np

from simhash_hbase.clock import now_ms
from simhash_hbase.entries import Entries, Metadata, check_storable
from simhash_hbase.errors import ClaimContended, EmptyDocument, IndexExists, InvalidArgument, Unsupported, no_words
from simhash_hbase.features.analysis import Analysed, Analysis
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.index.answers import Answer, Decision, Stored, make_answers, stored_document
from simhash_hbase.index.changes import read_states
from simhash_hbase.index.claim import Claimed, Timer, claim_by_protocol, claim_in_transaction
from simhash_hbase.index.decide.dedup import Deduplicator
from simhash_hbase.index.membercells import bare_entries, member_entries
from simhash_hbase.index.profilerows import read_idf, read_profile, write_own_rows
from simhash_hbase.index.search import find_neighbours
from simhash_hbase.index.servertime import writing_time
from simhash_hbase.index.upkeep.progress import Watch
from simhash_hbase.index.upkeep.stats import Stats, read_stats
from simhash_hbase.index.upkeep.vacuum import Vacuumed, vacuum
from simhash_hbase.index.upkeep.verify import Verified, scan_documents, verify
from simhash_hbase.index.write import Written, remove_documents, write_documents
from simhash_hbase.near import MatchRule
from simhash_hbase.profile import Profile
from simhash_hbase.rows.documents import DocumentState, Member, decode_member
from simhash_hbase.rows.keys import id_digest, member_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Backup, CellCounts, CompareAndSet, SelfChecked, Store, Transactional, atomically

T = TypeVar("T")

BATCH_DOCUMENTS = 2_000
"""Documents that the methods with ``_many`` in their name take at a time: one commit each."""


class Searched(NamedTuple):
    """What one search cost and found, over all its queries."""

    queries: int
    rows: int
    """Block rows that were read."""
    candidates: int
    """Pairs of a query and a stored fingerprint within reach."""
    matches: int
    """Documents that the rule accepted, and the answers tell."""
    truncated: int
    """Answers that a limit cut."""


class Index:
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

    def __init__(self, store: Store, *, clock: Callable[[], int] = now_ms, timer: Timer | None = None) -> None:
        self.store = store
        self.profile: Profile = read_profile(store)
        self.on_search: Callable[[Searched], None] | None = None
        """Called after each search of a query, in the thread that made it."""
        self._clock = clock
        self._timer = timer or Timer()
        self._last = 0
        self._ticking = Lock()

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

        Returns
        -------
        Index

        Raises
        ------
        IndexExists
            When the store holds an index.

        Notes
        -----
        The profile is written last: after a crash there is either no index or a whole one.
        """
        with atomically(store):
            if read_profile(store, missing=None) is not None:
                raise IndexExists(f"there is an index at {store.url} already")
            write_own_rows(store, profile, idf)
        return cls(store, clock=clock)

    @cached_property
    def analysis(self) -> Analysis:
        """What turns texts into entries; reads the learned table on first use."""
        return Analysis(self.profile, read_idf(self.store, self.profile))

    # -- writing

    def add(self, document_id: str, text: str, *, metadata: Metadata | None = None) -> int:
        """Add a document; a known id gets this text from now on.

        Parameters
        ----------
        document_id : str
            The caller's id.
        text : str
            The document.
        metadata : mapping, optional
            Kept with it; at most 1 KB as JSON.

        Returns
        -------
        int
            The fingerprint.

        Raises
        ------
        EmptyDocument
            When the text has no usable words.
        InvalidArgument
            When the id is empty or above 64 KB, or the metadata is above 1 KB or cannot be stored.
        """
        entries = _whole(self.analysis.texts([document_id], [text], [metadata]), [document_id])
        self.add_entries(entries)
        return int(entries.simhashes[0])

    def add_many(self, documents: Iterable[tuple[str, str]]) -> Iterator[tuple[str, int | None]]:
        """Add documents, a batch at a time.

        Parameters
        ----------
        documents : iterable of (id, text)
            Of an id that comes twice, the last text stays.

        Yields
        ------
        (id, fingerprint)
            In the order of the input, when the document is durable; the fingerprint is None for a text
            without usable words.
        """
        for chunk in _chunks(documents):
            analysed = self._analyse(chunk)
            self.add_entries(analysed.entries)
            simhashes = dict(zip(analysed.kept, analysed.entries.simhashes.tolist(), strict=True))
            yield from ((name, simhashes.get(at)) for at, (name, _) in enumerate(chunk))

    def add_entries(self, entries: Entries) -> Written:
        """Add analysed documents; of an id that comes twice, the last one stays.

        Returns
        -------
        Written
            Which ids were known, and which had another fingerprint.
        """
        known, moved = [False] * len(entries), [False] * len(entries)
        for rows in _rounds(entries.ids):
            done = write_documents(self.store, self.profile, entries.take(rows), None, now=self._now())
            for at, was_known, was_moved in zip(rows, done.known, done.moved, strict=True):
                known[at], moved[at] = was_known, was_moved
        return Written(known, moved)

    def remove_many(self, ids: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Remove documents.

        Yields
        ------
        (id, removed)
            Whether it was there.
        """
        oldest = self.profile.oldest(self._clock())
        for chunk in _chunks(ids):
            yield from zip(chunk, remove_documents(self.store, chunk, oldest=oldest), strict=True)

    def claim(
        self, document_id: str, text: str, *, metadata: Metadata | None = None, deadline_s: float | None = None
    ) -> Decision:
        """Decide whether a document is an original, beside other writers that claim near copies of it.

        Parameters
        ----------
        document_id : str
            The caller's id. Claimed again with the same text it gets the same answer, whoever asks.
        text : str
            The document.
        metadata : mapping, optional
            Kept with an original; at most 1 KB as JSON.
        deadline_s : float, optional
            Seconds to wait for other writers at most; without, as long as they are alive.

        Returns
        -------
        Decision
            Durable. Of near copies claimed at the same time exactly one is the original, and every duplicate names an
            original within its reach.

        Raises
        ------
        ClaimContended
            When other writers kept winning; nothing was decided, claim again.
        EmptyDocument
            When the text has no usable words.
        """
        entries = _whole(self.analysis.texts([document_id], [text], [metadata]), [document_id])
        [claimed] = self.claim_entries(entries, deadline_s=deadline_s)
        if isinstance(claimed, ClaimContended):
            raise claimed
        return claimed

    def claim_many(
        self, documents: Iterable[tuple[str, str]], *, deadline_s: float | None = None
    ) -> Iterator[tuple[str, Claimed | None]]:
        """Claim documents, a batch at a time; of near copies in the input the first one is claimed first.

        Parameters
        ----------
        documents : iterable of (id, text)
            An id that comes twice gets one answer if the text is the same.
        deadline_s : float, optional
            For each batch, as for `claim`.

        Yields
        ------
        (id, Decision)
            In the order of the input, when the decision is durable. In its place None for a text without usable
            words, and the error `ClaimContended`, not raised, for a document that other writers kept winning.
        """
        for chunk in _chunks(documents):
            analysed = self._analyse(chunk)
            claimed = self.claim_entries(analysed.entries, deadline_s=deadline_s)
            answers = dict(zip(analysed.kept, claimed, strict=True))
            yield from ((name, answers.get(at)) for at, (name, _) in enumerate(chunk))

    def claim_entries(self, entries: Entries, *, deadline_s: float | None = None) -> list[Claimed]:
        """Claim analysed documents; see `claim_many`.

        Returns
        -------
        list of Decision or ClaimContended
            One a document.

        Raises
        ------
        StoreTimeout, StoreUnavailable
            When the store did not answer for longer than it repeats its calls. Part of the documents may have been
            decided by then. Claim them again: that part gets its answers, the rest is decided, where the first try
            was under way after the index's lease at the latest.
        """
        self._check_whole("claim")
        check_storable(entries)
        claimed: list[Claimed] = []
        for rows in _rounds(entries.ids):
            for at in range(0, len(rows), BATCH_DOCUMENTS):
                claimed += self._claim(entries.take(rows[at : at + BATCH_DOCUMENTS]), deadline_s)
        return claimed

    def _claim(self, entries: Entries, deadline_s: float | None) -> Sequence[Claimed]:
        if isinstance(self.store, Transactional):
            return claim_in_transaction(self.store, self.profile, entries, now=self._now())
        if not isinstance(self.store, CompareAndSet):
            raise Unsupported(f"claim needs compare-and-set, which {self.store.url} does not have")
        now = self._now()
        behind = writing_time(self.store, now) - now
        return claim_by_protocol(
            self.store,
            self.profile,
            entries,
            clock=lambda: self._now() + behind,
            timer=self._timer,
            deadline_s=deadline_s,
        )

    def deduplicator(self, *, scratch: Store | None = None) -> Deduplicator:
        """Make what decides a corpus against this index and itself; see `Deduplicator`."""
        self._check_whole("dedup")
        return Deduplicator(self.store, self.profile, scratch=scratch)

    def dedup_entries(self, entries: Entries, deduplicator: Deduplicator) -> list[Decision]:
        """Decide the next documents of a corpus."""
        return deduplicator.decide(entries, now=self._now())

    # -- reading

    def rule(
        self, *, match: str | None = None, distance: int | None = None, similarity: float | None = None
    ) -> MatchRule:
        """Make a query's rule: the index's own, with what the caller wants otherwise.

        A distance by itself means rule ``distance``: everything within it. With rule ``verified`` it is the radius
        within which sketches are asked, where that is larger than the index's.

        Raises
        ------
        InvalidArgument
            When a value is out of range, or ``verified`` is asked of an index without sketches.
        """
        own = self.profile.rule
        if match not in (None, "distance", "verified"):
            raise InvalidArgument(f"match {match!r}: wanted distance or verified")
        if match == "verified" and self.profile.sketch is None:
            raise InvalidArgument("the index keeps no sketches, so it can match by distance only")
        within = own.distance if distance is None else distance
        least = own.similarity if similarity is None else similarity
        if similarity is not None and match == "distance":
            raise InvalidArgument("a similarity goes with rule verified, not with distance")
        if not 0 <= within <= 64:  # noqa: PLR2004
            raise InvalidArgument(f"distance {within}: wanted 0 to 64")
        if not 0 <= least <= 1:
            raise InvalidArgument(f"similarity {least}: wanted 0 to 1")
        # Who names a distance, and nothing of similarity, asks for what is within it.
        plain = distance is not None and similarity is None
        chosen = match or ("distance" if plain else own.match)
        return MatchRule(
            match="verified" if chosen == "verified" else "distance",
            distance=within,
            similarity=least,
            radius=max(own.radius, within),
        )

    def query(self, text: str, *, rule: MatchRule | None = None, limit: int | None = None) -> Answer:
        """Find the near-duplicates of a text.

        Parameters
        ----------
        text : str
            A document, in the index or not.
        rule : MatchRule, optional
            Another rule than the index's; see `Index.rule`.
        limit : int, optional
            Matches at most, 1 or more; an answer that it cuts says ``truncated``.

        Returns
        -------
        Answer

        Raises
        ------
        EmptyDocument
            When the text has no usable words.
        """
        entries = _whole(self.analysis.texts([""], [text]), [None])
        return self.query_entries(entries, rule=rule, limit=limit)[0]

    def query_many(
        self, documents: Iterable[tuple[str, str]], *, rule: MatchRule | None = None, limit: int | None = None
    ) -> Iterator[tuple[str, Answer | None]]:
        """Find the near-duplicates of many documents, a batch at a time.

        Parameters
        ----------
        documents : iterable of (id, text)
            A document does not match itself by id.
        rule, limit
            As for `query`.

        Yields
        ------
        (id, Answer)
            In the order of the input; None for a text without usable words.
        """
        for chunk in _chunks(documents):
            analysed = self._analyse(chunk)
            answers = dict(
                zip(analysed.kept, self.query_entries(analysed.entries, rule=rule, limit=limit), strict=True)
            )
            yield from ((name, answers.get(at)) for at, (name, _) in enumerate(chunk))

    def query_entries(
        self, entries: Entries, *, rule: MatchRule | None = None, limit: int | None = None
    ) -> list[Answer]:
        """Find the near-duplicates of analysed documents; see `query_many`."""
        if limit is not None and limit < 1:
            raise InvalidArgument(f"limit {limit}: wanted at least 1")
        asked = rule or self.profile.rule
        found = find_neighbours(self.store, self.profile, entries, rule=asked, now=self._clock())
        answers = make_answers(found, entries, self.profile, asked, limit=limit)
        if self.on_search is not None:
            matches, cut = sum(len(answer.matches) for answer in answers), sum(answer.truncated for answer in answers)
            self.on_search(Searched(len(entries), found.rows, found.candidates, matches, cut))
        return answers

    def query_simhash(self, simhash: int, *, rule: MatchRule | None = None, limit: int | None = None) -> Answer:
        """Find the documents near a ready fingerprint, by distance: it has no sketch."""
        entries = Entries.of_fingerprints([""], np.array([simhash], dtype=np.uint64))
        return self.query_entries(entries, rule=rule, limit=limit)[0]

    def query_id(self, document_id: str, *, rule: MatchRule | None = None, limit: int | None = None) -> Answer | None:
        """Find the near-duplicates of a stored document; None when the index does not hold the id."""
        entries = self.entries_of(document_id)
        return None if entries is None else self.query_entries(entries, rule=rule, limit=limit)[0]

    def entries_of(self, document_id: str) -> Entries | None:
        """Read a document back as analysis made it; of a duplicate only the fingerprint is left.

        Returns
        -------
        Entries or None
            None when the index does not hold the id.
        """
        [held] = self._read([document_id])
        if held is None:
            return None
        state, member = held
        return bare_entries([state]) if member is None else member_entries([member], [state.simhash])

    def get(self, document_id: str) -> Stored | None:
        """Read what the index holds of an id; None when it holds nothing, or only that it was removed."""
        return self.get_many([document_id])[0]

    def get_many(self, ids: Sequence[str]) -> list[Stored | None]:
        """Read what the index holds of ids, in their order."""
        self._check_whole("get")
        return [None if held is None else stored_document(*held) for held in self._read(ids)]

    def export(self, *, watch: Watch | None = None) -> Iterator[Stored]:
        """Read all documents in the order of their ids' digests, a page at a time."""
        self._check_whole("export")
        for states in scan_documents(self.store, watch):
            oldest = self.profile.oldest(self._clock())
            live = [state for raw in states if (state := raw.shown(oldest))]
            members = self._members(live)
            yield from (stored_document(state, member) for state, member in zip(live, members, strict=True))

    # -- operating

    def stats(self, *, exact: bool = False, watch: Watch | None = None) -> Stats:
        """Count documents, rows and bytes; sampled unless `exact`, and where counting is cheap."""
        return read_stats(self.store, self.profile, exact=exact, watch=watch)

    def verify(self, *, repair: bool = False, watch: Watch | None = None) -> Verified:
        """Check that rows, members and document cells agree, and complete or remove what does not."""
        self._check_whole("verify")
        if isinstance(self.store, SelfChecked):
            self.store.check_readable()
        return verify(self.store, self.profile, now=self._now(), repair=repair, watch=watch)

    def vacuum(self, *, watch: Watch | None = None) -> Vacuumed:
        """Delete what no answer needs any more."""
        self._check_whole("vacuum")
        return vacuum(self.store, self.profile, now=self._now(), watch=watch)

    def backup(self, destination: str) -> None:
        """Copy the index while it is in use.

        Raises
        ------
        Unsupported
            When the store has no backup of its own.
        """
        if not isinstance(self.store, Backup):
            raise Unsupported(f"{self.store.url} cannot be copied by this command; see README, Operate")
        self.store.backup(destination)

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- inside

    def _check_whole(self, operation: str) -> None:
        """Refuse what needs ranges or compare-and-set of a store that has neither."""
        if isinstance(self.store, CellCounts):
            raise Unsupported(
                f"{operation} needs a file: or hbase:// index: {self.store.url} does create, add, query, remove, stats"
            )

    def _now(self) -> int:
        """Read the clock; each batch of this process gets a later time than the one before."""
        with self._ticking:
            self._last = max(self._clock(), self._last + 1)
            return self._last

    def _analyse(self, chunk: Sequence[tuple[str, str]]) -> Analysed:
        return self.analysis.texts([name for name, _ in chunk], [text for _, text in chunk])

    def _read(self, ids: Sequence[str]) -> list[tuple[DocumentState, Member | None] | None]:
        oldest = self.profile.oldest(self._clock())
        states = [held and held[0].shown(oldest) for held in read_states(self.store, ids)]
        live = [state for state in states if state is not None]
        members = iter(self._members(live))
        return [None if state is None else (state, next(members)) for state in states]

    def _members(self, states: Sequence[DocumentState]) -> list[Member | None]:
        keys = [(member_row(state.simhash), id_digest(state.id)) for state in states]
        cells = self.store.get(FAMILY_DOCUMENTS, keys)
        return [
            decode_member(cell.value) if cell is not None and state.is_found else None
            for state, cell in zip(states, cells, strict=True)
        ]


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, BATCH_DOCUMENTS)):
        yield chunk


def _rounds(ids: Sequence[str]) -> Iterator[list[int]]:
    """Cut positions into runs without a repeated id; nearly always into one."""
    run: dict[str, int] = {}
    for at, name in enumerate(ids):
        if name in run:
            yield list(run.values())
            run = {}
        run[name] = at
    if run:
        yield list(run.values())


def _whole(analysed: Analysed, names: Sequence[str | None]) -> Entries:
    for at in analysed.refused:
        raise EmptyDocument(no_words(names[at]))
    return analysed.entries
