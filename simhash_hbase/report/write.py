"""The report of one `dedup`: from decisions and input to a page."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from typing import BinaryIO

from simhash_hbase.files.remote import shown
from simhash_hbase.index.decide.decided import duplicate_table
from simhash_hbase.inputs import total_bytes
from simhash_hbase.pipeline.meter import Metering, silent
from simhash_hbase.profile import Profile
from simhash_hbase.report.figures import distance_bars, similarity_bars
from simhash_hbase.report.page import Section, make_page
from simhash_hbase.report.pairs import Lists, make_lists
from simhash_hbase.report.reading import Corpus, Reading, read_again
from simhash_hbase.report.sections import charts, figures, lists, notices, refused
from simhash_hbase.report.selection import Selection, choose_pairs

_NAMED_SOURCES = 3


@dataclass(frozen=True, kw_only=True)
class Run:
    """The run that a report describes."""

    index: str  # Address of the index, without secrets.
    time: datetime
    keep: str = "first"
    dry: bool = False


def write_report(stream: BinaryIO, corpus: Corpus, run: Run, *, meter: Metering = silent) -> None:
    """Write the report of a corpus that was decided.

    Reads the decisions twice and the input once. Data that grows with the corpus stays in the folder for temporary
    files; the page is below ten megabytes for any corpus.
    """
    with duplicate_table(corpus.lines()) as database:
        chosen = choose_pairs(database)
        with meter("report: read", total_bytes(corpus.sources), unit="bytes") as shown:
            reading = read_again(corpus, chosen.numbers, database, shown)
        with meter("report: compare", len(chosen.numbers), noun="pairs") as shown:
            found = make_lists(database, chosen.numbers, shown, has_texts=corpus.has_texts)
        stream.write(_page(database, corpus, run, reading, chosen, found))


def _page(
    database: sqlite3.Connection, corpus: Corpus, run: Run, reading: Reading, chosen: Selection, found: Lists
) -> bytes:
    (clusters,) = database.execute("SELECT COUNT(DISTINCT of) FROM duplicate").fetchone()
    distances = distance_bars(database)
    shown = lists(_clusters_shown(found, clusters), _pairs_shown(found, chosen, reading.duplicates), distances)
    drawn = charts(distances, similarity_bars(database), reading.duplicates, corpus.analysis.profile.rule)
    sections = [
        Section(figures(reading, clusters, has_texts=corpus.has_texts), [("figures", "Figures")]),
        Section(notices(reading, dry=run.dry)),
        Section(drawn, [("histograms", "Histograms")]),
        Section(shown if clusters else "", [("clusters", "Clusters"), ("pairs", "Pairs")]),
        Section(refused(reading), [("refused-records", "Refused records")]),
    ]
    return make_page(
        heading=f"Near-duplicates of {_named(corpus.sources)}",
        lead=_lead(corpus, run),
        sections=sections,
        data={"pairs": found.pairs, "clusters": found.clusters} if clusters else None,
        version=version("simhash-hbase"),
    )


def _lead(corpus: Corpus, run: Run) -> str:
    time = f"{run.time:%-d %B %Y, %H:%M} UTC"
    return f"{_named(corpus.sources)} against {run.index}, {time}. {_rule(corpus.analysis.profile)}; {_keeps(run)}."


def _named(sources: Sequence[str]) -> str:
    named = ["standard input" if source == "-" else shown(source) for source in sources]
    rest = len(named) - _NAMED_SOURCES
    return ", ".join(named[:_NAMED_SOURCES]) + (f" and {rest:,} more" if rest > 0 else "")


def _rule(profile: Profile) -> str:
    rule = profile.rule
    if rule.match == "verified":
        judged = f"at most {rule.farthest} bits apart, with an estimated similarity of {rule.similarity:g} or more"
    else:
        judged = f"at most {rule.distance} bits apart"
    return f"Duplicates are {judged} (rule {rule.match}, analyzer {profile.analyzer}, scheme {profile.scheme})"


def _keeps(run: Run) -> str:
    return "of near copies the longest is kept" if run.keep == "longest" else "of near copies the first is kept"


def _clusters_shown(found: Lists, total: int) -> str:
    listed = len(found.clusters)
    which = "all of them" if listed == total else f"{listed:,} of {total:,}: the largest, and those of the pairs below"
    return f"A cluster is a kept document with its duplicates. In this page are {which}."


def _pairs_shown(found: Lists, chosen: Selection, total: int) -> str:
    shown = len(found.pairs)
    if shown == total:
        return "In this page are all of them."
    room = f"; {found.left_out:,} of these were too long for this page" if found.left_out else ""
    return f"In this page are {shown:,} of {total:,}: {chosen.sentence}{room}."
