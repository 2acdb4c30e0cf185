"""The figures of an index as one page, those of the service's console."""

from collections.abc import Mapping
from importlib.metadata import version

from simhash_hbase.index.notebook import html_of
from simhash_hbase.index.upkeep.stats import Stats
from simhash_hbase.profile import Profile
from simhash_hbase.report.charts import histogram
from simhash_hbase.report.figures import Bar
from simhash_hbase.report.page import Section, make_page
from simhash_hbase.report.sections import tile


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
    days = [Bar(day.date, day.date[5:], day.documents, at) for at, day in enumerate(stats.days)]
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
        lead=f"{index}: analyzer {profile.analyzer}, scheme {profile.scheme}, {rule}; {counted}.",
        sections=[
            Section(f'<section id="figures" aria-label="Figures"><dl class="tiles">{_tiles(stats)}</dl></section>'),
            Section(f'<section class="charts">{"".join(charts)}</section>'),
            _table("hottest", "Hottest prefixes", stats.hottest),
            _table("regions", "Regions", stats.regions),
        ],
        data=None,
        version=version("simhash-hbase"),
    )


def _tiles(stats: Stats) -> str:
    duplicates = stats.states.get("duplicate", 0)
    of_all = duplicates / max(stats.documents + duplicates, 1)
    size = "" if stats.bytes is None else f"{stats.bytes:,} bytes on disk"
    cut = (stats.truncated_prefixes or 0) + (stats.truncated_fingerprints or 0)
    return "".join(
        [
            tile("documents", "documents", _count(stats, "documents", stats.documents), "that queries find"),
            tile("duplicates", "duplicates", _count(stats, "states", duplicates), f"{of_all:.1%} of all that came"),
            tile("rows", "rows", _count(stats, "rows", stats.rows), size),
            tile(
                "cut", "cut prefixes", f"{cut:,}", "queries do not read all of them" if cut else "every query reads all"
            ),
        ]
    )


def _count(stats: Stats, name: str, number: int) -> str:
    return f"{'about ' * (name in stats.sampled)}{number:,}"


def _bars(counts: Mapping[int, int] | Mapping[str, int]) -> list[Bar]:
    return [Bar(str(name), str(name), count, at) for at, (name, count) in enumerate(counts.items())]


def _chart(name: str, title: str, unit: str, bars: list[Bar], counted: str) -> str:
    return histogram(name, title, unit, bars, bound=None, counted=counted) if bars else ""


def _table(name: str, title: str, rows: object) -> Section:
    shown = f'<section id="{name}"><h2>{title}</h2>{html_of(rows)}</section>' if rows else ""
    return Section(shown, [(name, title)])
