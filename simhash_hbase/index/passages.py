"""Passages: find the documents that contain a text (a clue), and the spans of a text that stand in other documents.

A passage is a run of characters, known by its hash. A text is looked up by the hashes that winnowing keeps of it
(`simhash_hbase.kernel.winnow`): if it shares a run of as many characters as the profile's ``passages`` with a document,
both have a hash in common. A shorter text than twice as many is looked up by the hashes of all its runs, since a
document may have kept any of them. The row of a hash leads to fingerprints, and these to the member cells of documents.
A member cell has all the kept hashes of its document, so it is known how much of the clue each document has.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import EmptyDocument, InvalidArgument, no_letters
from simhash_hbase.index.answers import ClueAnswer, ClueMatch, HeldItem, ItemsAnswer, Passage, PassagesAnswer, Span
from simhash_hbase.index.arguments import PASSAGE_DOCUMENTS, PassageSearch
from simhash_hbase.index.members import Members, found_since
from simhash_hbase.inputs import Document
from simhash_hbase.kernel.places import normal_places
from simhash_hbase.kernel.texts import Batch
from simhash_hbase.profile import Profile
from simhash_hbase.profile.defaults import LEAST_GRAM
from simhash_hbase.profile.matching import rounded
from simhash_hbase.rows import keys
from simhash_hbase.rows.analysed import Metadata
from simhash_hbase.rows.clock import rfc3339
from simhash_hbase.rows.collections import Collection, collection_of, own_id
from simhash_hbase.rows.documentcells import passages_of
from simhash_hbase.stores.base import Store

# Most rows of one text whose documents are read, those of its rarest passages first: some seconds in a folder.
MOST_ROWS = 100_000
MEMBERS_AT_ONCE = 4_096
# Most places in one text of passages that documents have, for all documents together: some seconds, 128 MB at most.
MOST_HELD = 1 << 25
# Most spans in the answer to a clue or to a text with items: some megabytes as JSON.
MOST_SPANS = 1 << 17


class Clue:
    """A text that is searched for in documents: the hashes of its runs of characters, and where each run stands.

    It has no hashes if the text is shorter than the runs that the index hashes. With `every_run` it has the hashes of
    all its runs, and not only those that winnowing keeps, so also those of each passage of a document that the text
    holds. Error messages call the text by its `name`.

    Raises
    ------
    EmptyDocument
        When the text has no letter, number or mark.
    """

    def __init__(
        self, profile: Profile, collection: Collection, text: str, *, name: str = "", every_run: bool = False
    ) -> None:
        length, gram = _lengths(profile)
        batch = Batch([text], profile.form)
        [kept] = batch.passages(length, gram)
        self.starts, self.stops = normal_places(text, profile.form)
        """The stretch of the text that each character of the normal form comes from, half-open, shape (characters,)."""
        if not len(self.starts):
            raise EmptyDocument(no_letters(name))
        # A document that has the clue among other text may have kept other runs at the clue's ends.
        [asked] = batch.passages(gram, gram) if every_run or len(self.starts) < 2 * length else [kept]
        self.gram = gram
        self.window = length - gram + 1
        self.places = asked.places
        """Positions, in the normal form, of the first characters of the runs that are looked up, ascending."""
        self.hashes, self.numbers = np.unique(collection.masked_passages(asked.hashes), return_inverse=True)
        """The distinct hashes of the runs, ascending, as the index keeps them; the number of the hash at each place."""
        self.is_whole = len(self.starts) >= length
        """Whether the clue is so long that a document which holds it has all its kept hashes."""
        self.kept = np.isin(self.hashes, collection.masked_passages(kept.hashes)) & self.is_whole
        """A mask of the hashes that every document with the whole clue has, shape (hashes,)."""
        self._by_hash = np.argsort(self.numbers, kind="stable")
        self._ends = np.searchsorted(self.numbers[self._by_hash], np.arange(len(self.hashes) + 1))
        self._kept_before = np.concatenate([[0], np.cumsum(self.kept[self.numbers])])

    def held_of(self, passages: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the numbers of the clue's hashes that are among a document's `passages`, its hashes; both ascend.

        The clue is the text that is searched for; its distinct hashes are numbered from 0.
        """
        at = np.searchsorted(self.hashes, passages)
        is_inside = at < len(self.hashes)
        at = at[is_inside]
        held: NDArray[np.int32] = at[self.hashes[at] == passages[is_inside]].astype(np.int32)
        return held

    def count_places(self, held: NDArray[np.int32]) -> int:
        """Return at how many places of the clue (the text searched for) the hashes with these numbers stand.

        A repeated hash stands at several.
        """
        return int((self._ends[held + 1] - self._ends[held]).sum())

    def _places(self, held: NDArray[np.int32]) -> NDArray[np.intp]:
        """Return the indices into `places`, ascending, of all runs of the clue that have one of these hashes.

        The clue is the text that is searched for; its distinct hashes are numbered from 0, and `held` has numbers.
        """
        sizes = self._ends[held + 1] - self._ends[held]
        skipped = np.repeat(self._ends[held] - np.cumsum(sizes) + sizes, sizes)
        return np.sort(self._by_hash[skipped + np.arange(len(skipped))])

    def runs(self, held: NDArray[np.int32]) -> NDArray[np.intp]:
        """Return the stretches of the clue that a document with these hashes contains: their first and last runs.

        Shape (stretches, 2). Runs that overlap are in one stretch. So are other neighbours at most a winnowing window
        apart, if the document lacks none of the clue's kept hashes between them: it differs there in less than a
        window. The clue is the text that is searched for; a run is one of its hashed runs of characters.
        """
        at = self._places(held)
        lacking = self._kept_before[at[1:]] - self._kept_before[at[:-1] + 1]
        apart = (np.diff(self.places[at]) > self.window) | (lacking > 0)
        apart &= ~self.do_meet(at[:-1], at[1:])
        firsts, lasts = np.append(True, apart)[: len(at)], np.append(apart, True)[: len(at)]
        return np.column_stack((at[firsts], at[lasts]))

    def do_meet(self, earlier: NDArray[np.intp], later: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return a mask: whether each earlier run overlaps its later run in the text as given.

        Two runs of the normal form may meet in one character of the text that gives two letters.
        """
        return self.starts[self.places[later]] < self.stops[self.places[earlier] + self.gram - 1]

    def span(self, first: int, last: int) -> Span:
        """Return where the stretch from run `first` to run `last` stands in the text, as it was given.

        A run is one of the text's hashed runs of characters, by its number.
        """
        stop = self.stops[self.places[last] + self.gram - 1]
        return Span(int(self.starts[self.places[first]]), int(stop))

    def characters(self, runs: NDArray[np.intp]) -> int:
        """Return how many letters, numbers and marks of the clue (the text searched for) lie in these stretches.

        `runs` has the first and last run (run of hashed characters) of each; stretches ascend.
        """
        starts, stops = self.places[runs[:, 0]], self.places[runs[:, 1]] + self.gram
        return int((stops - np.maximum(starts, np.append(0, stops)[:-1])).sum())

    def share(self, held: NDArray[np.int32], runs: NDArray[np.intp]) -> float:
        """Return the share of the clue, 0 to 1, that a document with these hashes contains.

        The clue is the text that is searched for. The share is 1 if the document has all hashes of the clue that
        winnowing keeps. `held` has the numbers of the document's hashes, `runs` the stretches of the clue that it
        contains.
        """
        of_kept = float(self.kept[held].sum() / self.kept.sum()) if self.kept.any() else 0.0
        return max(of_kept, self.characters(runs) / len(self.starts))


class Holder(NamedTuple):
    """A document that has at least one hash of the clue, the text that is searched for."""

    id: str  # The stored id.
    added: int  # In ms since 1970.
    metadata: Metadata | None
    held: NDArray[np.int32]  # Numbers of the clue's hashes that it has, ascending.
    passages: int  # Hashes that it has in all.


class Holders(NamedTuple):
    """The documents that have at least one hash of the clue (the text searched for), and what a limit left out."""

    documents: list[Holder]
    crowded: NDArray[np.bool_]  # Hashes of the clue that more documents may have than were read.
    is_cut: bool  # Some fingerprint has more documents than were read, or the documents hold too much in all.

    def of_hashes(self, chosen: Sequence[Holder]) -> "HoldersOfHashes":
        """Return, for each hash of the clue (the text searched for), which of the `chosen` documents have it."""
        numbers = np.concatenate([np.empty(0, np.int32), *(holder.held for holder in chosen)])
        owners = np.repeat(np.arange(len(chosen), dtype=np.int32), [len(holder.held) for holder in chosen])
        order = np.argsort(numbers, kind="stable")
        ends = np.searchsorted(numbers[order], np.arange(len(self.crowded) + 1))
        return HoldersOfHashes(owners[order], ends)


class HoldersOfHashes(NamedTuple):
    """For each hash of a clue (a text searched for) the numbers of the documents that have it, as two arrays."""

    owners: NDArray[np.int32]  # Numbers of documents, by hash, ascending within one.
    ends: NDArray[np.intp]  # Where those of each hash begin, and where the last ones end, shape (hashes + 1,).

    def of(self, number: int) -> NDArray[np.int32]:
        """Return the numbers of the documents that have hash `number` of the clue, the text searched for.

        They ascend.
        """
        return self.owners[self.ends[number] : self.ends[number + 1]]


def find_holders(store: Store, profile: Profile, clue: Clue, *, name: str, oldest: int) -> Holders:
    """Return the documents that share a hash with the clue, in the collection of the stored id `name`, without that id.

    `oldest`, in ms since 1970, leaves out documents last seen before. It takes three rounds of calls, and two more for
    each 4,096 fingerprints: passage rows, member cells, document cells. The clue is the text that is searched for.
    """
    prefixes = keys.passage_prefixes(clue.hashes)
    scan = store.scan(keys.distinct(prefixes), limit=min(PASSAGE_DOCUMENTS, profile.max_rows_per_prefix))
    rows, crowded = scan.rows, np.isin(prefixes, scan.truncated)
    if len(rows.prefixes) > MOST_ROWS:
        asked, counts = np.unique(rows.prefixes, return_counts=True)
        order = np.argsort(counts, kind="stable")
        left_out = asked[order[np.cumsum(counts[order]) > MOST_ROWS]]
        rows, crowded = rows.where(~np.isin(rows.prefixes, left_out)), crowded | np.isin(prefixes, left_out)
    simhashes, collection = keys.distinct(rows.simhashes), collection_of(name)
    documents: list[Holder] = []
    is_cut, size = False, 0
    for start in range(0, len(simhashes), MEMBERS_AT_ONCE):
        members = Members(
            store, profile, found_since(oldest), limit=profile.max_members, collections=frozenset({collection})
        )
        page = members.page(simhashes[start : start + MEMBERS_AT_ONCE])
        is_cut |= bool(members.wide)
        members.know(map(page.id_digest, range(len(page.keys))))
        for text, at in page.texts():
            document = members.found(text, page, at)
            if document is None or document[0].id == name or collection_of(document[0].id) != collection:
                continue
            member, state = document
            own = keys.unpack_simhashes(passages_of(member))
            held = clue.held_of(own)
            size += clue.count_places(held)
            if size > MOST_HELD:
                return Holders(documents, crowded, is_cut=True)
            if len(held):
                documents.append(Holder(member.id, state.order[0], member.metadata, held, len(own)))
    return Holders(documents, crowded, is_cut)


def find_clue(
    store: Store, profile: Profile, collection: Collection, document: Document, *, limit: int | None, oldest: int
) -> ClueAnswer:
    """Return the documents that contain the clue, a text searched for, or a part of it; the largest share first."""
    clue = Clue(profile, collection, _text(document), name=document.id)
    if not len(clue.hashes):
        raise InvalidArgument(
            f"the text has {len(clue.starts)} letters, numbers and marks: {clue.gram} at least are found in this index"
            + (f"; one of `passage_gram={LEAST_GRAM}` finds shorter clues" if clue.gram > LEAST_GRAM else "")
        )
    found = find_holders(store, profile, clue, name=collection.stored_id(document.id), oldest=oldest)
    ranked = []
    for holder in found.documents:
        share = clue.share(holder.held, clue.runs(holder.held))
        ranked.append((-share, holder.added, own_id(holder.id), holder.held))
    ranked.sort(key=lambda each: each[:3])
    matches: list[ClueMatch] = []
    shown = 0
    for share, added, name, held in ranked[:limit]:
        runs = clue.runs(held)
        shown += len(runs)
        if matches and shown > MOST_SPANS:
            break
        matches.append(ClueMatch(name, rounded(-share), [clue.span(*run) for run in runs], rfc3339(added)))
    is_limited = len(matches) < len(ranked)
    # A document that holds all of it has the rows of each kept hash, so one that was read whole is enough.
    is_complete = bool((clue.kept & ~found.crowded).any()) and not (is_limited or found.is_cut)
    truncated = is_limited or found.is_cut or bool(found.crowded.any())
    return ClueAnswer(matches, truncated, is_complete)


def find_passages(
    store: Store, profile: Profile, collection: Collection, document: Document, *, search: PassageSearch, oldest: int
) -> PassagesAnswer:
    """Return the passages of a text: its spans that stand in other documents, too.

    A text shorter than the runs of characters that the index hashes has none. `oldest`, in ms since 1970, leaves out
    documents last seen before.
    """
    clue = Clue(profile, collection, _text(document), name=document.id)
    same = (document.metadata or {}).get(search.same) if search.same is not None else None
    if same is None and search.same is not None:
        raise InvalidArgument(
            f"{document.id!r} has no metadata {search.same!r}, by which other documents are to be the same"
        )
    if not len(clue.hashes):
        return PassagesAnswer(document.id, [], 0.0, truncated=False)
    found = find_holders(store, profile, clue, name=collection.stored_id(document.id), oldest=oldest)
    documents = found.documents
    if search.same is not None:
        documents = [holder for holder in documents if (holder.metadata or {}).get(search.same) == same]
    of_hashes = found.of_hashes(documents)
    stretches = list(_stretches(clue, of_hashes, search.at_least))
    passages = []
    for first, last in stretches:
        numbers = np.unique(clue.numbers[first : last + 1])
        owners, counts = np.unique(np.concatenate(list(map(of_hashes.of, numbers.tolist()))), return_counts=True)
        holders = [documents[at] for at in owners.tolist()]
        earliest = min(holders, key=lambda each: (each.added, each.id))
        most, _ = min(
            zip(holders, counts.tolist(), strict=True), key=lambda each: (-each[1], each[0].added, each[0].id)
        )
        span = clue.span(first, last)
        passages.append(
            Passage(
                start=span.start,
                stop=span.stop,
                documents=len(owners),
                at_least=found.is_cut or bool(found.crowded[numbers].any()),
                first=own_id(earliest.id),
                most=own_id(most.id),
            )
        )
    share = rounded(clue.characters(np.array(stretches, np.intp).reshape(-1, 2)) / len(clue.starts))
    return PassagesAnswer(document.id, passages, share, found.is_cut or bool(found.crowded.any()))


def find_items(
    store: Store, profile: Profile, collection: Collection, document: Document, *, at_share: float, oldest: int
) -> ItemsAnswer:
    """Return the items that stand in a text: documents of which it has a share of `at_share` or more of the passages.

    A passage is a hashed run of characters. The text's own id does not matter: an item may have the same id by chance.
    An item's spans are where the text has the item's passages; passages are joined to spans as in `Clue.runs`.
    """
    clue = Clue(profile, collection, _text(document), name=document.id, every_run=True)
    if not len(clue.hashes):
        return ItemsAnswer(document.id, [], truncated=False)
    found = find_holders(store, profile, clue, name=collection.stored_id(""), oldest=oldest)
    ranked = [
        (-rounded(share), own_id(item.id), item.held)
        for item in found.documents
        if (share := len(item.held) / item.passages) >= at_share
    ]
    ranked.sort(key=lambda each: each[:2])
    items: list[HeldItem] = []
    shown = 0
    for opposite, name, held in ranked:
        runs = clue.runs(held)
        shown += len(runs)
        if items and shown > MOST_SPANS:
            break
        items.append(HeldItem(name, -opposite, [clue.span(*run) for run in runs]))
    is_cut = found.is_cut or len(items) < len(ranked)
    return ItemsAnswer(document.id, items, is_cut or bool(found.crowded.any()))


def _stretches(clue: Clue, holders: HoldersOfHashes, at_least: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches of the clue that at least `at_least` documents have, as numbers of first and last run.

    Two neighbouring runs are in one stretch if they overlap, or if they are at most a window apart and as many
    documents have both. Stretches do not overlap.
    """
    is_shared = np.diff(holders.ends) >= at_least
    lacking = np.cumsum(clue.kept[clue.numbers] & ~is_shared[clue.numbers])
    shared = np.flatnonzero(is_shared[clue.numbers])
    if not len(shared):
        return
    meets = clue.do_meet(shared[:-1], shared[1:]).tolist()
    runs = shared.tolist()
    begun = runs[0]
    for before, at, does_meet in zip(runs, runs[1:], meets, strict=False):
        is_near = clue.places[at] - clue.places[before] <= clue.window and lacking[at] == lacking[before]
        if does_meet or (is_near and _count_both(clue, holders, before, at) >= at_least):
            continue
        yield begun, before
        begun = at
    yield begun, runs[-1]


def _count_both(clue: Clue, holders: HoldersOfHashes, before: int, at: int) -> int:
    """Return how many documents contain both run `before` and run `at` of the clue, the text searched for.

    A run is one of its hashed runs of characters.
    """
    of_both = (holders.of(clue.numbers[before]), holders.of(clue.numbers[at]))
    return len(np.intersect1d(*of_both, assume_unique=True))


def _text(document: Document) -> str:
    if document.text is None:
        raise InvalidArgument(f"{document.id!r} comes without a text: passages are parts of texts")
    return document.text


def check_kept(profile: Profile) -> None:
    """Raise `InvalidArgument` if the index was made without the option ``passages``: it cannot look up any."""
    _lengths(profile)


def _lengths(profile: Profile) -> tuple[int, int]:
    if profile.passages is None or profile.passage_gram is None:
        raise InvalidArgument("the index keeps no passages: create one with `passages=50`")
    return profile.passages, profile.passage_gram
