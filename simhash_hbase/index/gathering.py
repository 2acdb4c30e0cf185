"""Long runs of writes: the transactions of many batches gathered in one, so that a page of a folder is written once.

A batch of 1,000 documents puts 16,000 rows at random places of a B-tree, and each commit writes every page that was
touched. A folder holds the rows of a group in memory and writes them in order at its end.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from simhash_hbase.profile.defaults import GROUP_MB
from simhash_hbase.signals import whole
from simhash_hbase.stores.base import Store

GROUP_S = 120.0
"""Longest time of a group of `GROUP_MB`, some 150,000 documents: as long may a run be repeated that was killed."""
SHARED_S = 60.0
"""After another writer had to wait, each batch stands alone for this time: two that gather would work in turns."""


class WriteGroups:
    """Gathers batches of writes until they are many, take long, or another writer waits.

    Only a folder has pages to spare: in any other store each batch stands alone.

    Parameters
    ----------
    store : Store or None
        The place that is written to; None where it is not here.
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
        """Whether a batch or a commit has failed, so that what was not durable before is not written."""
        self._is_open = False
        self._since = self._alone_until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Keep what was written, whatever ended the block: a batch that an error ended has undone its group."""
        self.commit()

    @property
    def is_durable(self) -> bool:
        """Whether all that was written is durable."""
        return not self._is_open

    @property
    def gathers(self) -> bool:
        """Whether batches are gathered at all."""
        return self._store is not None

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Write a batch in the block; an error undoes it, and the batches before it that are not durable yet.

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
        """Make durable what was written; a failure undoes it."""
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
