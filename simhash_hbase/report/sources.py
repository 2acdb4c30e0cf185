"""Figures by source, such as by site: how many documents of each were kept, and how many removed as duplicates."""

from collections.abc import Sequence
from typing import NamedTuple

from simhash_hbase.inputs.meter import counted


class SourceFigures(NamedTuple):
    """The numbers of documents of a corpus that come from one source, such as a site, and how many were removed."""

    source: str  # "" stands for all documents that name no source.
    documents: int
    removed: int
    largest_cluster: int
    """The most documents of the source that share one kept document, itself counted where it is of the source."""

    @property
    def kept(self) -> int:
        """The number of the source's documents that were kept, not removed as duplicates."""
        return self.documents - self.removed

    @property
    def removed_share(self) -> float:
        """The share of the source's documents that were removed as duplicates, from 0 to 1."""
        return self.removed / self.documents

    def named(self, field: str) -> str:
        """Return the name of the source for a message; if documents have none, ``no`` and the name of the field."""
        return repr(self.source) if self.source else f"no {field}"


def source_lines(figures: Sequence[SourceFigures], field: str, *, shown: int) -> list[str]:
    r"""Return a line of text about each of the first `shown` sources, and a line that sums up the others.

    `field` is the name of the field that names a document's source.

    Examples
    --------
    >>> print(*source_lines([SourceFigures("wire", 8, 6, 4), SourceFigures("", 2, 0, 1)], "site", shown=1), sep="\n")
    'wire': 8 documents, 2 kept, 6 removed (75.0%), largest cluster 4
    1 more source of 2 documents, 0 removed
    """
    lines = [
        f"{each.named(field)}: {counted(each.documents, 'documents')}, {each.kept:,} kept, {each.removed:,} removed"
        f" ({each.removed_share:.1%}), largest cluster {each.largest_cluster:,}"
        for each in figures[:shown]
    ]
    if rest := figures[shown:]:
        documents, removed = (sum(column) for column in zip(*((each[1], each[2]) for each in rest), strict=True))
        sources = "more source" if len(rest) == 1 else "more sources"
        lines.append(f"{len(rest):,} {sources} of {counted(documents, 'documents')}, {removed:,} removed")
    return lines
