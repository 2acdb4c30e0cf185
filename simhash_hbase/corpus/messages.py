"""Messages about an input that was read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from simhash_hbase.profile.versions import extractor_versions

if TYPE_CHECKING:
    from collections import Counter

    from simhash_hbase.inputs import Place
    from simhash_hbase.profile import Profile

SHOWN_KINDS = 8
_PLURALS = frozenset({"cells", "documents", "duplicates", "ids", "originals", "pairs", "records", "rows", "tasks"})
_IMPORTED_FOR_PAGES = "simhash_hbase.inputs.html"


def counted(count: int, noun: str) -> str:
    """Write a count.

    Examples
    --------
    >>> counted(1, "duplicates"), counted(1_200, "duplicates"), counted(1, "refused")
    ('1 duplicate', '1,200 duplicates', '1 refused')
    """
    return f"{count:,} {noun.removesuffix('s') if count == 1 and noun in _PLURALS else noun}"


def per_second(rate: float) -> str:
    """Write a rate; below one a second its first digit.

    Examples
    --------
    >>> per_second(1_234.5), per_second(0.049), per_second(0)
    ('1,234', '0.05', '0')
    """
    return f"{rate:,.0f}" if rate >= 1 else f"{rate:.1g}"


def where(place: Place) -> str:
    """Name the place of a record; standard input by its name, not by the dash that asks for it."""
    return str(place._replace(file="standard input") if place.file == "-" else place)


def skipped_records(skipped: Counter[str]) -> str | None:
    """Name what a crawl holds besides pages, the commonest kinds each."""
    if not skipped:
        return None
    kinds = [f"{count:,} × {kind}" for kind, count in skipped.most_common(SHOWN_KINDS)]
    if len(skipped) > SHOWN_KINDS:
        kinds.append(f"and {len(skipped) - SHOWN_KINDS:,} other kinds")
    were = "is no page and was" if skipped.total() == 1 else "are no pages and were"
    return f"{counted(skipped.total(), 'records')} {were} passed over: {', '.join(kinds)}"


def other_extractor(profile: Profile) -> str | None:
    """Warn when pages were read by other versions than those that were installed where the index was made."""
    if _IMPORTED_FOR_PAGES not in sys.modules or profile.extractor is None:
        return None
    here = extractor_versions()
    differing = [name for name in sorted(profile.extractor) if profile.extractor[name] != here.get(name)]
    if not differing:
        return None
    before = ", ".join(f"{name} {profile.extractor[name]}" for name in differing)
    now = ", ".join(f"{name} {here.get(name, 'none')}" for name in differing)
    return (
        f"warning: main texts of pages were taken by {now}, the index was made with {before}: "
        "the same page may have another text"
    )
