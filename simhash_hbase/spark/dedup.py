"""``dedup`` on Spark: the same decisions as on one machine, line for line, against the input itself and an index."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession, functions as F

from simhash_hbase.api import open_local_index
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index import candidates, documentrows
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.dedup import Rank, rank_of
from simhash_hbase.index.jsonforms import DECISION, json_line
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.index.members import found_since
from simhash_hbase.index.search import Further, Hit, find_nearest
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import estimated_containment
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.rows.collections import own_id
from simhash_hbase.rows.documentcells import Text, is_of_removed
from simhash_hbase.rows.layout import COUNT_BYTES, SKETCH_BYTES, TEXT_BYTES
from simhash_hbase.spark import points
from simhash_hbase.spark.input import Input, collected, entries_of, numbered, without_repeats
from simhash_hbase.spark.records import TEXT, batch_of, by_batch, rows_batch

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
    """The address and the collection of an index that workers open."""

    url: str
    collection: str | None = None


@cache
def opened(place: IndexPlace) -> LocalIndex:
    """Return the index at a place, open for reading; each worker process opens it once."""
    return open_local_index(place.url, collection=place.collection, readonly=True)


def held_documents(documents: DataFrame, place: IndexPlace, oldest: int) -> DataFrame:
    """Return the input's documents whose ids the index holds, with its recorded decision where the text is the same."""

    def held(batch: pa.RecordBatch) -> pa.RecordBatch:
        index = opened(place)

        def as_given(text: Text) -> dict[str, int | bytes]:
            """Return a text that the index holds in the form of the input's texts: signed fingerprint and digest."""
            simhash = np.uint64(index.collection.masked(text.simhash)).astype(np.int64)
            return {"simhash": int(simhash), "digest": text.digest}

        given, positions = entries_of(batch, index.profile.bands), batch["position"].to_pylist()
        entries = index.collection.stored(given)
        states = [found and found[0].in_force() for found in documentrows.read_states(index.store, entries.ids)]
        recorded = [
            state.recorded(text, oldest) if state else None for text, state in zip(entries.texts, states, strict=True)
        ]
        named = [decided.of for decided in recorded if decided and decided.of]
        originals = dict(zip(named, documentrows.read_states(index.store, named), strict=True))
        rows = []
        for at, (state, decided) in enumerate(zip(states, recorded, strict=True)):
            if state is None:
                continue
            row = {"position": positions[at], "id": given.ids[at], "recorded": decided is not None}
            row["original"] = bool(decided and decided.is_found)
            row["of_text"] = state.of_text and as_given(state.of_text)
            if decided and decided.of:
                cell = originals[decided.of]
                original = cell and cell[0].found(oldest)
                row |= {"of": own_id(decided.of), "distance": decided.distance, "similarity": decided.similarity}
                row |= {"containment": decided.containment, "standing": original and as_given(original.text)}
            rows.append(row)
        return rows_batch(RECORDED, rows)

    return by_batch(documents, RECORDED, held)


def index_hits(documents: DataFrame, place: IndexPlace, oldest: int, moving: Mapping[str, int]) -> DataFrame:
    """Return for each document its nearest original in the index, if it has one there.

    `moving` has the positions in the input, by id, of documents that the index holds with another text. Such a
    document's old text counts for documents before its position only. A document near an old text gets ``alone``, and
    is a point of its own, since copies of it may be decided otherwise.
    """
    shared = documents.sparkSession.sparkContext.broadcast(moving)

    def hits(batch: pa.RecordBatch) -> pa.RecordBatch:
        index, positions = opened(place), batch["position"].to_pylist()
        best: dict[int, tuple[Rank, float | None]] = {}
        alone: set[int] = set()

        def accept(at: int, hit: Hit) -> Further:
            """Keep an original that the search found if it is the best so far for a document.

            Return what the search needs next. See `simhash_hbase.index.dedup.UndecidedBatch.accept`.
            """
            state = hit.state
            if state.seen < oldest:
                return "more"
            name = own_id(state.id)
            turn: int = shared.value.get(name, FAR)
            if turn < FAR:
                alone.add(at)
            if turn > positions[at]:
                ranked = rank_of(hit.distance, hit.similarity, state.order, name), hit.containment
                best[at] = min(best.get(at, ranked), ranked)
            return "done" if turn == FAR else "more"

        entries = index.collection.stored(entries_of(batch, index.profile.bands))
        find_nearest(index.store, candidates.Queries.of(index.profile, entries), found_since(0), accept)
        rows = []
        for at in sorted(best.keys() | alone):
            rows.append({"position": positions[at], "alone": at in alone})
            if at in best:
                (distance, dissimilarity, (ms, sequence), of), share = best[at]
                rows[-1] |= {"distance": distance, "dissimilarity": dissimilarity, "ms": ms, "sequence": sequence}
                rows[-1] |= {"of": of, "containment": share}
        return rows_batch(HITS, rows)

    return by_batch(documents, HITS, hits)


DISK = StorageLevel.DISK_ONLY


@dataclass(frozen=True)
class SparkDecisions:
    """The decisions on a corpus, and how many documents and originals there are."""

    lines: DataFrame  # A JSON text for each document, in the order of the input.
    refused: DataFrame
    documents: int
    originals: int


def deduplicate(
    spark: SparkSession, corpus: Input, analysis: Analysis, *, against: IndexPlace | None = None, hot: int = points.HOT
) -> SparkDecisions:
    """Decide a corpus as ``dedup --dry-run`` does: against itself and, where one is named, an index.

    `analysis` is that of the index, or has an idf that was learned from `corpus.texts()`; every worker opens the index
    for reading. The rows of a key prefix that more than `hot` points share are divided among tasks; see `points`.

    Raises
    ------
    InvalidArgument
        When the index has rule ``copied``, whose decisions depend on those before them, or near copies must agree about
        a field.
    """
    profile = analysis.profile
    if profile.match == "copied":
        raise InvalidArgument(
            "Spark cannot decide by rule copied, since how rare a passage is depends on the documents that were kept "
            "before: use dedup on one machine"
        )
    if profile.agree is not None:
        raise InvalidArgument(
            f"Spark compares no metadata, and near copies must agree about {profile.agree!r}: use dedup on one machine"
        )
    whole, refused = without_repeats(corpus.documents(analysis).persist(DISK), corpus.order)
    whole = whole.withColumn("line", F.col("position"))
    if corpus.options.preference is not None and corpus.options.preference.by != "first":
        placed = numbered(whole, "preference", "position")
        whole = placed.withColumn("position", F.col("number")).drop("number").persist(DISK)
    fresh, recorded = _against(whole, profile, against)
    documents = points.with_points(fresh).persist(DISK)
    named = documents.where("position = point").select("point", "simhash", "sketch")
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
    return SparkDecisions(lines, refused, whole.count(), kept)


def _against(whole: DataFrame, profile: Profile, place: IndexPlace | None) -> tuple[DataFrame, DataFrame | None]:
    """Return the documents to be decided, with their nearest originals in the index, and those that it has decided.

    Without an index the second one is None.
    """
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
    """Return for each document the best of its near originals, those of the input and that of the index."""
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
    """Return decisions that the index has recorded, with the text that the original has at its duplicate's turn.

    That is the original's text in the input if it comes before the duplicate there, null if it is not kept; else its
    text in the index.
    """
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


def _line_of(decision: Decision) -> str:
    """Return a decision as a line of JSON without its end.

    It is a function of the module, since the object that writes JSON cannot be sent to Spark's workers.
    """
    return json_line(DECISION.write(decision))[:-1].decode()


def _printed(answers: DataFrame, profile: Profile) -> DataFrame:
    """Return decisions as a frame of the JSON texts that ``dedup`` prints."""

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
        return _line_of(replace(decision, short=short))

    return by_batch(answers, LINES, lambda batch: batch_of(LINES, value=list(map(line, batch.to_pylist()))))
