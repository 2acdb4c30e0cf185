"""The ids of a corpus so far, 16 bytes each."""

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows.layout import ID_DIGEST_BYTES

DIGEST = np.dtype(f"S{ID_DIGEST_BYTES}")  # Digests of ids as an array; numpy compares them as bytes.


class SeenIds:
    """A set of digests that grows by batches.

    It holds sorted arrays, each at least twice as long as the next: a batch is looked up in a few of them, and every
    digest is copied a few times in all.

    Examples
    --------
    >>> seen = SeenIds()
    >>> batch = np.array([b"one", b"two", b"one"], dtype=DIGEST)
    >>> seen.add(batch).tolist(), seen.add(batch[1:2]).tolist(), len(seen)
    ([False, False, True], [True], 2)
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.bytes_]] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, digests: NDArray[np.bytes_]) -> NDArray[np.bool_]:
        """Add a batch, and return which of it came before, there or in the set."""
        order = np.argsort(digests, kind="stable")
        ascending = digests[order]
        came = np.zeros(len(digests), dtype=np.bool_)
        came[order[1:]] = ascending[1:] == ascending[:-1]
        for run in self._runs:
            came |= run[np.minimum(np.searchsorted(run, digests), len(run) - 1)] == digests
        self._keep(np.sort(digests[~came]))
        return came

    def _keep(self, run: NDArray[np.bytes_]) -> None:
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        if len(run):
            self._runs.append(run)
