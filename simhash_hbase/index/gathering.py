"""Many batches of writes in one LMDB transaction (a group), so that each page of the database file is written once.

A batch of 1,000 documents puts 16,000 rows at random places of a B-tree, and each commit writes every page that was
touched. A store in a folder (LMDB) therefore keeps the rows of a group in memory and writes them in the order of their
keys when the group is committed.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from simhash_hbase.profile.defaults import GROUP_MB
from simhash_hbase.signals import whole
from simhash_hbase.stores.base import Store

GROUP_S = 120.0
"""Most seconds of a group of `GROUP_MB`, some 150,000 documents: a run that is killed loses at most their work."""
SHARED_S = 60.0
"""Seconds in which each batch is committed alone after another writer had to wait: else two would work in turns."""


class WriteGroups:
    """Collects batches of writes in one transaction, a group, and commits it when it is large or old or a writer waits.

    Only a store in a folder (LMDB) collects batches: with any other one each batch is committed alone.

    Parameters
    ----------
    store : Store or None
        The store that is written to; None for an index behind a service.
    gathers : bool
        False where the next batch may be long in coming, such as from a pipe: a group keeps other writers waiting.
    memory_mb : float
        Memory of a group from which it is written, in units of 2**20 bytes; the longest time of a group grows with it.
    """

    def __init__(self, store: Store | None, *, gathers: bool = True, memory_mb: float = GROUP_MB) -> None:
        self._store = store if gathers and store is not None and store.gathers else None
        self._most_bytes, self._most_s = memory_mb * 2**20, GROUP_S * memory_mb / GROUP_MB
        self._group = ExitStack()
        self.is_undone = False
        """Whether a batch or a commit has failed, so that the batches which were not durable before are not written."""
        self._is_open = False
        self._since = self._alone_until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Commit the batches of writes that are not committed yet.

        If a batch raised an error, it and the batches not committed before it were undone already.
        """
        self.commit()

    @property
    def is_durable(self) -> bool:
        """Whether all batches that were written are committed, so that a crash cannot lose them."""
        return not self._is_open

    @property
    def gathers(self) -> bool:
        """Whether several batches are committed together, as in a folder (LMDB); else each batch is committed alone."""
        return self._store is not None

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Return a context manager for the writes of a batch; an error undoes them and earlier uncommitted batches.

        A signal that would end the program waits for the end of the batch.
        """
        if self._store is None or time.monotonic() < self._alone_until:
            yield
            return
        if not self._is_open:
            self._group.enter_context(self._store.gathered())
            self._is_open = True
            self._since = time.monotonic()
        with whole():
            try:
                yield
            except BaseException as error:
                self.is_undone = True
                self._reset()
                self._group.__exit__(type(error), error, error.__traceback__)
                raise
        now = time.monotonic()
        if self._store.is_awaited():
            self._alone_until = now + SHARED_S
        is_large = self._store.gathered_bytes() >= self._most_bytes
        if is_large or now < self._alone_until or now - self._since >= self._most_s:
            self.commit()

    def commit(self) -> None:
        """Commit all batches written since the last commit, so that they are durable; a failure undoes them."""
        if not self._is_open:
            return
        self._reset()
        try:
            with whole():
                self._group.close()
        except BaseException:
            self.is_undone = True
            raise

    def _reset(self) -> None:
        self._is_open = False
