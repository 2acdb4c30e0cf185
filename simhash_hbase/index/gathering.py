"""Long runs of writes: the transactions of many batches gathered in one, so that a page of a folder is written once.

A batch of 1,000 documents puts 16,000 rows at random places of a B-tree, and each commit writes every page that was
touched: 157 kB a document from 80,000 to 100,000 documents (2026-11-28), where groups of 65,536 documents write 2 to 3.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from simhash_hbase.stores.base import OnDisk, Store

GROUP_DOCUMENTS = 65_536
"""Documents of a group: their pages take 200 to 500 MB of memory until they are written."""
GROUP_S = 60.0
"""Longest time of a group."""


class WriteGroups:
    """Gathers batches of writes until they are many, take long, or another writer waits.

    A store that is no folder has no pages to spare: each batch stands alone there.

    Parameters
    ----------
    store : Store
        The place that is written to.
    gathers : bool
        False where the next batch may be long in coming, such as from a pipe: a group keeps other writers waiting.
    """

    def __init__(self, store: Store, *, gathers: bool = True) -> None:
        self._store = store if gathers and isinstance(store, OnDisk) else None
        self._group = ExitStack()
        self._documents = 0
        self._since = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Keep what was written, whatever ended the block: a batch that an error ended has undone its group."""
        self.commit()

    @property
    def is_durable(self) -> bool:
        """Whether all that was written is durable."""
        return not self._documents

    @contextmanager
    def batch(self, documents: int) -> Iterator[None]:
        """Write a batch in the block; an error undoes it, and the batches before it that are not durable yet."""
        if self._store is None:
            yield
            return
        if not self._documents:
            self._group.enter_context(self._store.gathered())
            self._since = time.monotonic()
        try:
            yield
        except BaseException as error:
            self._documents = 0
            self._group.__exit__(type(error), error, error.__traceback__)
            raise
        self._documents += documents
        is_long = time.monotonic() - self._since >= GROUP_S
        if is_long or self._documents >= GROUP_DOCUMENTS or self._store.is_awaited():
            self.commit()

    def commit(self) -> None:
        """Make durable what was written."""
        self._documents = 0
        self._group.close()
