"""HTML pages with everything in one file: style, script, data, histograms; the pages of a comparison and of figures."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

import msgspec

from simhash_hbase.index.answers import html_of
from simhash_hbase.index.upkeep.stats import Stats
from simhash_hbase.profile import Profile
from simhash_hbase.report.differences import Gap, TextRow, pair_rows, word_differences

COMPARED_CHARACTERS = 200_000  # Compared of a longer text.
_SKIP = '<a class="skip" href="#search">Skip to the search box</a>\n'


class Section(NamedTuple):
    """A part of a page as HTML, and the links to it in the head of the page."""

    html: str
    links: Sequence[tuple[str, str]] = ()  # Anchors in it, and their names in the page's head.


def make_page(*, heading: str, lead: str, sections: Sequence[Section], data: object = None) -> bytes:
    """Return an HTML page that needs no other files; the script in it shows `data`, None if there is nothing to show.

    In a browser that prefers Chinese, a script translates the words of the program, not those of documents.
    """
    # The service's console has these, too.
    static = files("simhash_hbase.report") / "static"
    names = ("texts.js", "chinese.js", "page.css")
    drawing, chinese, style = ((static / name).read_text(encoding="utf-8") for name in names)
    style += resource("page.css").template
    shared = f"{drawing}{chinese}".replace("export ", "")
    drawn = "" if data is None else resource("page.js").template
    script = f'"use strict";\n{shared}{drawn}'
    style_hash, script_hash = (b64encode(sha256(each.encode()).digest()).decode() for each in (style, script))
    policy = (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    links = [link for section in sections if section.html for link in section.links]
    scripts = "" if data is None else f'<script type="application/json" id="data">{data_json(data)}</script>\n'
    scripts += f"<script>{script}</script>"
    page = resource("page.html").substitute(
        policy=policy,
        skip="" if data is None else _SKIP,
        title=escape(heading),
        style=style,
        heading=escape(heading),
        lead=escape(lead),
        links="".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in links),
        sections="\n".join(section.html for section in sections),
        version=escape(version("simhash-hbase")),
        scripts=scripts,
    )
    # Names of files need not be Unicode.
    return page.encode(errors="backslashreplace")


def data_json(data: object) -> str:
    r"""Return data as JSON that is safe within an HTML script element: it cannot end the element or begin another.

    Examples
    --------
    >>> data_json("</script>&<!--")
    '"\\u003c/script>&\\u003c!--"'
    """
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


def shortened(text: str, characters: int) -> str:
    """Return a text; if it is longer than this number of characters, cut to it, with an ellipsis at the end."""
    return text if len(text) <= characters else text[: characters - 1] + "…"


def resource(name: str) -> Template:
    """Return a file in this package's folder as a template, such as ``page.html``."""
    return Template(files("simhash_hbase.report").joinpath(name).read_text(encoding="utf-8"))


def tile(name: str, term: str, number: str, more: str) -> str:
    """Return the HTML of a tile: a box on a page that shows one number.

    `name` is its anchor, `term` what is counted, `more` the line below the number.
    """
    content = f'<dt>{term}</dt><dd class="number">{escape(number)}</dd><dd class="rest">{escape(more)}</dd>'
    return f'<div id="{name}">{content}</div>'


def tiles(shown: Sequence[str], more: str = "") -> str:
    """Return the HTML of a page's section of figures: its tiles (boxes with one number each), then `more` HTML."""
    return f'<section id="figures" aria-label="Figures"><dl class="tiles">{"".join(shown)}</dl>{more}</section>'


class HistogramBar(NamedTuple):
    """One bar of a histogram; its height is a count."""

    label: str
    tick: str
    height: int
    start: float  # The least value in the bar.


WIDTH, HEIGHT = 520, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 8, 8, 26, 30
_MOST_TICKS = 9
_DIGIT = 7.5
_GAP = 0.18


def histogram(
    name: str,
    title: str,
    unit: str,
    bars: Sequence[HistogramBar],
    *,
    bound: tuple[float, str] | None = None,
    counted: str = "duplicates",
) -> str:
    """Return the HTML of a bar chart, and of its numbers as a table.

    `bound` is a value to mark on the axis and the mark's label; `counted` says what the heights count, `unit` what the
    axis measures.
    """
    most = max(bar.height for bar in bars) or 1
    step = (WIDTH - _LEFT - _RIGHT) / len(bars)
    each = -(-len(bars) // _MOST_TICKS)
    base = HEIGHT - _BOTTOM
    counts_fit = [len(f"{bar.height:,}") * _DIGIT <= step for bar in bars]
    drawn = ""
    for at, bar in enumerate(bars):
        left = _LEFT + at * step
        # A bar above zero must be visible.
        height = max(bar.height / most * (base - _TOP), 1.5) if bar.height else 0
        # The whole column responds to the pointer, however low its bar.
        drawn += (
            f"<g><title>{escape(bar.label)}: {bar.height:,}</title>"
            f'<rect class="column" x="{left:.1f}" y="0" width="{step:.1f}" height="{base}"/>'
            f'<rect class="bar" x="{left + step * _GAP / 2:.1f}" y="{base - height:.1f}"'
            f' width="{step * (1 - _GAP):.1f}" height="{height:.1f}"/>'
        )
        if bar.height and counts_fit[at]:
            drawn += _text(left + step / 2, base - height - 6, "count", f"{bar.height:,}")
        if (len(bars) - 1 - at) % each == 0:
            drawn += _text(left + step / 2, HEIGHT - 10, "tick", bar.tick)
        drawn += "</g>"
    if not all(counts_fit):
        drawn += _text(WIDTH - _RIGHT, 12, "count end", f"highest bar: {most:,}")
    if bound is not None:
        value, label = bound
        place = (value - bars[0].start) / (bars[1].start - bars[0].start if len(bars) > 1 else 1)
        # Rounding must not push the end of the last bar out of the chart.
        if 0 <= place <= len(bars) + 1e-6:
            x = _LEFT + place * step
            side, text_x = ("start", x + 4) if place < len(bars) / 2 else ("end", x - 4)
            drawn += f'<line class="bound" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 8}" y2="{base}"/>'
            drawn += _text(text_x, _TOP - 12, f"count {side}", label)
    rows = "".join(f"<tr><td>{escape(bar.label)}</td><td>{bar.height:,}</td></tr>" for bar in bars)
    return (
        f'<figure class="chart" id="{name}"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}; the table below has the figures">'
        f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{base}" y2="{base}"/>'
        f"{drawn}</svg>"
        f'<p class="unit">{escape(unit)}</p>'
        "<details><summary>as a table</summary><table>"
        f"<thead><tr><th>{escape(unit)}</th><th>{escape(counted)}</th></tr></thead><tbody>{rows}</tbody></table></details></figure>"
    )


def _text(x: float, y: float, kind: str, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


_REACH = {
    True: "A query for one finds the other.",
    False: "A query for one does not find the other.",
    None: "Whether a query for one finds the other is not known.",
}


def comparison_page(texts: Sequence[str], compared: Mapping[str, Any]) -> bytes:
    """Return an HTML page that shows two texts side by side, and the result of `compare`, in `compared`.

    At most 200,000 characters of each text are shown.
    """
    similarity, counts = compared["similarity"], compared["features"]
    rows = pair_rows(word_differences(*(text[:COMPARED_CHARACTERS] for text in texts)))
    sides = ((side, escape(compared[side]["id"]), compared[side]["simhash"]) for side in "ab")
    names = "".join(f"<div><b>{side}: <bdi>{name}</bdi></b><code>{bits}</code></div>" for side, name, bits in sides)
    features = [
        {"feature": name, "weight in a": a, "weight in b": b, "share of the gap": f"{share:.1%}"}
        for name, a, b, share in compared["pulls"]
    ]
    pulls = f'<h2>What pulls them apart</h2><div class="card">{html_of(features)}</div>' if features else ""
    shown = [
        tile("distance", "distance", f"{compared['distance']}", "bits of 64 that differ"),
        tile("similarity", "similarity", "unknown" if similarity is None else f"{similarity:.3f}", "of sketches"),
        tile("cosine", "cosine", f"{compared['cosine']:.3f}", "of weighted features"),
        tile("features", "features in both", f"{counts['shared']:,}",
             f"{counts['only_a']:,} only in a, {counts['only_b']:,} only in b"),
    ]  # fmt: skip
    return make_page(
        heading="Two documents compared",
        lead=_REACH[compared["found"]],
        sections=[
            Section(tiles(shown)),
            Section(f'<section id="pulls">{pulls}</section>', [("pulls", "Features")] if pulls else []),
            Section(
                '<section id="texts"><h2>Side by side</h2><div class="card sides">'
                f'<div class="head">{names}</div>{"".join(map(_row, rows))}</div></section>',
                [("texts", "Texts")],
            ),
        ],
    )


def _row(row: TextRow) -> str:
    if isinstance(row, Gap):
        kind = "equal characters" if row.equal else "characters"
        return f'<p class="gap">{row.left:,} {kind} of a and {row.right:,} of b left out</p>'
    kind, sides = "equal", ["", ""]
    for segment in row:
        is_change = not isinstance(segment, str) and len(segment) == len("ab")
        kind = "differs" if is_change else kind
        for at, mark in enumerate(("del", "ins")):
            words = escape(segment if isinstance(segment, str) else str(segment[at]))
            sides[at] += f"<{mark}>{words}</{mark}>" if is_change and words else words
    texts = "".join(f'<div dir="auto">{side.rstrip()}</div>' for side in sides)
    return f'<div class="row {kind}">{texts}</div>'


def stats_page(index: str, profile: Profile, stats: Stats) -> bytes:
    """Return an HTML page that shows the figures of an index; `index` is its address without passwords."""
    rule = {
        "verified": f"similarity from {profile.similarity}",
        "copied": f"share of rare passages from {profile.share}",
        "distance": f"distance up to {profile.distance}",
    }[profile.match]
    counted = "every row was counted" if stats.exact else "estimated from a sample of the rows"
    days = [HistogramBar(day.date, day.date[5:], day.documents, at) for at, day in enumerate(stats.days)]
    charts = [
        ("days", "Documents over time", "days, UTC", days, "documents"),
        ("distances", "Distances of duplicates", "to their originals, in bits", _bars(stats.distances), "duplicates"),
        ("crowding", "Crowding", "prefixes by the number of their rows", _bars(stats.rows_per_prefix), "prefixes"),
    ]
    drawn = "".join(
        histogram(name, title, unit, bars, counted=noun) for name, title, unit, bars, noun in charts if bars
    )
    duplicates = stats.states.get("duplicate", 0)
    of_all = duplicates / max(stats.documents + duplicates, 1)
    size = "" if stats.bytes is None else f"{stats.bytes:,} bytes on disk"
    cut = (stats.truncated_prefixes or 0) + (stats.truncated_fingerprints or 0)
    shown = [
        tile("documents", "documents", _count(stats, "documents", stats.documents), "that queries find"),
        tile("duplicates", "duplicates", _count(stats, "states", duplicates), f"{of_all:.1%} of all that came"),
        tile("rows", "rows", _count(stats, "rows", stats.rows), size),
        tile("cut", "cut prefixes", f"{cut:,}", "queries do not read all of them" if cut else "every query reads all"),
        tile("backup", "last backup", stats.last_backup or "none noted", "as the index says"),
    ]
    tables = (("hottest", "Hottest prefixes", stats.hottest), ("regions", "Regions", stats.regions))
    return make_page(
        heading="Figures of an index",
        lead=f"{index}: format {profile.format}, analyzer {profile.analyzer}, scheme {profile.scheme}, {rule}; "
        f"{counted}.",
        sections=[
            Section(tiles(shown)),
            Section(f'<section class="charts">{drawn}</section>'),
            *(
                Section(f'<section id="{name}"><h2>{title}</h2>{html_of(rows)}</section>', [(name, title)])
                for name, title, rows in tables
                if rows
            ),
        ],
    )


def _count(stats: Stats, name: str, number: int) -> str:
    return f"{'about ' * (name in stats.sampled)}{number:,}"


def _bars(counts: Mapping[int, int] | Mapping[str, int]) -> list[HistogramBar]:
    return [HistogramBar(str(name), str(name), count, at) for at, (name, count) in enumerate(counts.items())]
