"""``dedup`` on Spark: the decisions of one machine, line for line."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.jsonforms import decision_record, json_line
from simhash_hbase.profile import Profile
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.rows.documents import Text
from simhash_hbase.rows.layout import TEXT_BYTES
from simhash_hbase.spark.against import TEXT, held_documents, index_hits
from simhash_hbase.spark.analysed import Input, without_repeats
from simhash_hbase.spark.columns import Mapped, batch_of, collected
from simhash_hbase.spark.meeting import HOT, meeting_rows, with_points
from simhash_hbase.spark.nearest import OWN_ORDER, named_originals, with_states
from simhash_hbase.spark.rounds import decide_points

DISK = StorageLevel.DISK_ONLY


@dataclass(frozen=True)
class Decisions:
    """What was decided."""

    lines: DataFrame  # One JSON text a document, in the order of the input.
    refused: DataFrame
    documents: int
    originals: int
    rounds: int
    rows: int  # Rows of points that meet another one.


def deduplicate(
    spark: SparkSession, corpus: Input, analysis: Analysis, *, url: str | None = None, hot: int = HOT
) -> Decisions:
    """Decide a corpus against itself and, where `url` names one, an index, which stays as it is.

    Parameters
    ----------
    spark : SparkSession
        See `simhash_hbase.spark.session.session`.
    corpus : Input
        The documents.
    analysis : Analysis
        That of the index, or one with an idf that was learned from `corpus.texts()`.
    url : str, optional
        The address of the index; every worker opens it for reading.
    hot : int, optional
        A prefix that more points share is divided.

    Returns
    -------
    Decisions
        What ``dedup --dry-run`` decides for the same input.
    """
    profile = analysis.profile
    whole, refused = without_repeats(corpus.documents(analysis).persist(DISK), corpus.order)
    fresh, recorded = _against(whole, profile, url)
    documents = with_points(fresh).persist(DISK)
    points = documents.where("position = point").select("point", "last", "simhash", "sketch")
    rows = meeting_rows(points, profile, hot=hot).persist(DISK)
    owned = documents.where("position = point AND distance IS NOT NULL").select("position")
    state = decide_points(rows, profile, corpus.order.total, collected(owned, 1)[:, 0])
    stated = with_states(documents, state).persist(DISK)
    best = _best(stated, named_originals(rows, stated, profile, state))
    answers = stated.drop("of", "distance", "dissimilarity", "ms", "sequence").join(best, "position", "left")
    if recorded is not None:
        answers = answers.unionByName(_standing(recorded, stated), allowMissingColumns=True)
    else:
        answers = answers.withColumns({"recorded": F.lit(False), "standing": F.lit(None).cast(TEXT)})
    lines = answers.orderBy("position").mapInArrow(_printed(profile), "value string")
    kept = stated.where("kept").count() + (recorded.where("original").count() if recorded is not None else 0)
    return Decisions(lines, refused, whole.count(), kept, state.rounds, rows.count())


def _against(whole: DataFrame, profile: Profile, url: str | None) -> tuple[DataFrame, DataFrame | None]:
    """Divide documents into those to be decided, with the nearest document of the index, and those it has decided."""
    if url is None:
        columns = {"distance": "int", "dissimilarity": "double", "ms": "long", "sequence": "long", "of": "string"}
        nothing = {name: F.lit(None).cast(kind) for name, kind in columns.items()}
        return whole.withColumns({"alone": F.lit(False), **nothing}), None
    oldest = profile.oldest(now_ms())
    held = held_documents(whole, url, oldest).persist(DISK)
    decided = held.where("recorded").drop("id", "recorded")
    moving = {row.id: row.position for row in held.where("NOT recorded").select("id", "position").collect()}
    fresh = whole.join(decided.select("position"), "position", "left_anti").persist(DISK)
    hits = index_hits(fresh, url, oldest, moving)
    joined = fresh.join(hits, "position", "left").withColumn("alone", F.coalesce("alone", F.lit(False)))
    return joined, whole.join(decided, "position")


def _best(stated: DataFrame, named: DataFrame) -> DataFrame:
    """Choose the best original of each document; those of the input get their ids."""
    ranks = ("distance", "dissimilarity", "ms", "sequence", "of")
    own = named.withColumns({"ms": F.lit(OWN_ORDER), "sequence": F.col("source"), "of": F.lit(None).cast("string")})
    held = stated.where("distance IS NOT NULL").withColumn("source", F.lit(None).cast("long"))
    every = own.select("position", *ranks, "source").unionByName(held.select("position", *ranks, "source"))
    least = every.groupBy("position").agg(F.min(F.struct(*ranks, "source")).alias("best")).select("position", "best.*")
    names = stated.select(F.col("position").alias("source"), F.col("id").alias("name"))
    found = least.join(names, "source", "left").withColumn("of", F.coalesce("of", "name"))
    return found.select("position", "of", "distance", "dissimilarity")


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


def _printed(profile: Profile) -> Mapped:
    """Make the function that writes decisions as ``dedup`` prints them."""

    def printed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = (_line(row, profile) for row in batch.to_pylist())
            yield batch_of(value=pa.array(rows, pa.string()))

    return printed


def _line(row: Mapping[str, Any], profile: Profile) -> str:
    unknown = row["dissimilarity"] is None or row["dissimilarity"] > 0
    if row["kept"]:
        decision = Decision(row["id"], True)
    else:
        similarity = None if unknown else -row["dissimilarity"]
        decision = Decision(row["id"], False, row["of"], row["distance"], similarity)
    if row["recorded"] and decision.of is not None:
        standing, named = (text and Text(**text) for text in (row["standing"], row["of_text"]))
        decision = replace(decision, of_removed=not (standing and (named is None or named.is_same(standing))))
    short = profile.is_short(row["features"], row["length"])
    return json_line(decision_record(replace(decision, short=short)))[:-1].decode()
