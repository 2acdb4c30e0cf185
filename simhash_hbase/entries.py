"""Fingerprinted documents in columns: what analysis hands to the index, without the texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument

__all__ = ["SKETCH_WORDS", "Entries", "Metadata"]

SKETCH_WORDS = 8
"""A sketch is eight 64-bit words, 64 bytes."""

Metadata = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entries:
    """*n* documents, a column a property; columns pickle and slice fast where a list of objects does not.

    Raises
    ------
    InvalidArgument
        When the columns differ in length.
    """

    ids: Sequence[str]
    """The callers' ids."""
    simhashes: NDArray[np.uint64]
    """Fingerprints, shape (n,)."""
    sketches: NDArray[np.uint64] = field(default_factory=lambda: np.empty((0, SKETCH_WORDS), np.uint64))
    """Sketches, shape (n, 8); rows of zeros where `sketched` is false."""
    sketched: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    """Whether a document has a sketch, shape (n,); own fingerprints have none."""
    features: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """Distinct features, shape (n,); 0 where they are unknown (own fingerprints)."""
    lengths: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """Characters of the text, shape (n,); 0 where there was none."""
    digests: Sequence[bytes] = ()
    """16-byte digests of the normalised texts; empty where there was no text."""
    metadata: Sequence[Metadata | None] = ()
    """What the caller wants to be kept with a document."""

    def __post_init__(self) -> None:
        columns = (self.simhashes, self.sketches, self.sketched, self.features, self.lengths)
        sizes = {len(column) for column in (*columns, self.ids, self.digests, self.metadata)}
        if len(sizes) != 1:
            raise InvalidArgument(f"columns of one length are wanted, these have {sorted(sizes)}")

    @classmethod
    def of_fingerprints(cls, ids: Sequence[str], simhashes: NDArray[np.uint64]) -> "Entries":
        """Make entries of ready fingerprints: no sketch, no text, nothing else known.

        Parameters
        ----------
        ids : sequence of str
            One a document.
        simhashes : ndarray of uint64, shape (n,)
            Their fingerprints.

        Returns
        -------
        Entries
        """
        n = len(ids)
        return cls(
            ids=ids,
            simhashes=np.asarray(simhashes, dtype=np.uint64),
            sketches=np.zeros((n, SKETCH_WORDS), np.uint64),
            sketched=np.zeros(n, np.bool_),
            features=np.zeros(n, np.int32),
            lengths=np.zeros(n, np.int32),
            digests=[b""] * n,
            metadata=[None] * n,
        )

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> "Entries":
        """Select documents by position, in the order asked for."""
        at = np.asarray(rows, dtype=np.intp)
        return Entries(
            ids=[self.ids[i] for i in at],
            simhashes=self.simhashes[at],
            sketches=self.sketches[at],
            sketched=self.sketched[at],
            features=self.features[at],
            lengths=self.lengths[at],
            digests=[self.digests[i] for i in at],
            metadata=[self.metadata[i] for i in at],
        )
