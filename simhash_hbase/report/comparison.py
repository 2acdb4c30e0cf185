"""Two texts side by side as one page, with the features that pull their fingerprints apart."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import version
from typing import Any

from simhash_hbase.compare.differences import word_differences
from simhash_hbase.index.notebook import html_of
from simhash_hbase.report.page import Section, make_page
from simhash_hbase.report.reading import COMPARED_CHARACTERS
from simhash_hbase.report.rows import Gap, Row, pair_rows
from simhash_hbase.report.sections import tile


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
            Section(f'<section id="figures" aria-label="Figures"><dl class="tiles">{_tiles(compared)}</dl></section>'),
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


def _tiles(compared: Mapping[str, Any]) -> str:
    similarity, counts = compared["similarity"], compared["features"]
    return "".join(
        [
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
    )


def _row(row: Row) -> str:
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
