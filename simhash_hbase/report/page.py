"""One HTML file: template, style, script and data put together; the pages that need no lists."""

import base64
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

import msgspec

from simhash_hbase.compare.differences import Gap, TextRow, pair_rows, word_differences
from simhash_hbase.index.answers import html_of
from simhash_hbase.index.upkeep.stats import Stats
from simhash_hbase.profile import Profile
from simhash_hbase.report.charts import HistogramBar, histogram
from simhash_hbase.report.reading import COMPARED_CHARACTERS

_SKIP = '<a class="skip" href="#search">Skip to the search box</a>\n'


class Section(NamedTuple):
    """A part of a page."""

    html: str
    links: Sequence[tuple[str, str]] = ()  # Anchors in it, and their names in the page's head.


def make_page(*, heading: str, lead: str, sections: Sequence[Section], data: object, version: str) -> bytes:
    """Put a page together."""
    drawing = _shared("texts.js")
    style = _shared("page.css") + resource("page.css").template
    script = f'"use strict";\n{drawing.replace("export ", "")}{resource("page.js").template}'
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    links = [link for section in sections if section.html for link in section.links]
    page = resource("page.html").substitute(
        policy=policy,
        skip="" if data is None else _SKIP,
        title=escape(heading),
        style=style,
        heading=escape(heading),
        lead=escape(lead),
        links="".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in links),
        sections="\n".join(section.html for section in sections),
        version=escape(version),
        scripts=""
        if data is None
        else f'<script type="application/json" id="data">{data_json(data)}</script>\n<script>{script}</script>',
    )
    # Names of files need not be Unicode.
    return page.encode(errors="backslashreplace")


def data_json(data: object) -> str:
    r"""Write data so that it can stand in a script element: nothing in it ends the element, or begins another.

    Examples
    --------
    >>> data_json("</script>&<!--")
    '"\\u003c/script>&\\u003c!--"'
    """
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


def shortened(text: str, characters: int) -> str:
    """Cut a long text."""
    return text if len(text) <= characters else text[: characters - 1] + "…"


def resource(name: str) -> Template:
    """Read a file of this package."""
    return Template(files("simhash_hbase.report").joinpath(name).read_text(encoding="utf-8"))


def _shared(name: str) -> str:
    """Read a file that the service's console has, too."""
    return files("simhash_hbase.compare").joinpath("static", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(sha256(content.encode()).digest()).decode()


def tile(name: str, term: str, number: str, more: str) -> str:
    """Show one number."""
    content = f'<dt>{term}</dt><dd class="number">{escape(number)}</dd><dd class="rest">{escape(more)}</dd>'
    return f'<div id="{name}">{content}</div>'


def tiles(shown: Sequence[str], more: str = "") -> str:
    """Show the most important numbers of a page."""
    return f'<section id="figures" aria-label="Figures"><dl class="tiles">{"".join(shown)}</dl>{more}</section>'


def comparison_page(texts: Sequence[str], compared: Mapping[str, Any]) -> bytes:
    """Write a page.

    Parameters
    ----------
    texts : sequence of str
        Both texts; of each the first 200,000 characters are compared.
    compared : mapping
        What `simhash_hbase.compare.explain.compare` found.
    """
    rows = pair_rows(word_differences(*(text[:COMPARED_CHARACTERS] for text in texts)))
    heads = (f"<b>{side}: {escape(compared[side]['id'])}</b>{compared[side]['simhash']}" for side in "ab")
    names = "".join(f"<div>{head}</div>" for head in heads)
    features = [
        {"feature": name, "weight in a": a, "weight in b": b, "share of the gap": f"{share:.1%}"}
        for name, a, b, share in compared["pulls"]
    ]
    pulls = f'<h2>What pulls them apart</h2><div class="card">{html_of(features)}</div>' if features else ""
    return make_page(
        heading="Two documents compared",
        lead=f"A query for one {'finds' if compared['found'] else 'does not find'} the other.",
        sections=[
            Section(tiles(_comparison_tiles(compared))),
            Section(f'<section id="pulls">{pulls}</section>', [("pulls", "Features")] if pulls else []),
            Section(
                '<section id="texts"><h2>Side by side</h2><div class="card sides">'
                f'<div class="head">{names}</div>{"".join(map(_row, rows))}</div></section>',
                [("texts", "Texts")],
            ),
        ],
        data=None,
        version=version("simhash-hbase"),
    )


def _comparison_tiles(compared: Mapping[str, Any]) -> list[str]:
    similarity, counts = compared["similarity"], compared["features"]
    return [
        tile("distance", "distance", f"{compared['distance']}", "bits of 64 that differ"),
        tile("similarity", "similarity", "unknown" if similarity is None else f"{similarity:.3f}", "of sketches"),
        tile("cosine", "cosine", f"{compared['cosine']:.3f}", "of weighted features"),
        tile(
            "features",
            "features in both",
            f"{counts['shared']:,}",
            f"{counts['only_a']:,} only in a, {counts['only_b']:,} only in b",
        ),
    ]


def _row(row: TextRow) -> str:
    if isinstance(row, Gap):
        kind = "equal characters" if row.equal else "characters"
        return f'<p class="gap">{row.left:,} {kind} of a and {row.right:,} of b left out</p>'
    kind = "differs" if any(not isinstance(item, str) and len(item) == len("ab") for item in row) else "equal"
    sides = (f'<div dir="auto">{"".join(_segment(item, at) for item in row).rstrip()}</div>' for at in (0, 1))
    return f'<div class="row {kind}">{"".join(sides)}</div>'


def _segment(segment: str | list[str | int], at: int) -> str:
    if isinstance(segment, str):
        return escape(segment)
    words, mark = escape(str(segment[at])), ("del", "ins")[at]
    return words if len(segment) > len("ab") or not words else f"<{mark}>{words}</{mark}>"


def stats_page(index: str, profile: Profile, stats: Stats) -> bytes:
    """Write a page.

    Parameters
    ----------
    index : str
        Address of the index, without secrets.
    profile : Profile
        Its profile.
    stats : Stats
        Its figures.
    """
    rule = (
        f"similarity from {profile.similarity}" if profile.match == "verified" else f"distance up to {profile.distance}"
    )
    counted = "every row was counted" if stats.exact else "estimated from a sample of the rows"
    days = [HistogramBar(day.date, day.date[5:], day.documents, at) for at, day in enumerate(stats.days)]
    charts = [
        _chart("days", "Documents over time", "days, UTC", days, "documents"),
        _chart(
            "distances", "Distances of duplicates", "to their originals, in bits", _bars(stats.distances), "duplicates"
        ),
        _chart(
            "crowding", "Crowding", "prefixes by the number of their rows", _bars(stats.rows_per_prefix), "prefixes"
        ),
    ]
    return make_page(
        heading="Figures of an index",
        lead=f"{index}: format {profile.format}, analyzer {profile.analyzer}, scheme {profile.scheme}, {rule}; "
        f"{counted}.",
        sections=[
            Section(tiles(_stats_tiles(stats))),
            Section(f'<section class="charts">{"".join(charts)}</section>'),
            _table("hottest", "Hottest prefixes", stats.hottest),
            _table("regions", "Regions", stats.regions),
        ],
        data=None,
        version=version("simhash-hbase"),
    )


def _stats_tiles(stats: Stats) -> list[str]:
    duplicates = stats.states.get("duplicate", 0)
    of_all = duplicates / max(stats.documents + duplicates, 1)
    size = "" if stats.bytes is None else f"{stats.bytes:,} bytes on disk"
    cut = (stats.truncated_prefixes or 0) + (stats.truncated_fingerprints or 0)
    return [
        tile("documents", "documents", _count(stats, "documents", stats.documents), "that queries find"),
        tile("duplicates", "duplicates", _count(stats, "states", duplicates), f"{of_all:.1%} of all that came"),
        tile("rows", "rows", _count(stats, "rows", stats.rows), size),
        tile("cut", "cut prefixes", f"{cut:,}", "queries do not read all of them" if cut else "every query reads all"),
        tile("backup", "last backup", stats.last_backup or "none", "that is noted in the index"),
    ]


def _count(stats: Stats, name: str, number: int) -> str:
    return f"{'about ' * (name in stats.sampled)}{number:,}"


def _bars(counts: Mapping[int, int] | Mapping[str, int]) -> list[HistogramBar]:
    return [HistogramBar(str(name), str(name), count, at) for at, (name, count) in enumerate(counts.items())]


def _chart(name: str, title: str, unit: str, bars: list[HistogramBar], counted: str) -> str:
    return histogram(name, title, unit, bars, bound=None, counted=counted) if bars else ""


def _table(name: str, title: str, rows: object) -> Section:
    shown = f'<section id="{name}"><h2>{title}</h2>{html_of(rows)}</section>' if rows else ""
    return Section(shown, [(name, title)])
