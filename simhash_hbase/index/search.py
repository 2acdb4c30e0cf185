"""Search: find the stored documents that match queries by the match rule, from candidates with near fingerprints.

Sketches are compared first, many at a time, as the member cells in the rows of the fingerprints have them. The document
cells, which say whether a document still counts, are read for accepted pairs only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.index.candidates import CandidatePairs, Candidates, Queries, expand
from simhash_hbase.index.copied import CopiedSearch, passage_containment
from simhash_hbase.index.members import DocumentFilter, MemberPage, Members, are_found, found_since
from simhash_hbase.profile.matching import judge, known_likeness
from simhash_hbase.rows import documentcells, keys
from simhash_hbase.rows.collections import collection_of
from simhash_hbase.rows.documentcells import DocumentState, Member, Text, passages_of
from simhash_hbase.stores.base import UNLIMITED, Store

# Sketches of pairs that are compared at a time: some ten megabytes.
SKETCHES_AT_ONCE = 1 << 16
# A decision needs one original in force: of a fingerprint that more documents have, so many are compared, and more only
# until one of them fits.
FIRST_MEMBERS = 100
MORE_MEMBERS = 10_000
FARTHEST = 255
# Where documents of the nearest members do not count, so many times as many members are read next.
MORE_TRANCHE = 4


class Hit(NamedTuple):
    """A stored document that matches a query by the match rule."""

    member: Member
    state: DocumentState  # The decision that the member stands for.
    text: Text  # The member's text; the document cell may name another one too.
    distance: int
    similarity: float | None
    containment: float | None  # Share of the query's shingles that the document has.


Further: TypeAlias = Literal["done", "other texts", "more"]
"""What a query needs after a hit: none of a larger distance, hits of other texts only, or further ones of any text."""

AcceptHit: TypeAlias = Callable[[int, Hit], Further]
"""Takes the position of a query and a hit; returns what else the query needs."""


class Searched(NamedTuple):
    """The cost and the number of results of one search, summed over all its queries."""

    queries: int
    rows: int  # Block rows that were read.
    candidates: int  # Pairs of a query and a stored fingerprint within reach.
    matches: int  # Documents that the rule accepted, and that the answers name.
    truncated: int  # Answers that a limit cut.


class Neighbours:
    """The matches (hits) of many queries: stored documents that the match rule accepts, last seen at `oldest` or later.

    Iterating gives the hits of each query in turn. It takes three rounds of calls to the store: block rows, member
    cells, document cells. Where there are more pairs than fit into memory, the last two rounds are made again for the
    next queries. So memory is bounded by the rows, the member cells near one slice of the queries and the hits of that
    slice, if the caller drops the hits that it has read.

    Parameters
    ----------
    store : Store
        Holds the index.
    queries : Queries
        The documents to search for.
    oldest : int
        Only documents that were last seen then or later count; ms since 1970.
    most : int
        Most hits of one query.
    """

    def __init__(self, store: Store, queries: Queries, *, oldest: int, most: int) -> None:
        profile = queries.profile
        self._judge = PairJudge.of(store, queries)
        self._candidates = self._judge.candidates(store, limit=profile.max_rows_per_prefix)
        asked = frozenset(map(collection_of, queries.entries.ids))
        self._members = Members(store, profile, found_since(oldest), limit=profile.max_members, collections=asked)
        self._queries = queries
        self._most = most
        self.rows = self._candidates.rows + (self._judge.copied.rows if self._judge.copied else 0)
        """The number of block rows, sketch rows and passage rows that were read."""
        self.candidates = 0
        """The number of pairs of a query and a stored fingerprint within reach, to be judged; grows while iterating."""
        self.truncated = self._candidates.truncated
        """A mask of the queries for which a limit kept rows or members from being read."""

    def __iter__(self) -> Iterator[list[Hit]]:
        """Yield the list of hits of each query, sorted by distance, then falling similarity, then id.

        A stored document with the query's own id is among them.
        """
        given = 0
        for near in self._candidates.parts():
            self.candidates += len(near.queries)
            page = self._members.page(keys.distinct(near.simhashes))
            if self._members.wide:
                wide = np.array(list(self._members.wide), dtype=np.uint64)
                self.truncated[near.queries[np.isin(near.simhashes, wide)]] = True
            for some in _slices(near, page):
                for query, hits in _nearest(self._members, some, page, self._judge, self._most):
                    yield from ([] for _ in range(given, query))
                    yield hits
                    given = query + 1
        yield from ([] for _ in range(given, len(self._queries.entries)))


def find_nearest(store: Store, queries: Queries, counts: DocumentFilter, accept: AcceptHit) -> None:
    """Call `accept` with the hits of each query, the nearest first, until it answers that the query needs no more.

    `counts` is the filter of documents that may be hits. Where more than `FIRST_MEMBERS` documents have one fingerprint
    (a flood of copies), the first `FIRST_MEMBERS` of them, by the digests of their ids, are always read. Pages of the
    others are read only for a query that has no sufficient hit as near as they are, and a page is left out if the query
    needs no hit with one of its texts. So a flood costs a bounded number of reads, and *most similar* and *earliest*
    hold among its first hundred.
    """
    members = Members(store, queries.profile, counts, limit=FIRST_MEMBERS)
    nearest = _Nearest(queries, PairJudge.of(store, queries), members, accept)
    for near in nearest.judged.candidates(store, limit=UNLIMITED).parts():
        simhashes = keys.distinct(near.simhashes)
        nearest.hand_on(near, members.page(simhashes))
        for simhash in filter(members.wide.__contains__, simhashes.tolist()):
            # The other members of this fingerprint, for queries without a sufficient hit as near as it.
            after: bytes | None = members.wide[simhash]
            unsettled = near.where(near.simhashes == np.uint64(simhash))
            while after is not None and len((unsettled := nearest.unsettled(unsettled)).queries):
                page = members.next_page(simhash, after, MORE_MEMBERS)
                lacking = nearest.lacking(
                    unsettled, {Text(simhash, page.text_digest(at)) for at in range(len(page.keys))}
                )
                if len(lacking.queries):
                    nearest.hand_on(lacking, page)
                after = page.qualifier(-1) if len(page.keys) == MORE_MEMBERS else None


class _Nearest:
    """The state of `find_nearest`: calls `accept` with hits, and records which queries need further hits.

    A hit is a stored document that the match rule accepts for a query.
    """

    def __init__(self, queries: Queries, judged: PairJudge, members: Members, accept: AcceptHit) -> None:
        self.judged = judged
        self._queries = queries
        self._members = members
        self._accept = accept
        # For each query the distance of its sufficient hit; `FARTHEST` if it has none.
        self._settled = np.full(len(queries.entries), FARTHEST, np.uint8)
        # For some queries the texts of which they need no other hit.
        self._enough_of: defaultdict[int, set[Text]] = defaultdict(set)

    def hand_on(self, near: CandidatePairs, page: MemberPage) -> None:
        """Call `accept` with the hits of each query in a page, best first.

        After it has returned ``done`` for a query, only equally good hits follow.
        """
        accepted, ranges = self.judged.accepted(near, page)
        self._members.know(map(page.id_digest, set(accepted.at.tolist())))
        for start, stop in ranges:
            query = int(near.queries[accepted.pairs[start]])
            enough: Hit | None = None
            for hit in _counting(self._members, near, page, self._queries, accepted.listed(slice(start, stop))):
                if enough is not None and (hit.distance, hit.similarity) != (enough.distance, enough.similarity):
                    break
                further = self._accept(query, hit)
                if further == "done":
                    enough, self._settled[query] = hit, hit.distance
                elif further == "other texts":
                    self._enough_of[query].add(hit.text)

    def unsettled(self, near: CandidatePairs) -> CandidatePairs:
        """Return the candidate pairs (of a query and a stored fingerprint) whose query has no sufficient hit so near.

        Sufficient is one after which `accept` has returned ``done``, at a distance not above the pair's.
        """
        return near.where(near.distances < self._settled[near.queries])

    def lacking(self, near: CandidatePairs, texts: set[Text]) -> CandidatePairs:
        """Return the candidate pairs whose query still needs a hit with one of these texts.

        A pair is a query and a stored fingerprint near it; a hit is a stored document that the match rule accepts for a
        query.
        """
        needed = [not texts <= self._enough_of.get(query, set()) for query in near.queries.tolist()]
        return near.where(np.array(needed, np.bool_))


def _slices(near: CandidatePairs, page: MemberPage) -> Iterator[CandidatePairs]:
    """Yield the candidate pairs (of a query and a stored fingerprint) in slices, so that each fits into memory.

    A slice holds all pairs of its queries, of which the member cells are compared together; a query with too many is a
    slice by itself. A member cell stands for one document, in the row of its fingerprint.
    """
    if near.queries[0] == near.queries[-1]:
        yield near
        return
    where = page.where(near.simhashes)
    ends = np.cumsum(page.stop[where] - page.first[where])
    starts = np.flatnonzero(near.queries[1:] != near.queries[:-1]) + 1  # Starts of all queries but the first.
    start = 0
    while start < len(ends):
        done = ends[start - 1] if start else 0
        fitting = int(np.searchsorted(ends, done + SKETCHES_AT_ONCE, "right"))
        # The last query that fits whole; if the first one does not, it is a slice by itself.
        further = starts[starts > start]
        stop = len(ends)
        if fitting < len(ends):
            whole = further[further <= fitting]
            stop = int(whole[-1] if len(whole) else further[0] if len(further) else len(ends))
        yield near.where(slice(start, stop))
        start = stop


def _nearest(
    members: Members, near: CandidatePairs, page: MemberPage, judged: PairJudge, most: int
) -> Iterator[tuple[int, list[Hit]]]:
    """Yield the position of each query that has pairs, with its first `most` hits in the order of answers.

    Document cells are read for the best pairs first, and for further ones only where some of those do not count.
    """
    accepted, ranges = judged.accepted(near, page, members)
    hits: list[list[Hit]] = [[] for _ in ranges]
    unfinished, first, last = list(range(len(ranges))), 0, most
    while unfinished:
        tranches = {n: slice(ranges[n][0] + first, min(ranges[n][0] + last, ranges[n][1])) for n in unfinished}
        members.know({page.id_digest(place) for some in tranches.values() for place in accepted.at[some].tolist()})
        for n, some in tranches.items():
            hits[n] += _counting(members, near, page, judged.queries, accepted.listed(some))
        unfinished = [n for n in unfinished if len(hits[n]) < most and ranges[n][0] + last < ranges[n][1]]
        first, last = last, last * MORE_TRANCHE
    for (start, _), some_hits in zip(ranges, hits, strict=True):
        yield int(near.queries[accepted.pairs[start]]), some_hits[:most]


def _counting(
    members: Members, near: CandidatePairs, page: MemberPage, queries: Queries, pairs: Sequence[tuple[int, int, float]]
) -> Iterator[Hit]:
    """Yield the hits among the accepted pairs of one query: the documents that still count.

    Left out are documents that were removed, have expired or have another text since, those of other collections, and,
    where near copies must agree in a metadata field, those with another value of it.
    """
    query = int(near.queries[pairs[0][0]])
    collection, own = collection_of(queries.entries.ids[query]), int(queries.entries.shingles[query])
    is_copied = queries.rule.match == "copied"
    passages = keys.unpack_simhashes(queries.entries.packed_passages[query]) if is_copied else None
    for pair, at, estimate in pairs:
        text = Text(int(near.simhashes[pair]), page.text_digest(at))
        document = members.found(text, page, at)
        if document is None or collection_of(document[0].id) != collection:
            continue
        if queries.agreement is None or queries.agreement.joins(query, document[0].metadata):
            similarity, containment = known_likeness(estimate, own, document[0].shingles)
            if passages is not None:
                of_passages = passage_containment(passages, keys.unpack_simhashes(passages_of(document[0])))
                containment = containment if of_passages is None else of_passages
            yield Hit(*document, text, int(near.distances[pair]), similarity, containment)


class _Accepted(NamedTuple):
    """Pairs of a query and a member cell (a stored document) that the match rule accepts, as columns."""

    pairs: NDArray[np.intp]  # Positions among the candidate pairs.
    at: NDArray[np.intp]  # Positions of the members in their page.
    similarities: NDArray[np.float64]

    def listed(self, some: slice) -> list[tuple[int, int, float]]:
        """Return a slice of the pairs as a list of (pair, position of the member cell, similarity).

        Use it for the pairs of one query at most: there may be millions in all.
        """
        columns = self.pairs[some].tolist(), self.at[some].tolist(), self.similarities[some].tolist()
        return list(zip(*columns, strict=True))


class PairJudge(NamedTuple):
    """Decides by the match rule of a search which pairs of a query and a stored document are matches."""

    queries: Queries
    copied: CopiedSearch | None  # Under rule ``copied``.

    @classmethod
    def of(cls, store: Store, queries: Queries) -> PairJudge:
        """Return the `PairJudge` for some queries; under rule ``copied`` this reads the passage rows of the queries.

        A passage row leads from the hash of a passage to the fingerprints of documents that have the passage.
        """
        is_copied = queries.rule.match == "copied"
        if not is_copied:
            return cls(queries, None)
        return cls(queries, CopiedSearch(store, queries.rule, queries.entries, partial(are_found, queries.profile)))

    def candidates(self, store: Store, *, limit: int) -> Candidates:
        """Return the candidates: stored fingerprints that share a row prefix with a query, at most `limit` a prefix.

        A prefix is the beginning of row keys, made of blocks of the fingerprint or of a hash of a part of the sketch.
        Under rule ``copied`` stored documents that share rare passages with a query are candidates, too.
        """
        candidates = self.queries.candidates(store, limit=limit)
        if self.copied is not None:
            candidates.by_passages = self.copied.pairs
        return candidates

    def accepted(
        self, near: CandidatePairs, page: MemberPage, members: Members | None = None
    ) -> tuple[_Accepted, list[tuple[int, int]]]:
        """Return the pairs of a query and a member cell that the rule accepts, and the range of each query's pairs.

        The best pairs of a query come first; with `members`, equally good ones are in the order of their ids.
        """
        queries, own = self.queries, self.queries.sketches
        where = page.where(near.simhashes)
        columns = []
        for pairs, at in expand(page.first[where], page.stop[where], at_once=SKETCHES_AT_ONCE):
            # The sketch of a single query is compared with all members as it is.
            asked = own if len(own.present) == 1 else own.at(near.queries[pairs])
            is_accepted, similarities = judge(
                queries.rule, near.distances[pairs], asked, page.sketches.at(at), by_blocks=near.by_blocks[pairs]
            )
            if self.copied is not None:
                is_accepted = self._judged_by_passages(near.where(pairs), page, at, is_accepted)
            columns.append((pairs[is_accepted], at[is_accepted], similarities[is_accepted]))
        accepted = _Accepted(*(columns[0] if len(columns) == 1 else map(np.concatenate, zip(*columns, strict=True))))
        if len(accepted.pairs) > 1:
            opposite = np.where(np.isnan(accepted.similarities), 1.0, -accepted.similarities)
            ranks = (opposite, near.distances[accepted.pairs], near.queries[accepted.pairs])
            order = np.lexsort(ranks if members is None else (members.order_of_ids(page, accepted.at), *ranks))
            accepted = _Accepted(accepted.pairs[order], accepted.at[order], accepted.similarities[order])
        of = near.queries[accepted.pairs]
        edges = [0, *(np.flatnonzero(of[1:] != of[:-1]) + 1).tolist(), len(of)]
        return accepted, list(pairwise(edges)) if len(of) else []

    def _judged_by_passages(
        self, near: CandidatePairs, page: MemberPage, at: NDArray[np.intp], verified: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return a mask of the pairs that rule ``copied`` accepts.

        `verified` is the mask by rule ``verified``, which stands for pairs in which a text has too few passages.
        """
        assert self.copied is not None
        joined = self.copied.joins(near.queries, near.simhashes)
        # The passage rows of a query's own fingerprint are its own, too, and join nothing: block rows bring its texts.
        looked = np.flatnonzero(joined | verified | (near.distances == 0))
        values = [page.values[place] for place in at[looked].tolist()]
        packed = documentcells.decode_row_fields(values, bands=page.bands).passages
        judged = verified.copy()
        verdicts = self.copied.judge(zip(near.queries[looked].tolist(), packed, strict=True))
        for place, verdict in zip(looked.tolist(), verdicts, strict=True):
            if verdict is not None:
                judged[place] = verdict or self._is_exact(near, place, page.text_digest(int(at[place])))
        return judged

    def _is_exact(self, near: CandidatePairs, place: int, digest: bytes) -> bool:
        """Return whether a stored document is an exact copy of the query of the pair at `place`.

        `digest` is the digest of the stored document's text.
        """
        return bool(digest) and self.queries.entries.texts[near.queries[place]] == Text(
            int(near.simhashes[place]), digest
        )
