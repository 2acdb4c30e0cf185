"""The HTML report of a run of `dedup`, made from its decisions and its input."""

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import BinaryIO

from simhash_hbase.files.remote import shown
from simhash_hbase.inputs import total_bytes
from simhash_hbase.inputs.meter import Metering, silent
from simhash_hbase.profile.matching import MatchRule
from simhash_hbase.report import pairs
from simhash_hbase.report.duplicates import duplicate_table
from simhash_hbase.report.page import HistogramBar, Section, histogram, make_page, resource, shortened, tile, tiles
from simhash_hbase.report.sources import SourceFigures
from simhash_hbase.rows.layout import SIMHASH_BITS

_NAMED_SOURCES = 3
_SHOWN_SOURCES = 100
_KEPT = {"first": "the first", "longest": "the longest"}


@dataclass(frozen=True, kw_only=True)
class ReportRun:
    """The circumstances of the run that a report describes: index, time, options, figures by source."""

    index: str  # Address of the index, without secrets.
    time: datetime
    keep: str = "first"
    dry: bool = False
    by: str | None = None  # The field that names the source of a record.
    by_source: Sequence[SourceFigures] = ()
    words: Callable[[str], str] = str  # Writes `parameters` in sentences by the caller's own names.


def write_report(stream: BinaryIO, corpus: pairs.DecidedCorpus, run: ReportRun, *, meter: Metering = silent) -> None:
    """Write the HTML report of a corpus that `dedup` has decided to a stream.

    The decisions are read twice and the input once. Data that grow with the corpus are kept in a temporary folder; the
    page is below ten megabytes for any corpus.
    """
    with duplicate_table(corpus.lines()) as database:
        chosen = pairs.choose_pairs(database)
        with meter("report: read", total_bytes(corpus.sources), unit="bytes") as progress:
            reading = pairs.read_again(corpus, chosen.numbers, database, progress)
        with meter("report: compare", len(chosen.numbers), noun="pairs") as progress:
            listed = pairs.make_lists(database, chosen.numbers, progress, has_texts=corpus.has_texts)
        (clusters,) = database.execute("SELECT COUNT(DISTINCT of) FROM duplicate").fetchone()
        distances, similarities = pairs.distance_bars(database), pairs.similarity_bars(database)
    named = named_sources(corpus.sources)
    profile, rule = corpus.analysis.profile, corpus.analysis.profile.rule
    if rule.match == "verified":
        within = f"at most {rule.farthest} bits apart, and " if rule.farthest < SIMHASH_BITS else ""
        judged = f"{within}of an estimated similarity of {rule.similarity:g} or more"
    elif rule.match == "copied":
        judged = f"documents of which one holds {rule.share:g} or more of the rare passages of the other"
    else:
        judged = f"at most {rule.distance} bits apart"
    agreed = "" if profile.agree is None else f", agree {profile.agree}"
    # An order by a field has no shorter name than its form.
    kept = _KEPT.get(run.keep, run.words(f"that of `keep` {run.keep}"))
    page = make_page(
        heading=f"Near-duplicates of {named}",
        lead=f"{named} against {run.index}, {run.time:%-d %B %Y, %H:%M} UTC. Duplicates are {judged} (rule"
        f" {rule.match}, analyzer {profile.analyzer}, scheme {profile.scheme}{agreed}); of near copies {kept} is kept.",
        sections=[
            Section(figures(reading, clusters, has_texts=corpus.has_texts), [("figures", "Figures")]),
            Section(notices(reading, dry=run.dry)),
            Section(sources(run.by, run.by_source) if run.by else "", [("sources", "Sources")]),
            Section(charts(distances, similarities, reading.duplicates, rule), [("histograms", "Histograms")]),
            Section(
                lists(listed, chosen, clusters, distances) if clusters else "",
                [("clusters", "Clusters"), ("pairs", "Pairs")],
            ),
            Section(refused(reading, run.words), [("refused-records", "Refused records")]),
        ],
        data=listed if clusters else None,
    )
    stream.write(page)


def named_sources(sources: Sequence[str]) -> str:
    """Return the names of the first three sources as text, and how many more there are."""
    names = ["standard input" if source == "-" else shown(source) for source in sources]
    named, unnamed = ", ".join(names[:_NAMED_SOURCES]), len(names) - _NAMED_SOURCES
    return f"{named} and {unnamed:,} more" if unnamed > 0 else named


_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_STEP = 1000
_REASON = 300


def figures(reading: pairs.InputTotals, clusters: int, *, has_texts: bool) -> str:
    """Return the HTML of the boxes with the numbers of records that were read, kept, duplicates and refused."""
    records = reading.kept + reading.duplicates + reading.refused
    what = "texts and pages" if reading.has_pages else "text"
    of_all = f"of {reading.bytes:,} bytes of {what}: {_percent(reading.duplicate_bytes, reading.bytes)}"
    shown = [
        tile("read", "records read", f"{records:,}",
              "documents and refused records" if reading.refused else "documents"),
        tile("kept", "kept", f"{reading.kept:,}", f"{_percent(reading.kept, records)} of the records"),
        tile("duplicates", "duplicates", f"{reading.duplicates:,}",
              f"{_percent(reading.duplicates, records)}, in {clusters:,} cluster{'s' * (clusters != 1)}"),
        tile("refused", "refused", f"{reading.refused:,}", "listed below" if reading.refused else "nothing"),
        tile("bytes", "in duplicates", _bytes(reading.duplicate_bytes) if has_texts else "unknown",
              f"{reading.duplicate_bytes:,} {of_all}" if has_texts else "the input has no texts"),
    ]  # fmt: skip
    if not records:
        return tiles(shown)
    bars, keys, left = "", "", 0.0
    shares = (("kept", "kept", reading.kept), ("copies", "duplicates", reading.duplicates),
              ("refused", "refused", reading.refused))  # fmt: skip
    for kind, word, count in shares:
        width = 100 * count / records
        bars += f'<rect class="{kind}" x="{left:.3f}" width="{width:.3f}" height="12"/>'
        left += width
        if count:
            key = f'<svg class="share" viewBox="0 0 10 10"><rect class="{kind}" width="10" height="10"/></svg>'
            keys += f"<li>{key}{word}</li>"
    # The tiles have the same figures in words.
    bar = f'<svg class="share" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">{bars}</svg>'
    return tiles(shown, f'{bar}<ul class="keys" aria-hidden="true">{keys}</ul>')


def notices(reading: pairs.InputTotals, *, dry: bool) -> str:
    """Return the HTML of notices, where they apply: a dry run, no duplicates, short documents, removed originals."""
    said = []
    if dry:
        said.append("This was a dry run: nothing was written to the index.")
    if not reading.duplicates:
        said.append("There are no duplicates.")
    them = "it" if reading.short == 1 else "them"
    for count, what in (
        (reading.short, f"so short that edited copies of {them} may have been missed"),
        (reading.removed, "a duplicate of one that was removed from the index or changed since"),
    ):
        if count:
            said.append(f"{'1 document is' if count == 1 else f'{count:,} documents are'} {what}.")
    return "".join(f'<p class="notice">{sentence}</p>' for sentence in said)


def refused(reading: pairs.InputTotals, words: Callable[[str], str]) -> str:
    """Return the HTML of a table of the first refused records, with places and reasons; empty if there are none.

    `words` rewrites a reason so that it names the caller's own options.
    """
    if not reading.refused:
        return ""
    rows = "".join(
        f"<tr><td>{_quoted(str(reject.place))}</td><td>{_quoted(shortened(words(reject.reason), _REASON))}</td></tr>"
        for reject in reading.rejects
    )
    shown, advice = len(reading.rejects), words("`rejects=FILE` keeps them whole.")
    which = "all of them" if shown == reading.refused else f"the first {shown:,} of {reading.refused:,}"
    return (
        '<section id="refused-records"><h2>Refused records</h2>'
        f'<p class="note">Here are {which}; the rest of the input went on. {advice}</p>'
        f'<div class="card"><table><thead><tr><th scope="col">where</th><th scope="col">why</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def sources(field: str, figures: Sequence[SourceFigures]) -> str:
    """Return the HTML of a table of the largest sources; empty if there are none. `field` names a record's source."""
    if not figures:
        return ""
    rows = "".join(
        f"<tr><td>{_quoted(each.source) if each.source else 'none'}</td><td>{each.documents:,}</td>"
        f"<td>{each.kept:,}</td><td>{each.removed:,}</td><td>{each.removed_share:.1%}</td>"
        f"<td>{each.largest_cluster:,}</td></tr>"
        for each in figures[:_SHOWN_SOURCES]
    )
    which = f"the {_SHOWN_SOURCES:,} largest of {len(figures):,}" if len(figures) > _SHOWN_SOURCES else "all of them"
    names = ("source", "documents", "kept", "duplicates", "share of duplicates", "largest cluster")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        f'<section id="sources"><h2>Documents by {_quoted(field)}</h2>'
        f'<p class="note">Here are {which}. The largest cluster counts the documents of the source only.</p>'
        f'<div class="card"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>'
    )


def charts(
    distances: Sequence[HistogramBar], similarities: Sequence[HistogramBar], duplicates: int, rule: MatchRule
) -> str:
    """Return the HTML of the histograms of distances and similarities to the originals; empty without duplicates."""
    if not duplicates:
        return ""
    farthest = (rule.farthest + 1, f"at most {rule.farthest}") if rule.match != "copied" else None
    title = "Distance to the kept document"
    drawn = histogram("distances", title, "bits of 64 that differ", distances, bound=farthest)
    note = ""
    if similarities:
        title = "Similarity to the kept document"
        unit = "estimated Jaccard similarity of 5-character shingles"
        least = (rule.similarity, f"at least {rule.similarity:g}") if rule.match == "verified" else None
        drawn += histogram("similarities", title, unit, similarities, bound=least)
    unknown = duplicates - sum(bar.height for bar in similarities)
    if unknown:
        note = (
            f'<p class="note">Of {unknown:,} duplicate{"s" * (unknown != 1)} the similarity is unknown: it takes a'
            " sketch on both sides.</p>"
        )
    return (
        '<section id="histograms"><h2>Distances of duplicates to the kept documents</h2>'
        f'{note}<div class="charts">{drawn}</div></section>'
    )


def lists(
    listed: Mapping[str, Sized], chosen: pairs.Selection, clusters: int, distances: Sequence[HistogramBar]
) -> str:
    """Return the HTML around the lists of clusters and pairs, with a sentence how many of all there are.

    The page's script fills the lists. A cluster is a kept document with its duplicates.
    """
    count, shown, duplicates = len(listed["clusters"]), len(listed["pairs"]), sum(bar.height for bar in distances)
    which = "all of them"
    if count < clusters:
        which = f"{count:,} of {clusters:,}: the largest, and those of the pairs below"
    which_pairs = "In this page are all of them."
    if shown < duplicates:
        left_out = len(chosen.numbers) - shown
        room = f"; {left_out:,} of these were too long for this page" if left_out else ""
        which_pairs = f"In this page are {shown:,} of {duplicates:,}: {chosen.sentence}{room}."
    options = (f'<option value="{at}">{escape(bar.label)}</option>' for at, bar in enumerate(distances) if bar.height)
    return resource("lists.html").substitute(
        clusters=f"A cluster is a kept document with its duplicates. In this page are {which}.",
        pairs=escape(which_pairs),
        distances="".join(options),
    )


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0.0%"


def _bytes(count: float) -> str:
    for unit in _UNITS:
        if count < _STEP or unit == _UNITS[-1]:
            break
        count /= _STEP
    return f"{count:,.0f} {unit}" if unit == _UNITS[0] else f"{count:,.1f} {unit}"


def _quoted(text: str) -> str:
    """Return a text from the input as HTML: escaped, and isolated so that its writing direction stays inside."""
    return f"<bdi>{escape(text)}</bdi>"
