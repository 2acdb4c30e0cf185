"""Decided documents counted by their source and their cluster, and pages whose main text may not be their article."""

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
    """Counts documents by their source and by the kept document of their cluster.

    Takes 21 bytes of memory a document, and 73 more while figures are made.
    """

    def __init__(self) -> None:
        self._sources: dict[str, int] = {}
        self._numbers = array("I")  # The number of the source of each document.
        self._clusters = bytearray()  # For each document the digest of the id of its cluster's kept document.
        self._removed = bytearray()

    def read(self, sources: Iterable[str | None]) -> None:
        """Take the sources of the next documents of the input."""
        self._numbers.extend(self._sources.setdefault(source or "", len(self._sources)) for source in sources)

    def decide(self, decisions: Iterable[Decision]) -> None:
        """Take the decisions about the next documents of the input."""
        for decision in decisions:
            self._clusters += id_digest(decision.id if decision.of is None else decision.of)
            self._removed.append(not decision.is_original)

    def begin_anew(self) -> None:
        """Forget the decisions: the same documents are decided again."""
        self._clusters, self._removed = bytearray(), bytearray()

    def figures(self) -> tuple[SourceFigures, ...]:
        """Return the figures of each source, that of the most documents first; of equals in the order of names."""
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
        """Return for each document how many of its cluster were removed, and from how many sources the cluster is."""
        sources, numbers, clusters = self._columns()
        removed = np.frombuffer(self._removed, np.bool_)
        copies = np.bincount(clusters[removed], minlength=len(clusters))
        each_source = np.bincount(np.unique(clusters * sources + numbers) // max(sources, 1), minlength=len(clusters))
        return copies[clusters], each_source[clusters]

    def _columns(self) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of sources, and of each document the numbers of its source and its cluster."""
        digests = np.frombuffer(self._clusters, f"S{ID_DIGEST_BYTES}")
        clusters = np.unique(digests, return_inverse=True)[1].astype(np.int64)
        return len(self._sources), np.frombuffer(self._numbers, np.uint32).astype(np.int64), clusters


def check_removed(figures: Sequence[SourceFigures], options: DedupOptions) -> None:
    """Raise `TooManyDuplicates` if more was removed than `fail_above` of the options allows, of all or of a source.

    Where sources are to be judged and no document names one, `InvalidArgument` says so.
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
    """Counts the duplicates that differ from another page of their cluster outside of their main text.

    The first page of a cluster in the run that has a remainder is the one that the others are compared with. Takes some
    250 bytes of memory for each cluster with such a page.
    """

    def __init__(self) -> None:
        self.count = 0
        self._first: dict[bytes, bytes] = {}  # By the digest of the kept document's id.
        self._example: tuple[Place, str] | None = None

    def decide(self, page: WrittenDocument, decision: Decision) -> None:
        """Take the decision about the next document of the input."""
        if not page.remainder:
            return
        kept = decision.id if decision.of is None else decision.of
        first = self._first.setdefault(id_digest(kept), page.remainder)
        if not decision.is_original and remainders_differ(first, page.remainder):
            self.count += 1
            self._example = self._example or (page.place, kept)

    def warning(self) -> str | None:
        """Return a sentence about the duplicates that were counted; None where there are none."""
        if self._example is None:
            return None
        place, kept = self._example
        return (
            f"{counted(self.count, 'duplicates')} may be wrong: the main text of the page is near that of another one, "
            "but its other sentences, which are at least a quarter as long, mostly differ; the first is "
            f"{place}, a duplicate of {kept!r}; if its main text is a notice, extract the texts of such pages yourself"
        )
