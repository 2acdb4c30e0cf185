"""From candidates to matches: which documents stand behind a fingerprint, and which of them the rule accepts.

The one place where a distance is compared with k and a similarity with its threshold.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.candidates import Candidates, find_candidates
from simhash_hbase.entries import SKETCH_WORDS, Entries
from simhash_hbase.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.profile import MatchRule, Profile
from simhash_hbase.records import FOUND_STATES, DocumentState, Member, decode_document, decode_member, in_force
from simhash_hbase.rowkey import distinct, document_row, member_rows
from simhash_hbase.stores.base import UNLIMITED, Cell, Store

__all__ = [
    "Counts",
    "Found",
    "Hit",
    "Neighbours",
    "Reached",
    "accept",
    "accepted_hits",
    "find_members",
    "find_neighbours",
    "found_since",
    "reach",
    "reach_all",
    "sketch_integers",
]

SKETCH_BYTES = 8 * SKETCH_WORDS
# Two unrelated sketches of 512 one-bit values agree in half of them: J is 1 - differing / 256.
SKETCH_SCALE = 32 * SKETCH_WORDS


Counts: TypeAlias = Callable[[DocumentState, int], DocumentState | None]
"""Takes a document cell and the fingerprint of a member: what the member stands for, or None when it does not count."""


class Found(NamedTuple):
    """A document that a search may return."""

    member: Member
    state: DocumentState
    sketch: int | None
    """The sketch as one integer, for a XOR in one step; None without one."""


class Hit(NamedTuple):
    """A document that the rule accepts."""

    found: Found
    simhash: int
    """The fingerprint of the member; its document cell may name another one too."""
    distance: int
    similarity: float | None


class Reached(NamedTuple):
    """What is within reach of many queries."""

    near: Candidates
    members: dict[int, list[Found]]
    """Fingerprint to its documents."""


class Neighbours(NamedTuple):
    """Answers to many queries."""

    hits: list[list[Hit]]
    """A list for each query, in no particular order; the query's own id is not left out."""
    truncated: NDArray[np.bool_]
    """For each query: whether a limit kept something from being looked at."""
    rows: int
    """Block rows that were read."""
    candidates: int
    """Pairs of a query and a stored fingerprint within reach, before the rule was asked."""


def sketch_integers(entries: Entries) -> list[int | None]:
    """Turn sketches into integers; None where a document has none."""
    packed = entries.sketches.astype(">u8").tobytes()
    return [
        int.from_bytes(packed[i * SKETCH_BYTES : (i + 1) * SKETCH_BYTES], "big") if has else None
        for i, has in enumerate(entries.sketched.tolist())
    ]


def accept(rule: MatchRule, distance: int, a: int | None, b: int | None) -> tuple[bool, float | None]:
    """Judge one pair.

    Parameters
    ----------
    rule : MatchRule
        What to judge by.
    distance : int
        Bits between the fingerprints.
    a, b : int or None
        The two sketches.

    Returns
    -------
    accepted : bool
    similarity : float or None
        Estimated Jaccard similarity, 0 to 1; None when a sketch is missing.
    """
    if a is None or b is None:
        return distance <= rule.distance, None
    similarity = max(0.0, 1.0 - (a ^ b).bit_count() / SKETCH_SCALE)
    if rule.match == "distance":
        return distance <= rule.distance, similarity
    return distance <= rule.radius and similarity >= rule.similarity, similarity


def find_neighbours(store: Store, profile: Profile, entries: Entries, *, rule: MatchRule, now: int) -> Neighbours:
    """Find the documents in the index that the rule accepts, for many queries.

    Parameters
    ----------
    store : Store
        Holds the index.
    profile : Profile
        The index's profile; its limits say how much is read.
    entries : Entries
        The queries.
    rule : MatchRule
        What counts as a near-duplicate.
    now : int
        Milliseconds since 1970: a document that expired before does not count.

    Returns
    -------
    Neighbours

    Notes
    -----
    Three rounds of calls at most: block rows, members, document cells.
    """
    rows, members = profile.max_rows_per_prefix, profile.max_members
    counts = found_since(profile.oldest(now))
    reached = reach(store, profile, entries, rule=rule, rows=rows, members=members, counts=counts)
    hits: list[list[Hit]] = [[] for _ in range(len(entries))]
    for query, hit in accepted_hits(reached, entries, rule):
        hits[query].append(hit)
    return Neighbours(hits, reached.near.truncated, reached.near.rows, len(reached.near.queries))


def reach(  # noqa: PLR0913
    store: Store,
    profile: Profile,
    entries: Entries,
    *,
    rule: MatchRule,
    rows: int,
    members: int,
    counts: Counts,
) -> Reached:
    """Read what is within reach of many queries, before the rule is asked.

    Parameters
    ----------
    store, profile, entries, rule
        As for `find_neighbours`.
    rows, members : int
        Block rows of a prefix, and members of a fingerprint, that are read at most.
    counts : callable
        Says what counts, such as `found_since` makes it.

    Returns
    -------
    Reached
    """
    near = find_candidates(store, profile.blocks, entries.simhashes, reach=rule.reach, limit=rows)
    if not len(near.queries):
        return Reached(near, {})
    found, cut = find_members(store, distinct(near.simhashes), limit=members, counts=counts)
    if cut:
        near.truncated[near.queries[np.isin(near.simhashes, np.array(list(cut), dtype=np.uint64))]] = True
    return Reached(near, found)


def reach_all(store: Store, profile: Profile, entries: Entries, counts: Counts) -> Reached:
    """Read what is within reach under the index's own rule, whatever its limits say: for decisions."""
    return reach(store, profile, entries, rule=profile.rule, rows=UNLIMITED, members=UNLIMITED, counts=counts)


def accepted_hits(reached: Reached, entries: Entries, rule: MatchRule) -> Iterator[tuple[int, Hit]]:
    """Ask the rule about each pair of a query and a document within reach.

    Yields
    ------
    (int, Hit)
        The query's position and a document that the rule accepts, the query's own id among them.
    """
    near = reached.near
    sketches = sketch_integers(entries)
    triples = zip(near.queries.tolist(), near.simhashes.tolist(), near.distances.tolist(), strict=True)
    for query, simhash, distance in triples:
        for found in reached.members.get(simhash, ()):
            accepted, similarity = accept(rule, distance, sketches[query], found.sketch)
            if accepted:
                yield query, Hit(found, simhash, distance, similarity)


def found_since(oldest: int) -> Counts:
    """Let documents count that queries find and that were last seen at that time, in ms since 1970, or later."""

    def counts(cell: DocumentState, simhash: int) -> DocumentState | None:
        state = in_force(cell)
        is_found = state is not None and state.state in FOUND_STATES and state.seen >= oldest
        return state if is_found and state is not None and state.simhash == simhash else None

    return counts


def find_members(
    store: Store, simhashes: NDArray[np.uint64], *, limit: int, counts: Counts
) -> tuple[dict[int, list[Found]], set[int]]:
    """Read the documents behind fingerprints.

    Parameters
    ----------
    store : Store
        Holds the index.
    simhashes : ndarray of uint64, shape (n,)
        Distinct fingerprints.
    limit : int
        Members of one fingerprint that are read at most.
    counts : callable
        As for `reach`.

    Returns
    -------
    members : dict
        Fingerprint to its documents; one that has none left is missing.
    cut : set of int
        Fingerprints with more members.
    """
    rows = store.get_rows(FAMILY_DOCUMENTS, member_rows(simhashes), limit=limit + 1)
    cut = {simhash for simhash, cells in zip(simhashes.tolist(), rows, strict=True) if len(cells) > limit}
    kept = [cells[:limit] for cells in rows]
    states = _states(store, [cell.qualifier for cells in kept for cell in cells])
    members = {}
    for simhash, cells in zip(simhashes.tolist(), kept, strict=True):
        if found := list(_found(simhash, cells, states, counts)):
            members[simhash] = found
    return members, cut


def _states(store: Store, digests: Sequence[bytes]) -> dict[bytes, DocumentState]:
    keys = [(document_row(digest), STATE_QUALIFIER) for digest in digests]
    cells = store.get(FAMILY_DOCUMENTS, keys)
    return {d: decode_document(cell.value) for d, cell in zip(digests, cells, strict=True) if cell}


def _found(simhash: int, cells: Iterable[Cell], states: dict[bytes, DocumentState], counts: Counts) -> Iterable[Found]:
    """Keep the members whose document cell names this fingerprint and counts."""
    for cell in cells:
        named = states.get(cell.qualifier)
        state = named and counts(named, simhash)
        if state is None:
            continue
        member = decode_member(cell.value)
        if member.id == state.id:
            sketch = int.from_bytes(member.sketch, "big") if member.sketch else None
            yield Found(member, state, sketch)
