"""The parts of a report that need no script: figures, refused records, histograms, empty lists."""

from collections.abc import Sequence
from html import escape

from simhash_hbase.profile.near import MatchRule
from simhash_hbase.report.charts import Bound, histogram
from simhash_hbase.report.figures import Bar
from simhash_hbase.report.page import resource
from simhash_hbase.report.reading import Reading

_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_STEP = 1000
_REASON = 300


def figures(reading: Reading, clusters: int, *, has_texts: bool) -> str:
    """Show what was read, kept and refused."""
    records = reading.kept + reading.duplicates + reading.refused
    kind = "texts and pages" if reading.has_pages else "text"
    of_all = f"of {reading.bytes:,} bytes of {kind}: {_percent(reading.duplicate_bytes, reading.bytes)}"
    tiles = [
        tile("read", "records read", f"{records:,}",
              "documents and refused records" if reading.refused else "documents"),
        tile("kept", "kept", f"{reading.kept:,}", f"{_percent(reading.kept, records)} of the records"),
        tile("duplicates", "duplicates", f"{reading.duplicates:,}",
              f"{_percent(reading.duplicates, records)}, in {clusters:,} cluster{'s' * (clusters != 1)}"),
        tile("refused", "refused", f"{reading.refused:,}", "listed below" if reading.refused else "nothing"),
        tile("bytes", "in duplicates", _bytes(reading.duplicate_bytes) if has_texts else "unknown",
              f"{reading.duplicate_bytes:,} {of_all}" if has_texts else "the input has no texts"),
    ]  # fmt: skip
    shares = (("kept", reading.kept), ("copies", reading.duplicates), ("refused", reading.refused))
    return (
        f'<section id="figures" aria-label="Figures"><dl class="tiles">{"".join(tiles)}</dl>{_share(shares)}</section>'
    )


def tile(name: str, term: str, number: str, more: str) -> str:
    """Show one number."""
    content = f'<dt>{term}</dt><dd class="number">{escape(number)}</dd><dd class="rest">{escape(more)}</dd>'
    return f'<div id="{name}">{content}</div>'


def _share(shares: Sequence[tuple[str, int]]) -> str:
    total = sum(count for _, count in shares)
    if not total:
        return ""
    drawn, left = [], 0.0
    for name, count in shares:
        width = 100 * count / total
        drawn.append(f'<rect class="{name}" x="{left:.3f}" width="{width:.3f}" height="12"/>')
        left += width
    keys = "".join(
        f'<li><svg class="share" viewBox="0 0 10 10"><rect class="{name}" width="10" height="10"/></svg>{word}</li>'
        for (name, count), word in zip(shares, ("kept", "duplicates", "refused"), strict=True)
        if count
    )
    # The tiles have the same figures in words.
    return (
        f'<svg class="share" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">{"".join(drawn)}</svg>'
        f'<ul class="keys" aria-hidden="true">{keys}</ul>'
    )


def notices(reading: Reading, *, dry: bool) -> str:
    """Write the notices."""
    said = []
    if dry:
        said.append("This was a dry run: nothing was written to the index.")
    if not reading.duplicates:
        said.append("There are no duplicates.")
    if reading.short:
        said.append(
            f"{_documents(reading.short)} so short that edited copies of {_them(reading.short)} may have been missed."
        )
    if reading.removed:
        said.append(
            f"{_documents(reading.removed)} a duplicate of one that was removed from the index or changed since."
        )
    return "".join(f'<p class="notice">{sentence}</p>' for sentence in said)


def _documents(count: int) -> str:
    return "1 document is" if count == 1 else f"{count:,} documents are"


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


def refused(reading: Reading) -> str:
    """List refused records, each with its place and reason; nothing when there are none."""
    if not reading.refused:
        return ""
    rows = "".join(
        f"<tr><td>{_quoted(str(reject.place))}</td><td>{_quoted(_short(reject.reason))}</td></tr>"
        for reject in reading.rejects
    )
    shown = len(reading.rejects)
    which = "all of them" if shown == reading.refused else f"the first {shown:,} of {reading.refused:,}"
    return (
        '<section id="refused-records"><h2>Refused records</h2>'
        f'<p class="note">Here are {which}; the rest of the input went on. --rejects FILE keeps them whole.</p>'
        f'<div class="card"><table><thead><tr><th scope="col">where</th><th scope="col">why</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _short(reason: str) -> str:
    return reason if len(reason) <= _REASON else reason[: _REASON - 1] + "…"


def charts(distances: Sequence[Bar], similarities: Sequence[Bar], duplicates: int, rule: MatchRule) -> str:
    """Draw both histograms; nothing without duplicates."""
    if not duplicates:
        return ""
    bound: Bound | None = Bound(rule.farthest + 1, f"at most {rule.farthest}")
    drawn = histogram("distances", "Distance to the kept document", "bits of 64 that differ", distances, bound=bound)
    note = ""
    if similarities:
        title = "Similarity to the kept document"
        unit = "estimated Jaccard similarity of 5-character shingles"
        bound = Bound(rule.similarity, f"at least {rule.similarity:g}") if rule.match == "verified" else None
        drawn += histogram("similarities", title, unit, similarities, bound=bound)
    unknown = duplicates - sum(bar.height for bar in similarities)
    if unknown:
        note = (
            f'<p class="note">Of {unknown:,} duplicate{"s" * (unknown != 1)} the similarity is unknown: it takes a'
            " sketch on both sides.</p>"
        )
    return (
        '<section id="histograms"><h2>How far duplicates are from what was kept</h2>'
        f'{note}<div class="charts">{drawn}</div></section>'
    )


def lists(clusters: str, pairs: str, distances: Sequence[Bar]) -> str:
    """Write the empty lists, which the script fills."""
    options = (f'<option value="{at}">{escape(bar.label)}</option>' for at, bar in enumerate(distances) if bar.height)
    return resource("lists.html").substitute(clusters=escape(clusters), pairs=escape(pairs), distances="".join(options))


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0.0%"


def _bytes(count: float) -> str:
    for unit in _UNITS:
        if count < _STEP or unit == _UNITS[-1]:
            break
        count /= _STEP
    return f"{count:,.0f} {unit}" if unit == _UNITS[0] else f"{count:,.1f} {unit}"


def _quoted(text: str) -> str:
    """Escape a text of the input, and isolate its writing direction."""
    return f"<bdi>{escape(text)}</bdi>"
