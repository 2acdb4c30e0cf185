"""What reads an index: queries, and documents by their ids."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

import numpy as np

from simhash_hbase.errors import CorruptIndex, EmptyDocument, IndexClosed, InvalidArgument, no_words
from simhash_hbase.index import arguments, documentrows, indexrows
from simhash_hbase.index.answers import Answer, Stored, make_answers, stored_document
from simhash_hbase.index.candidates import Queries
from simhash_hbase.index.copies import Copies, find_copies
from simhash_hbase.index.search import Neighbours
from simhash_hbase.index.timestamps import Timer
from simhash_hbase.index.upkeep.walk import DamageCallback, ProgressCallback, scan_documents
from simhash_hbase.profile import MatchRule, Profile
from simhash_hbase.rows import keys, layout
from simhash_hbase.rows.analysed import Entries, Metadata
from simhash_hbase.rows.clock import Since, now_ms, parse_since, since_ms
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.documentcells import DocumentState, Member, decode_member
from simhash_hbase.stores.base import UNLIMITED, Store

if TYPE_CHECKING:
    from simhash_hbase.features.analysis import Analysis

T = TypeVar("T")


class Searched(NamedTuple):
    """What one search cost and found, over all its queries."""

    queries: int
    rows: int  # Block rows that were read.
    candidates: int  # Pairs of a query and a stored fingerprint within reach.
    matches: int  # Documents that the rule accepted, and that the answers name.
    truncated: int  # Answers that a limit cut.


@dataclass(slots=True, eq=False)
class _Shared:
    """What an index and the views of its collections have in common."""

    is_closed: bool = False
    last: int = 0  # The time of the latest batch.
    ticking: Lock = field(default_factory=Lock)
    analysis: "Analysis | None" = None
    secret: bytes | None = None


class ReadableIndex:
    """An opened index: its store, its profile and its clock, and what reads it; `Index` adds what writes."""

    def __init__(self, store: Store, *, clock: Callable[[], int] = now_ms, timer: Timer | None = None) -> None:
        self._store = store
        self.on_search: Callable[[Searched], None] | None = None
        """Called after each search of a query, in the thread that made it."""
        self._begin(indexrows.read_profile(store), clock, timer)

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
        view.collection = Collection() if name is None else Collection(name, self._secret())
        return view

    def _secret(self) -> bytes | None:
        """Read the secret of the index on first use."""
        if self._shared.secret is None:
            self._shared.secret = indexrows.read_secret(self.store, self.profile)
        return self._shared.secret

    @property
    def address(self) -> str:
        """The address of the store, and which collection."""
        name = self.collection.name
        return self._store.url if name is None else f"{self._store.url} (collection {name})"

    @property
    def analysis(self) -> "Analysis":
        """What turns texts into entries; reads the learned table on first use."""
        if self._shared.analysis is None:
            # Look-ups need none of it, and its expressions take longer to compile than a look-up.
            from simhash_hbase.features.analysis import Analysis  # noqa: PLC0415

            self._shared.analysis = Analysis(self.profile, indexrows.read_idf(self.store, self.profile))
        return self._shared.analysis

    @analysis.setter
    def analysis(self, analysis: "Analysis") -> None:
        self._shared.analysis = analysis

    @property
    def store(self) -> Store:
        """What keeps the rows.

        Raises
        ------
        IndexClosed
            After `close`, whatever the store is.
        """
        self._check_open()
        return self._store

    def _check_open(self) -> None:
        """Raise `IndexClosed` after `close`."""
        if self._shared.is_closed:
            raise IndexClosed(f"{self._store.url}: this index was closed")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}{', closed' if self._shared.is_closed else ''}>"

    def close(self) -> None:
        """Close the store; from now on every call that needs it raises `IndexClosed`. A second call does nothing."""
        self._shared.is_closed = True
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _now(self) -> int:
        """Read the clock; each batch of this process gets a later time than the one before."""
        with self._shared.ticking:
            self._shared.last = max(self._clock(), self._shared.last + 1)
            return self._shared.last

    def _oldest(self) -> int:
        """Return the time since which a document must have been seen to count, ms since 1970."""
        return self.profile.oldest(self._clock())

    def _analysed(self, name: str, text: str, metadata: Metadata | None = None) -> Entries:
        """Analyse one document, which must have a fingerprint."""
        name, text, metadata = arguments.checked_types(name, text, metadata)
        analysed = self.analysis.texts([name], [text], [metadata])
        if analysed.refused:
            raise EmptyDocument(no_words(name))
        return analysed.entries

    def _in_batches(
        self, documents: Iterable[arguments.GivenDocument], act: Callable[[Entries], Iterable[T]]
    ) -> Iterator[tuple[str, T | None]]:
        """Analyse documents and act on them, a batch at a time; None for a text without usable words."""
        checked = (arguments.checked_document(number, document) for number, document in enumerate(documents, 1))
        for batch in arguments.batches(checked):
            ids, texts, metadata = zip(*batch, strict=True)
            analysed = self.analysis.texts(ids, texts, metadata)
            kept, results = set(analysed.kept), iter(act(analysed.entries))
            yield from ((name, next(results) if at in kept else None) for at, name in enumerate(ids))

    def rule(
        self, *, match: str | None = None, distance: int | None = None, similarity: float | None = None
    ) -> MatchRule:
        """Make the rule of a query: that of the index, changed as the caller asks.

        A distance by itself means rule ``distance``: everything within it. With rule ``verified`` it is the radius
        within which sketches are compared, where that is larger than the index's.

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
        plain = distance is not None and similarity is None
        chosen = match or ("distance" if plain else own.match)
        return MatchRule(
            match="verified" if chosen == "verified" else "distance",
            distance=within,
            similarity=least,
            radius=max(own.radius, within),
            band_distance=own.band_distance and tuple(max(bits, within) for bits in own.band_distance),
            free_distance=own.free_distance,
        )

    def query(
        self, text: str, *, rule: MatchRule | None = None, limit: int | None = None, since: Since | None = None
    ) -> Answer:
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
        [answer] = self.answer_entries(self._analysed("", text), rule=rule, limit=limit, since=since)
        return answer

    def query_many(
        self,
        documents: Iterable[arguments.GivenDocument],
        *,
        rule: MatchRule | None = None,
        limit: int | None = None,
        since: Since | None = None,
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
        moment = None if since is None else parse_since(since, self._clock())
        return self._in_batches(
            documents, lambda entries: self.answer_entries(entries, rule=rule, limit=limit, since=moment)
        )

    def query_entries(
        self, entries: Entries, *, rule: MatchRule | None = None, limit: int | None = None, since: Since | None = None
    ) -> list[Answer]:
        """Find the near-duplicates of analysed documents; see `query_many`."""
        return list(self.answer_entries(entries, rule=rule, limit=limit, since=since))

    def answer_entries(
        self, entries: Entries, *, rule: MatchRule | None = None, limit: int | None = None, since: Since | None = None
    ) -> Iterator[Answer]:
        """Find the near-duplicates of analysed documents, one answer after the other.

        Answers are made while they are read: where the matches of all documents together do not fit into memory, drop
        each answer before the next one.
        """
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise InvalidArgument(f"limit {limit!r}: wanted at least 1")
        oldest = self._oldest() if since is None else max(self._oldest(), since_ms(since, self._clock()))
        # One more than the limit tells whether there are more; the document itself may be among them.
        most = UNLIMITED if limit is None else limit + 2
        queries = Queries.of(self.profile, self.collection.stored(entries), rule)
        found = Neighbours(self.store, queries, oldest=oldest, most=most)
        matches = cut = 0
        try:
            for answer in make_answers(queries, found, limit=limit):
                matches += len(answer.matches)
                cut += answer.truncated
                yield answer
        finally:
            # A caller that knows how many answers there are does not ask for one more.
            if self.on_search is not None:
                self.on_search(Searched(len(entries), found.rows, found.candidates, matches, cut))

    def query_simhash(
        self, simhash: int, *, rule: MatchRule | None = None, limit: int | None = None, since: Since | None = None
    ) -> Answer:
        """Find the documents near a ready fingerprint, by distance: it has no sketch."""
        entries = Entries.of_fingerprints([""], np.array([keys.check_simhash(simhash)], dtype=np.uint64))
        [answer] = self.answer_entries(entries, rule=rule, limit=limit, since=since)
        return answer

    def query_id(
        self, document_id: str, *, rule: MatchRule | None = None, limit: int | None = None, since: Since | None = None
    ) -> Answer | None:
        """Find the near-duplicates of a stored document; None when the index does not hold the id."""
        entries = self.entries_of(document_id)
        if entries is None:
            return None
        [answer] = self.answer_entries(entries, rule=rule, limit=limit, since=since)
        return answer

    def entries_of(self, document_id: str) -> Entries | None:
        """Read a document back as analysis made it, None if it is not there; of a duplicate only the fingerprint."""
        [held] = self._read([document_id])
        if held is None:
            return None
        state, member = held
        return self.collection.given(
            documentrows.bare_entries([state])
            if member is None or state.is_duplicate
            else documentrows.member_entries([member], [state.simhash], bands=self.profile.bands)
        )

    def get(self, document_id: str) -> Stored | None:
        """Read what the index holds of an id; None when it holds nothing, or only that it was removed."""
        return self.get_many([document_id])[0]

    def __contains__(self, document_id: object) -> bool:
        """Return whether the index holds a document of this id, an original or a duplicate."""
        return isinstance(document_id, str) and self.get(document_id) is not None

    def get_many(self, ids: Sequence[str]) -> list[Stored | None]:
        """Read what the index holds of ids, in their order."""
        read = self._read(arguments.checked_ids(ids))
        return [None if held is None else stored_document(self.collection, *held) for held in read]

    def copies(self, document_id: str) -> Copies | None:
        """List what was decided a duplicate of an original, by `claim` and `dedup`.

        Parameters
        ----------
        document_id : str
            The id of an original, or of a copy: then the copies of its original are listed.

        Returns
        -------
        Copies or None
            At most as many copies as the profile's ``max_members``; None when the index does not hold the id.
        """
        return find_copies(self.store, self.profile, self.collection.stored_id(document_id), self._oldest())

    def export(
        self, *, watch: ProgressCallback | None = None, on_damage: DamageCallback | None = None
    ) -> Iterator[Stored]:
        """Read all documents in the order of their ids' digests, a page at a time.

        Parameters
        ----------
        watch : callable, optional
            Is told how far it is.
        on_damage : callable, optional
            Is called with the row of each damaged cell, and with the error. A damaged document cell is left out then,
            whatever its collection was; a document whose member is damaged comes without what that holds.

        Raises
        ------
        CorruptIndex
            At the first damaged cell, without `on_damage`.
        """
        for states in scan_documents(self.store, watch, on_damage):
            oldest = self._oldest()
            own = filter(lambda state: self.collection.holds(state.id), states)
            live = [shown for state in own if (shown := state.shown(oldest))]
            for state, member in zip(live, self._members(live, on_damage), strict=True):
                yield stored_document(self.collection, state, member)

    def _read(self, ids: Iterable[str]) -> list[tuple[DocumentState, Member | None] | None]:
        oldest = self._oldest()
        states = [
            held and held[0].shown(oldest)
            for held in documentrows.read_states(self.store, list(map(self.collection.stored_id, ids)))
        ]
        members = iter(self._members([state for state in states if state is not None]))
        return [None if state is None else (state, next(members)) for state in states]

    def _members(self, states: Sequence[DocumentState], on_damage: DamageCallback | None = None) -> list[Member | None]:
        """Read the members of documents; of a duplicate, its cell among the copies of its original."""
        cells = self.store.get(layout.FAMILY_DOCUMENTS, [state.kept_key(keys.id_digest(state.id)) for state in states])
        members: list[Member | None] = []
        for cell in cells:
            member = None
            if cell is not None:
                try:
                    member = decode_member(cell.value, bands=self.profile.bands)
                except CorruptIndex as error:
                    if on_damage is None:
                        raise
                    on_damage(cell.row, error)
            members.append(member)
        return members
