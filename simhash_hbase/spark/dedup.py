"""``dedup`` on Spark: the decisions of one machine, line for line, against the input and an index."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index.answers import Decision, decision_record, json_line
from simhash_hbase.index.candidates import Queries
from simhash_hbase.index.dedup import Rank, rank_of
from simhash_hbase.index.documentrows import read_states
from simhash_hbase.index.index import Index
from simhash_hbase.index.search import Hit, find_nearest, found_since
from simhash_hbase.opening import open_index
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import estimated_containment
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.rows.collections import own_id
from simhash_hbase.rows.documentcells import Text, is_of_removed
from simhash_hbase.rows.layout import COUNT_BYTES, SKETCH_BYTES, TEXT_BYTES
from simhash_hbase.spark import points
from simhash_hbase.spark.input import Input, collected, entries_of, in_order_of_preference, without_repeats
from simhash_hbase.spark.records import TEXT, batch_of

RECORDED = (
    "position long, id string, recorded boolean, original boolean, of string, distance int, similarity double, "
    f"containment double, standing {TEXT}, of_text {TEXT}"
)
HITS = (
    "position long, alone boolean, distance int, dissimilarity double, ms long, sequence long, of string, "
    "containment double"
)
BEST = ("of", "distance", "dissimilarity", "containment")
LINES = "value string"
FAR = 1 << 62


class IndexPlace(NamedTuple):
    """The documents that an input is decided against."""

    url: str
    collection: str | None = None


@cache
def _opened(place: IndexPlace) -> Index:
    """Open the index once in each worker."""
    return open_index(place.url, collection=place.collection, readonly=True)


def held_documents(documents: DataFrame, place: IndexPlace, oldest: int) -> DataFrame:
    """List the documents whose ids the index holds, with its answer where the text is the same."""

    def held(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        index = _opened(place)
        masked = index.collection.masked

        def text_columns(text: Text) -> dict[str, int | bytes]:
            """Write a stored text as the input has its texts."""
            return {"simhash": int(np.uint64(masked(text.simhash)).astype(np.int64)), "digest": text.digest}

        for batch in batches:
            given = entries_of(batch, index.profile.bands)
            entries = index.collection.stored(given)
            states = [found and found[0].in_force() for found in read_states(index.store, entries.ids)]
            rows = [
                (position, name, state.of_text, state.recorded(text, oldest))
                for position, name, text, state in zip(
                    batch["position"].to_pylist(), given.ids, entries.texts, states, strict=True
                )
                if state is not None
            ]
            named = [recorded.of for *_, recorded in rows if recorded and recorded.of]
            standing = dict(zip(named, read_states(index.store, named), strict=True))
            for position, name, of_text, recorded in rows:
                cell = standing.get(recorded.of) if recorded and recorded.of else None
                found = cell and cell[0].found(oldest)
                yield batch_of(
                    RECORDED,
                    position=[position],
                    id=[name],
                    recorded=[recorded is not None],
                    original=[bool(recorded and recorded.is_found)],
                    of=[recorded and recorded.of and own_id(recorded.of)],
                    distance=[recorded and recorded.distance],
                    similarity=[recorded and recorded.similarity],
                    containment=[recorded and recorded.containment],
                    standing=[found and text_columns(found.text)],
                    of_text=[of_text and text_columns(of_text)],
                )

    return documents.mapInArrow(held, RECORDED)


def index_hits(documents: DataFrame, place: IndexPlace, oldest: int, moving: Mapping[str, int]) -> DataFrame:
    """Find for each document the nearest original of the index.

    `moving` are documents of the input that the index holds with another text, by their positions: what the index holds
    of them counts up to there. Who is near to one of them is alone in its point, since copies of it may be decided
    otherwise.
    """
    shared = documents.sparkSession.sparkContext.broadcast(moving)

    def hits(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        index = _opened(place)
        for batch in batches:
            entries = index.collection.stored(entries_of(batch, index.profile.bands))
            best = _Best(batch["position"].to_pylist(), oldest, shared.value)
            find_nearest(index.store, Queries.of(index.profile, entries), found_since(0), best.take_hit)
            yield best.rows()

    return documents.mapInArrow(hits, HITS)


class _Best:
    """The best hit of each document of a batch."""

    def __init__(self, positions: list[int], oldest: int, moving: Mapping[str, int]) -> None:
        self._positions = positions
        self._oldest = oldest
        self._moving = moving
        self._best: dict[int, tuple[Rank, float | None]] = {}
        self._alone: set[int] = set()

    def take_hit(self, at: int, hit: Hit) -> bool:
        """Take a hit; see `simhash_hbase.index.dedup.UndecidedBatch.take_hit`."""
        state = hit.state
        if state.seen < self._oldest:
            return False
        name = own_id(state.id)
        turn = self._moving.get(name, FAR)
        if turn < FAR:
            self._alone.add(at)
        if turn > self._positions[at]:
            ranked = rank_of(hit.distance, hit.similarity, state.order, name), hit.containment
            self._best[at] = min(self._best.get(at, ranked), ranked)
        return turn == FAR

    def rows(self) -> pa.RecordBatch:
        """Give the rows of `HITS`; a document without a hit has none, unless it is alone."""
        places = sorted(self._best.keys() | self._alone)
        best = [self._best.get(at, (None, None)) for at in places]
        ranks = [rank for rank, _ in best]
        return batch_of(
            HITS,
            position=[self._positions[at] for at in places],
            alone=[at in self._alone for at in places],
            distance=[rank and rank.distance for rank in ranks],
            dissimilarity=[rank and rank.dissimilarity for rank in ranks],
            ms=[rank and rank.order[0] for rank in ranks],
            sequence=[rank and rank.order[1] for rank in ranks],
            of=[rank and rank.id for rank in ranks],
            containment=[share for _, share in best],
        )


DISK = StorageLevel.DISK_ONLY


@dataclass(frozen=True)
class Decisions:
    """What was decided."""

    lines: DataFrame  # One JSON text a document, in the order of the input.
    refused: DataFrame
    documents: int
    originals: int


def deduplicate(
    spark: SparkSession, corpus: Input, analysis: Analysis, *, against: IndexPlace | None = None, hot: int = points.HOT
) -> Decisions:
    """Decide a corpus against itself and, where one is named, an index, which stays as it is.

    Parameters
    ----------
    spark : SparkSession
        See `simhash_hbase.spark.session.session`.
    corpus : Input
        The documents.
    analysis : Analysis
        That of the index, or one with an idf that was learned from `corpus.texts()`.
    against : IndexPlace, optional
        The address of the index, and which collection; every worker opens it for reading.
    hot : int, optional
        A prefix that more points share is divided.

    Returns
    -------
    Decisions
        What ``dedup --dry-run`` decides for the same input.
    """
    profile = analysis.profile
    whole, refused = without_repeats(corpus.documents(analysis).persist(DISK), corpus.order)
    if corpus.options.preference is None or corpus.options.preference.by == "first":
        whole = whole.withColumn("line", F.col("position"))
    else:
        whole = in_order_of_preference(whole).persist(DISK)
    fresh, recorded = _against(whole, profile, against)
    documents = points.with_points(fresh).persist(DISK)
    named = documents.where("position = point").select("point", "last", "simhash", "sketch")
    rows = points.meeting_rows(named, profile, hot=hot).persist(DISK)
    owned = documents.where("position = point AND distance IS NOT NULL").select("position")
    state = points.decide_points(rows, profile, corpus.order.lines, collected(owned, 1)[:, 0])
    stated = points.with_states(documents, state).persist(DISK)
    best = _best(stated, points.named_originals(rows, stated, profile, state))
    answers = stated.drop(*BEST, "ms", "sequence").join(best, "position", "left")
    if recorded is not None:
        answers = answers.unionByName(_standing(recorded, stated), allowMissingColumns=True)
    else:
        answers = answers.withColumns({"recorded": F.lit(False), "standing": F.lit(None).cast(TEXT)})
    lines = _printed(answers.orderBy("line"), profile)
    kept = stated.where("kept").count() + (recorded.where("original").count() if recorded is not None else 0)
    return Decisions(lines, refused, whole.count(), kept)


def _against(whole: DataFrame, profile: Profile, place: IndexPlace | None) -> tuple[DataFrame, DataFrame | None]:
    """Divide documents into those to be decided, with the nearest document of the index, and those it has decided."""
    if place is None:
        columns = [column.split() for column in HITS.split(", ")]
        nothing = {name: F.lit(None).cast(kind) for name, kind in columns if name not in ("position", "alone")}
        return whole.withColumns({"alone": F.lit(False), **nothing}), None
    oldest = profile.oldest(now_ms())
    known = held_documents(whole, place, oldest).persist(DISK)
    decided = known.where("recorded").drop("id", "recorded")
    moving = {row.id: row.position for row in known.where("NOT recorded").select("id", "position").collect()}
    fresh = whole.join(decided.select("position"), "position", "left_anti").persist(DISK)
    hits = index_hits(fresh, place, oldest, moving)
    joined = fresh.join(hits, "position", "left").withColumn("alone", F.coalesce("alone", F.lit(False)))
    return joined, whole.join(decided, "position")


def _best(stated: DataFrame, named: DataFrame) -> DataFrame:
    """Choose the best original of each document; those of the input get their ids."""
    ranks = ("distance", "dissimilarity", "ms", "sequence", "of")
    own = named.withColumns(
        {"ms": F.lit(points.OWN_ORDER), "sequence": F.col("source"), "of": F.lit(None).cast("string")}
    )
    own = own.withColumn("containment", F.lit(None).cast("double"))
    of_index = stated.where("distance IS NOT NULL").withColumn("source", F.lit(None).cast("long"))
    columns = (*ranks, "source", "containment")
    every = own.select("position", *columns).unionByName(of_index.select("position", *columns))
    least = every.groupBy("position").agg(F.min(F.struct(*columns)).alias("best")).select("position", "best.*")
    shingles = F.substring("sketch", SKETCH_BYTES + 1, COUNT_BYTES).alias("shingles")
    names = stated.select(F.col("position").alias("source"), F.col("id").alias("name"), shingles)
    best = least.join(names, "source", "left").withColumn("of", F.coalesce("of", "name"))
    return best.select("position", *BEST, "shingles")


def _standing(recorded: DataFrame, stated: DataFrame) -> DataFrame:
    """Say of recorded duplicates with which text their original stands, at their place in the input."""
    text = F.struct("simhash", F.substring("digest", 1, TEXT_BYTES).alias("digest"))
    anew = stated.select(
        F.col("id").alias("of"), F.col("position").alias("turn"), F.when(F.col("kept"), text).alias("now")
    )
    joined = recorded.join(anew, "of", "left")
    standing = F.when(F.col("turn") < F.col("position"), F.col("now")).otherwise(F.col("standing"))
    return joined.select(
        *(name for name in recorded.columns if name not in ("standing", "similarity", "original")),
        F.col("original").alias("kept"),
        (-F.col("similarity")).alias("dissimilarity"),
        standing.alias("standing"),
        F.lit(True).alias("recorded"),
    )


def _printed(answers: DataFrame, profile: Profile) -> DataFrame:
    """Write decisions as ``dedup`` prints them."""

    def line(row: Mapping[str, Any]) -> str:
        unknown = row["dissimilarity"] is None or row["dissimilarity"] > 0
        if row["kept"]:
            decision = Decision(row["id"], True)
        else:
            similarity, share = None if unknown else -row["dissimilarity"], row["containment"]
            if row["shingles"]:
                # The original is of the input, too.
                counts = row["sketch"][SKETCH_BYTES : SKETCH_BYTES + COUNT_BYTES], row["shingles"]
                share = estimated_containment(similarity, *(int.from_bytes(count, "big") for count in counts))
            decision = Decision(row["id"], False, row["of"], row["distance"], similarity, share)
        if row["recorded"] and decision.of is not None:
            standing, of_text = (text and Text(**text) for text in (row["standing"], row["of_text"]))
            decision = replace(decision, of_removed=is_of_removed(of_text, standing))
        short = profile.is_short(row["features"], row["length"])
        return json_line(decision_record(replace(decision, short=short)))[:-1].decode()

    def lines(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch_of(LINES, value=[line(row) for row in batch.to_pylist()])

    return answers.mapInArrow(lines, LINES)
