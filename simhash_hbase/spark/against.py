"""The input against an index: what it holds of the same ids, and its documents near to those of the input."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from simhash_hbase.index.changes import read_states
from simhash_hbase.index.decide.greedy import Rank, rank_of, recorded_decision
from simhash_hbase.index.index import Index
from simhash_hbase.index.search import Hit, find_nearest, found_since
from simhash_hbase.opening import open_index
from simhash_hbase.rows.documents import Text
from simhash_hbase.spark.columns import batch_of, entries_of

TEXT = "struct<simhash: long, digest: binary>"
RECORDED = (
    "position long, id string, recorded boolean, original boolean, of string, distance int, similarity double, "
    f"standing {TEXT}, of_text {TEXT}"
)
HITS = "position long, alone boolean, distance int, dissimilarity double, ms long, sequence long, of string"
FAR = 1 << 62
_TEXT = pa.struct([("simhash", pa.int64()), ("digest", pa.binary())])


@cache
def _opened(url: str) -> Index:
    """Open the index once in each worker."""
    return open_index(url, readonly=True)


def held_documents(documents: DataFrame, url: str, oldest: int) -> DataFrame:
    """List the documents whose ids the index holds, with its answer where the text is the same."""

    def held(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        index = _opened(url)
        for batch in batches:
            entries = entries_of(batch, index.profile.bands)
            states = [found and found[0].in_force() for found in read_states(index.store, entries.ids)]
            rows = [
                (position, name, state.of_text, recorded_decision(text, state, oldest))
                for position, name, text, state in zip(
                    batch["position"].to_pylist(), entries.ids, entries.texts(), states, strict=True
                )
                if state is not None
            ]
            named = [decision.of for *_, decision in rows if decision and decision.of]
            standing = dict(zip(named, read_states(index.store, named), strict=True))
            for position, name, of_text, decision in rows:
                cell = standing.get(decision.of) if decision and decision.of else None
                found = cell and cell[0].found(oldest)
                yield batch_of(
                    position=[position],
                    id=[name],
                    recorded=[decision is not None],
                    original=[bool(decision and decision.is_original)],
                    of=pa.array([decision and decision.of], pa.string()),
                    distance=pa.array([decision and decision.distance], pa.int32()),
                    similarity=pa.array([decision and decision.similarity], pa.float64()),
                    standing=pa.array([found and _columns(found.text)], _TEXT),
                    of_text=pa.array([of_text and _columns(of_text)], _TEXT),
                )

    return documents.mapInArrow(held, RECORDED)


def index_hits(documents: DataFrame, url: str, oldest: int, moving: Mapping[str, int]) -> DataFrame:
    """Find for each document the nearest original of the index.

    `moving` are documents of the input that the index holds with another text, by their positions: what the index holds
    of them counts up to there. Who is near to one of them is alone in its point, since copies of it may be decided
    otherwise.
    """
    shared = documents.sparkSession.sparkContext.broadcast(moving)

    def hits(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        index = _opened(url)
        for batch in batches:
            entries = entries_of(batch, index.profile.bands)
            best = _Best(batch["position"].to_pylist(), oldest, shared.value)
            find_nearest(index.store, index.profile, entries, found_since(0), best.offer)
            yield best.rows()

    return documents.mapInArrow(hits, HITS)


class _Best:
    """The best hit of each document of a batch."""

    def __init__(self, positions: list[int], oldest: int, moving: Mapping[str, int]) -> None:
        self._positions = positions
        self._oldest = oldest
        self._moving = moving
        self._ranks: dict[int, Rank] = {}
        self._alone: set[int] = set()

    def offer(self, at: int, hit: Hit) -> bool:
        """Take a hit; see `simhash_hbase.index.decide.greedy.Batch.offer`."""
        state = hit.state
        if state.seen < self._oldest:
            return False
        turn = self._moving.get(state.id, FAR)
        if turn < FAR:
            self._alone.add(at)
        if turn > self._positions[at]:
            rank = rank_of(hit.distance, hit.similarity, state.order, state.id)
            self._ranks[at] = min(self._ranks.get(at, rank), rank)
        return turn == FAR

    def rows(self) -> pa.RecordBatch:
        """Give the rows of `HITS`; a document without a hit has none, unless it is alone."""
        places = sorted(self._ranks.keys() | self._alone)
        ranks = [self._ranks.get(at) for at in places]
        return batch_of(
            position=pa.array([self._positions[at] for at in places], pa.int64()),
            alone=pa.array([at in self._alone for at in places], pa.bool_()),
            distance=pa.array([rank and rank.distance for rank in ranks], pa.int32()),
            dissimilarity=pa.array([rank and rank.dissimilarity for rank in ranks], pa.float64()),
            ms=pa.array([rank and rank.order[0] for rank in ranks], pa.int64()),
            sequence=pa.array([rank and rank.order[1] for rank in ranks], pa.int64()),
            of=pa.array([rank and rank.id for rank in ranks], pa.string()),
        )


def _columns(text: Text) -> dict[str, int | bytes]:
    return {"simhash": int(np.uint64(text.simhash).astype(np.int64)), "digest": text.digest}
