"""Counts of decided documents by source and by cluster, and of pages whose main text may be a notice, not the article.

A cluster is an original with its duplicates; a source is the value of a field that the user names, such as a site.
"""

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.corpus.options import DedupOptions
from simhash_hbase.corpus.ranking import WrittenDocument
from simhash_hbase.errors import InvalidArgument, TooManyDuplicates
from simhash_hbase.index.answers import Decision
from simhash_hbase.inputs import Place
from simhash_hbase.inputs.meter import counted
from simhash_hbase.inputs.remainder import remainders_differ
from simhash_hbase.report.sources import SourceFigures
from simhash_hbase.rows.keys import id_digest
from simhash_hbase.rows.layout import ID_DIGEST_BYTES


class ClusterTally:
    """Counts the documents of a run by source and by cluster, an original with its duplicates.

    Needs 21 bytes of memory a document, and 73 more while `figures` or `of_clusters` runs.
    """

    def __init__(self) -> None:
        self._sources: dict[str, int] = {}
        self._numbers = array("I")  # The number of the source of each document.
        self._clusters = bytearray()  # For each document the digest of the id of its cluster's kept document.
        self._removed = bytearray()

    def read(self, sources: Iterable[str | None]) -> None:
        """Add the sources of the next documents of the input; None: the document names no source."""
        self._numbers.extend(self._sources.setdefault(source or "", len(self._sources)) for source in sources)

    def decide(self, decisions: Iterable[Decision]) -> None:
        """Add the decisions about the next documents of the input."""
        for decision in decisions:
            self._clusters += id_digest(decision.id if decision.of is None else decision.of)
            self._removed.append(not decision.is_original)

    def begin_anew(self) -> None:
        """Forget the decisions, since the same documents are decided again; the sources stay."""
        self._clusters, self._removed = bytearray(), bytearray()

    def figures(self) -> tuple[SourceFigures, ...]:
        """Return for each source how many documents it has, how many were removed, and the most that one cluster has.

        The source with the most documents comes first, equals in the order of their names.
        """
        sources, numbers, clusters = self._columns()
        if not sources:
            return ()
        removed = np.bincount(numbers[np.frombuffer(self._removed, np.bool_)], minlength=sources)
        of_both, sizes = np.unique(clusters * sources + numbers, return_counts=True)
        largest = np.zeros(sources, np.int64)
        np.maximum.at(largest, of_both % sources, sizes)
        columns = np.bincount(numbers).tolist(), removed.tolist(), largest.tolist()
        figures = map(SourceFigures, self._sources, *columns)
        return tuple(sorted(figures, key=lambda each: (-each.documents, each.source)))

    def of_clusters(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each document how many of its cluster were removed, and how many sources the cluster has."""
        sources, numbers, clusters = self._columns()
        removed = np.frombuffer(self._removed, np.bool_)
        copies = np.bincount(clusters[removed], minlength=len(clusters))
        each_source = np.bincount(np.unique(clusters * sources + numbers) // max(sources, 1), minlength=len(clusters))
        return copies[clusters], each_source[clusters]

    def _columns(self) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of sources, and for each document the number of its source and of its cluster, from 0."""
        digests = np.frombuffer(self._clusters, f"S{ID_DIGEST_BYTES}")
        clusters = np.unique(digests, return_inverse=True)[1].astype(np.int64)
        return len(self._sources), np.frombuffer(self._numbers, np.uint32).astype(np.int64), clusters


def check_removed(figures: Sequence[SourceFigures], options: DedupOptions) -> None:
    """Raise `TooManyDuplicates` if a larger share of the documents was removed than the option `fail_above` allows.

    With the option `by` each source is judged, too. `InvalidArgument` is raised if no document names a source then.
    """
    allowed = options.fail_above
    if allowed is None or not figures:
        return
    if options.by is not None and not any(each.source for each in figures):
        raise InvalidArgument(
            f"no document names a source in the field {options.by!r}, by which `fail_above` is to judge: nothing was"
            " written"
        )
    documents, removed = (sum(getattr(each, name) for each in figures) for name in ("documents", "removed"))
    above = [each for each in figures if each.documents >= options.fail_from and each.removed_share > allowed]
    if removed > allowed * documents:
        what = f"{removed / documents:.1%} of the {counted(documents, 'documents')} would be removed"
    elif options.by is not None and above:
        worst = max(above, key=lambda each: (each.removed_share, each.documents))
        of_source = f"{counted(worst.documents, 'documents')} of {worst.named(options.by)}"
        what = f"{worst.removed_share:.1%} of the {of_source} would be removed"
        if others := len(above) - 1:
            what += f", and too much of {others:,} other source{'s' * (others > 1)}"
    else:
        return
    raise TooManyDuplicates(f"{what}: `fail_above={allowed:g}` allows no more than {allowed:.1%}; nothing was written")


class UnlikeRemainders:
    """Counts duplicates that may be wrong: pages with nearly the same main text, and mostly different other sentences.

    The remainder of a page is a sketch of its sentences outside of the main text, if they are many. The first page of a
    cluster that has a remainder is compared with the others. Needs some 250 bytes of memory for each such cluster.
    """

    def __init__(self) -> None:
        self.count = 0
        self._first: dict[bytes, bytes] = {}  # By the digest of the kept document's id.
        self._example: tuple[Place, str] | None = None

    def decide(self, page: WrittenDocument, decision: Decision) -> None:
        """Add the decision about the next document of the input, and compare its remainder."""
        if not page.remainder:
            return
        kept = decision.id if decision.of is None else decision.of
        first = self._first.setdefault(id_digest(kept), page.remainder)
        if not decision.is_original and remainders_differ(first, page.remainder):
            self.count += 1
            self._example = self._example or (page.place, kept)

    def warning(self) -> str | None:
        """Return a warning about the duplicates that were counted; None if there are none."""
        if self._example is None:
            return None
        place, kept = self._example
        return (
            f"{counted(self.count, 'duplicates')} may be wrong: the main text of the page is near that of another one, "
            "but its other sentences, which are at least a quarter as long, mostly differ; the first is "
            f"{place}, a duplicate of {kept!r}; if its main text is a notice, extract the texts of such pages yourself"
        )
