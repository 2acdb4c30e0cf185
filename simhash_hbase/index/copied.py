"""The match rule ``copied``: two documents match if they share enough rare passages, those that few documents have.

A passage is a run of characters of a text, known by a hash; it is counted by its rows, of which each fingerprint that
has the passage has one. A row has the upper 32 bits of the hash: so a count may be too high by the rows of another
hash, and never too low. Rows of removed documents stay until `vacuum`, and claims under way have rows: where a count
might make a passage common, only fingerprints with a document that queries find are counted.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.index.candidates import NO_PAIRS, CandidatePairs, expand
from simhash_hbase.profile.defaults import LEAST_PASSAGES, RARE
from simhash_hbase.profile.matching import MatchRule, distances, is_copied, is_rare, rounded
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.keys import BlockRows, distinct, passage_prefixes, unpack_simhashes
from simhash_hbase.stores.base import Store

Hashes = NDArray[np.uint64]
"""The hashes of the passages of one text, ascending, shape (n,)."""

AreFound = Callable[[Store, NDArray[np.uint64]], NDArray[np.bool_]]
"""Returns a mask of the fingerprints, which ascend, that have a document which queries find."""

# A passage with more rows is common without a look at their documents.
MOST_COUNTED = 64
# Passages that are counted at a time, of documents that share some with a query: their rows take some ten megabytes.
COUNTED_AT_ONCE = 1 << 17


def passages_of_entries(entries: Entries) -> list[Hashes]:
    """Return the hashes of the passages of each document; an empty array for one with too few for rule ``copied``."""
    unpacked = map(unpack_simhashes, entries.passages_for(kept=True))
    return [hashes if len(hashes) >= LEAST_PASSAGES else hashes[:0] for hashes in unpacked]


def passage_containment(own: Hashes, other: Hashes) -> float | None:
    """Return the share of a text's passages, `own`, that another text has, 0 to 1; None if one of both has too few."""
    if min(len(own), len(other)) < LEAST_PASSAGES:
        return None
    return rounded(_shared(own, other) / len(own))


class PassageCounts:
    """For each of some passages the number of stored fingerprints that have it, from passage rows that are read once.

    Parameters
    ----------
    stores : sequence of Store
        Hold the rows; a fingerprint that is in several counts once.
    prefixes : ndarray of uint64, shape (n,)
        Prefixes of the rows, in any order.
    are_found : callable
        Is asked about the fingerprints of each prefix that might be common.
    grows : bool
        Whether more fingerprints may come to have a passage: one for each time that its prefix is among `prefixes`.
    """

    def __init__(
        self, stores: Sequence[Store], prefixes: NDArray[np.uint64], are_found: AreFound, *, grows: bool = False
    ) -> None:
        self.prefixes, times = np.unique(prefixes, return_counts=True)
        """The prefixes that were asked for, ascending and distinct, shape (n,)."""
        scans = [store.scan(self.prefixes, limit=MOST_COUNTED) for store in stores]
        rows = BlockRows.merged(*(scan.rows for scan in scans))
        self.read = len(rows.prefixes)
        """The number of rows that were read."""
        crowded = np.isin(self.prefixes, np.concatenate([scan.truncated for scan in scans]))
        sizes = np.searchsorted(rows.prefixes, self.prefixes, "right") - np.searchsorted(rows.prefixes, self.prefixes)
        # A document of the search may have the passage, too, and so a row of it.
        doubtful = np.repeat(~crowded & (sizes + (times if grows else 1) > RARE), sizes)
        is_counted = np.ones(len(doubtful), np.bool_)
        if doubtful.any():
            simhashes = distinct(rows.simhashes[doubtful])
            found = np.any([are_found(store, simhashes) for store in stores], axis=0)
            is_counted = ~doubtful | np.isin(rows.simhashes, simhashes[found])
        edges = np.concatenate([[0], np.cumsum(is_counted)])
        ends = np.cumsum(sizes)
        self.counts = np.where(crowded, MOST_COUNTED + 1, edges[ends] - edges[ends - sizes])
        """For each prefix the number of fingerprints that have the passage; for common ones a number above `RARE`."""
        # Own rows matter where one less makes a passage rare.
        kept = np.repeat(self.counts <= RARE + 1, sizes)
        self.rows = rows.where(kept)
        """The rows of passages that are rare, or would be with one fingerprint less; also rows that do not count."""
        self._is_counted = is_counted[kept]

    def _ranges(self, prefixes: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        rows = self.rows.prefixes
        return np.searchsorted(rows, prefixes, "left"), np.searchsorted(rows, prefixes, "right")

    def where(self, prefixes: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return the positions of prefixes in `self.prefixes`, all of which must be there."""
        return np.searchsorted(self.prefixes, prefixes)

    def joined(self, prefixes: NDArray[np.uint64], simhashes: NDArray[np.uint64]) -> tuple[NDArray[np.intp], ...]:
        """Pair the passages of documents with the rows of other fingerprints that have the same passages.

        `simhashes` has for each passage the fingerprint of its document.

        Returns
        -------
        at, row : ndarray of intp
            Pairs of a passage and the row of another fingerprint.
        own : ndarray of intp, shape (n,)
            For each passage 1 if the count of the passage includes its document's own fingerprint, else 0.
        """
        own = np.zeros(len(prefixes), np.intp)
        pairs = [(NO_PAIRS.queries, NO_PAIRS.queries)]
        for at, row in expand(*self._ranges(prefixes)):
            is_own = self.rows.simhashes[row] == simhashes[at]
            own[at[is_own]] = self._is_counted[row[is_own]]
            pairs.append((at[~is_own], row[~is_own]))
        return *(np.concatenate(column) for column in zip(*pairs, strict=True)), own


class CopiedSearch:
    """Finds the stored fingerprints that share rare passages with queries, and judges by rule ``copied`` which match.

    One call of ``store.scan`` serves all queries. Another one serves those stored documents that match only if few of
    their own passages are rare.
    """

    def __init__(self, store: Store, rule: MatchRule, entries: Entries, are_found: AreFound) -> None:
        self._store = store
        self._are_found = are_found
        self._rule = rule
        self._own = passages_of_entries(entries)
        sizes = np.array(list(map(len, self._own)), np.intp)
        owners, hashes = np.repeat(np.arange(len(entries)), sizes), _joined(self._own)
        prefixes = passage_prefixes(hashes)
        counts = PassageCounts([store], prefixes, are_found)
        at, row, own = counts.joined(prefixes, entries.simhashes[owners])
        rare = is_rare(counts.counts[counts.where(prefixes)] - own)
        self._rare = np.split(rare, np.cumsum(sizes)[:-1])
        self.rows = counts.read
        """The number of passage rows that were read."""
        chosen = rare[at]
        queries, stored = owners[at[chosen]], counts.rows.simhashes[row[chosen]]
        few, numbers = np.unique(stored, return_inverse=True)
        keys, shared = np.unique(queries * max(1, len(few)) + numbers, return_counts=True)
        queries, numbers = np.divmod(keys[shared >= LEAST_PASSAGES], max(1, len(few)))
        stored = few[numbers]
        apart = distances(entries.simhashes[queries], stored)
        self.pairs = CandidatePairs(queries, stored, apart, np.zeros(len(queries), np.bool_))
        """Pairs of a query and a stored fingerprint that share enough rare passages to be copies, sorted by both."""

    def joins(self, queries: NDArray[np.intp], simhashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return a mask of given pairs of a query and a stored fingerprint: those that share enough rare passages."""
        first, stop = (np.searchsorted(self.pairs.queries, queries, side) for side in ("left", "right"))
        joined = np.zeros(len(queries), np.bool_)
        for at in np.flatnonzero(first < stop).tolist():
            some = self.pairs.simhashes[first[at] : stop[at]]
            place = int(np.searchsorted(some, simhashes[at]))
            joined[at] = place < len(some) and some[place] == simhashes[at]
        return joined

    def judge(self, pairs: Iterable[tuple[int, bytes]]) -> list[bool | None]:
        """Return for each pair of a query and a stored document whether the two match by rule ``copied``.

        A pair is the query's position and the packed passages of the document's member cell. None: one has too few
        passages, so that rule ``verified`` decides.
        """
        verdicts: list[bool | None] = []
        open_: list[tuple[int, int, int, Hashes]] = []
        for place, (query, packed) in enumerate(pairs):
            own, other = self._own[query], unpack_simhashes(packed)
            if not len(own) or len(other) < LEAST_PASSAGES:
                verdicts.append(None)
                continue
            rare = own[self._rare[query]]
            shared = _shared(rare, other)
            verdicts.append(is_copied(self._rule, shared, len(rare), len(rare)))
            if not verdicts[-1] and shared >= LEAST_PASSAGES:
                open_.append((place, query, shared, other))
        start = 0
        while start < len(open_):
            stop = start + 1
            size = len(open_[start][3])
            while stop < len(open_) and (size := size + len(open_[stop][3])) <= COUNTED_AT_ONCE:
                stop += 1
            prefixes = passage_prefixes(np.concatenate([each[3] for each in open_[start:stop]]))
            counts = PassageCounts([self._store], prefixes, self._are_found)
            for place, query, shared, other in open_[start:stop]:
                # The counts of passages that both have are known already, and include the query.
                lacking = other[~np.isin(other, self._own[query])]
                rare_lacking = counts.counts[counts.where(passage_prefixes(lacking))] <= RARE
                size = shared + int(rare_lacking.sum())
                verdicts[place] = is_copied(self._rule, shared, len(self._own[query][self._rare[query]]), size)
            start = stop
        return verdicts


class CopiedBatch:
    """Judges the documents of a batch by rule ``copied``, one after the other, against each other and stored ones.

    Each document that is kept counts at once: its passages are less rare for those after it.

    Parameters
    ----------
    rule : MatchRule
        The match rule, ``copied``.
    entries : Entries
        The batch.
    """

    def __init__(self, rule: MatchRule, entries: Entries) -> None:
        self._rule = rule
        self._simhashes = entries.simhashes
        self._texts = entries.texts
        self.own = passages_of_entries(entries)
        """The passages of each document; empty for a document that rule ``verified`` judges."""
        self._has_passages = np.array([len(hashes) > 0 for hashes in self.own], np.bool_)
        self._counts: NDArray[np.intp]
        self._prefixes: NDArray[np.uint64]
        self._places: list[NDArray[np.intp]] = []
        self._has_row: list[NDArray[np.intp]] = []
        # For each rare passage the documents of the batch that have it and were kept.
        self._holders: defaultdict[int, list[int]] = defaultdict(list)
        # For each fingerprint of a kept document the passages for which it was counted.
        self._counted: defaultdict[int, set[int]] = defaultdict(set)

    def count(self, stores: Sequence[Store], others: Iterable[Hashes], are_found: AreFound) -> None:
        """Count the stored fingerprints that have each passage; to be called once, before the documents are judged.

        The passages are those of the batch and of `others`, the stored documents that may match one of the batch.
        """
        prefixes = passage_prefixes(_joined(self.own))
        asked = np.concatenate([prefixes, passage_prefixes(_joined(others))])
        counts = PassageCounts(stores, asked, are_found, grows=True)
        sizes = np.array(list(map(len, self.own)), np.intp)
        _, _, own = counts.joined(prefixes, np.repeat(self._simhashes, sizes))
        edges = np.cumsum(sizes)[:-1]
        self._prefixes, self._counts = counts.prefixes, counts.counts.copy()
        self._places = np.split(counts.where(prefixes), edges)
        self._has_row = np.split(own, edges)

    def keep(self, at: int) -> None:
        """Note that the document at position `at` was kept: count its passages, and let `mates` find it."""
        counted = self._counted[int(self._simhashes[at])]
        for place, has_row in zip(self._places[at].tolist(), self._has_row[at].tolist(), strict=True):
            if not has_row and place not in counted:
                counted.add(place)
                self._counts[place] += 1
            if self._counts[place] <= RARE:
                self._holders[place].append(at)
            else:
                self._holders.pop(place, None)

    def mates(self, at: int) -> NDArray[np.intp]:
        """Return the mates of the document at `at`: kept ones of the batch that share enough rare passages with it.

        They are positions in the batch, ascending.
        """
        shared: Counter[int] = Counter()
        for place in self._places[at][self._rare(at)].tolist():
            shared.update(self._holders.get(place, ()))
        return np.array(sorted(mate for mate, count in shared.items() if count >= LEAST_PASSAGES), np.intp)

    def is_copied(self, at: int, other: Hashes) -> bool:
        """Return whether the document at `at` matches one with the passages `other`, by the counts so far.

        Both must have enough passages, as `decides` says.
        """
        is_rare_here = self._rare(at)
        rare = self.own[at][is_rare_here]
        shared = _shared(rare, other)
        if shared < LEAST_PASSAGES:
            return False
        lacking = other[~np.isin(other, self.own[at])]
        places = np.searchsorted(self._prefixes, passage_prefixes(lacking))
        return is_copied(self._rule, shared, len(rare), shared + int((self._counts[places] <= RARE).sum()))

    def judged(
        self, at: int, others: NDArray[np.intp], verified: NDArray[np.bool_], mates: NDArray[np.intp] | None = None
    ) -> NDArray[np.bool_]:
        """Return a mask of the documents at the positions `others` that match the document at `at`.

        Parameters
        ----------
        at : int
            Position of the document.
        others : ndarray of intp, shape (n,)
            Positions of the others.
        verified : ndarray of bool, shape (n,)
            The verdict of rule ``verified``, which holds where passages are few.
        mates : ndarray of intp, optional
            The result of the method `mates`, if all others were kept: only these are compared by their passages.
        """
        if not self._has_passages[at]:
            return verified
        decides = self._has_passages[others]
        judged = verified & ~decides
        looked = decides if mates is None else decides & np.isin(others, mates)
        for place in np.flatnonzero(looked | (decides & (self._simhashes[others] == self._simhashes[at]))).tolist():
            other = int(others[place])
            is_exact = bool(self._texts[at].digest) and self._texts[at] == self._texts[other]
            judged[place] = is_exact or self.is_copied(at, self.own[other])
        return judged

    def decides(self, at: int, other: Hashes) -> bool:
        """Return whether the document at `at` and one with the passages `other` have enough passages for ``copied``."""
        return len(self.own[at]) > 0 and len(other) >= LEAST_PASSAGES

    def _rare(self, at: int) -> NDArray[np.bool_]:
        """Return a mask of the passages of the document at `at` that are rare by the counts so far; shape (n,)."""
        places = self._places[at]
        counted = self._counted.get(int(self._simhashes[at]))
        own = self._has_row[at]
        if counted:
            own = own + np.array([place in counted for place in places.tolist()], np.intp)
        return is_rare(self._counts[places] - own)


class PassagePair(NamedTuple):
    """How many passages two documents have, in all, shared and rare ones, and whether they match by rule ``copied``."""

    a: int  # Passages of the first document.
    b: int  # Passages of the second document.
    shared: int  # Passages that both have.
    rare_a: int  # Rare passages of the first document.
    rare_b: int  # Rare passages of the second document.
    counted: Hashes  # The rare passages that both have.
    is_copied: bool | None  # The verdict; None: rule ``verified`` decides.


def compare_passages(store: Store, rule: MatchRule, a: Entries, b: Entries, are_found: AreFound) -> PassagePair:
    """Compare the passages of two documents by rule ``copied``, as if the index held both; it may hold neither.

    `a` and `b` have one document each. Rows are read by one call of ``store.scan``.
    """
    own, other = (unpack_simhashes(side.packed_passages[0]) for side in (a, b))
    every = np.union1d(own, other)
    prefixes = passage_prefixes(every)
    counts = PassageCounts([store], prefixes, are_found)
    fingerprints = counts.counts[counts.where(prefixes)]
    first, second = int(a.simhashes[0]), int(b.simhashes[0])
    for simhash in {first, second}:
        sides = [hashes for hashes, of in ((own, first), (other, second)) if of == simhash]
        _, _, has_row = counts.joined(prefixes, np.full(len(every), simhash, np.uint64))
        fingerprints = fingerprints + (np.isin(every, _joined(sides)) & (has_row == 0))
    rare = every[fingerprints <= RARE]
    rare_own, rare_other = _shared(own, rare), _shared(other, rare)
    counted = np.intersect1d(np.intersect1d(own, other), rare)
    verdict = None
    if min(len(own), len(other)) >= LEAST_PASSAGES:
        is_exact = bool(a.digests[0]) and a.texts == b.texts
        verdict = is_exact or is_copied(rule, len(counted), rare_own, rare_other)
    return PassagePair(len(own), len(other), _shared(own, other), rare_own, rare_other, counted, verdict)


def _shared(a: Hashes, b: Hashes) -> int:
    """Return how many hashes of passages two texts have in common."""
    return len(np.intersect1d(a, b, assume_unique=True))


def _joined(hashes: Iterable[Hashes]) -> Hashes:
    return np.concatenate([*hashes, np.empty(0, np.uint64)])
