"""Decided documents counted by their source and their cluster."""

from array import array

import numpy as np

from simhash_hbase.index.answers import Decision
from simhash_hbase.report.sources import SourceFigures
from simhash_hbase.rows.keys import id_digest
from simhash_hbase.rows.layout import ID_DIGEST_BYTES


class ClusterTally:
    """Counts documents by their source and by the kept document of their cluster; 21 bytes of memory a document."""

    def __init__(self) -> None:
        self._sources: dict[str, int] = {}
        self._numbers = array("I")  # The number of the source of each document.
        self._clusters = bytearray()  # The digest of the id of the kept document of each.
        self._removed = bytearray()

    def add(self, source: str | None, decision: Decision) -> None:
        """Count the next document of the input."""
        self._numbers.append(self._sources.setdefault(source or "", len(self._sources)))
        self._clusters += id_digest(decision.id if decision.of is None else decision.of)
        self._removed.append(not decision.is_original)

    def figures(self) -> tuple[SourceFigures, ...]:
        """Return the figures of each source, that of the most documents first; of equals in the order of names."""
        sources, numbers = len(self._sources), np.frombuffer(self._numbers, np.uint32).astype(np.int64)
        if not sources:
            return ()
        removed = np.bincount(numbers[np.frombuffer(self._removed, np.bool_)], minlength=sources)
        digests = np.frombuffer(self._clusters, f"S{ID_DIGEST_BYTES}")
        clusters = np.unique(digests, return_inverse=True)[1].astype(np.int64)
        of_both, sizes = np.unique(clusters * sources + numbers, return_counts=True)
        largest = np.zeros(sources, np.int64)
        np.maximum.at(largest, of_both % sources, sizes)
        columns = np.bincount(numbers).tolist(), removed.tolist(), largest.tolist()
        figures = map(SourceFigures, self._sources, *columns)
        return tuple(sorted(figures, key=lambda each: (-each.documents, each.source)))
