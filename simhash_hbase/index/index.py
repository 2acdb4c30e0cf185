"""The index: documents in, near-duplicates out, over any store."""

from collections.abc import Callable
from typing import Self

from simhash_hbase.errors import IndexExists, Unsupported
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.index.profilerows import read_profile, write_own_rows
from simhash_hbase.index.reading import ReadableIndex
from simhash_hbase.index.upkeep.progress import Watch
from simhash_hbase.index.upkeep.stats import Stats, read_stats
from simhash_hbase.index.upkeep.vacuum import Vacuumed, vacuum
from simhash_hbase.index.upkeep.verify import Verified, verify
from simhash_hbase.index.writing import WritableIndex
from simhash_hbase.profile import Profile
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.stores.abilities import Backup, SelfChecked
from simhash_hbase.stores.base import Store, atomically


class Index(ReadableIndex, WritableIndex):
    """A near-duplicate index.

    Parameters
    ----------
    store : Store
        Holds the index; it must have been made by `Index.create`.
    clock : callable, optional
        Milliseconds since 1970.
    timer : Timer, optional
        Measures how long claims wait for other writers.

    Raises
    ------
    IndexMissing
        When the store holds no index.

    Notes
    -----
    Several processes may use one index at a time, each with its own `Index`. Threads may share one: they take turns
    where texts are analysed.
    """

    @classmethod
    def create(
        cls, store: Store, profile: Profile, *, idf: IdfTable | None = None, clock: Callable[[], int] = now_ms
    ) -> Self:
        """Make an index in an empty store.

        Parameters
        ----------
        store : Store
            Takes the index.
        profile : Profile
            Frozen from now on.
        idf : IdfTable, optional
            The learned table, for the analyzer ``learned``.
        clock : callable, optional
            Milliseconds since 1970.

        Returns
        -------
        Index

        Raises
        ------
        IndexExists
            When the store holds an index.

        Notes
        -----
        The profile is written last: after a crash there is either no index or a whole one.
        """
        with atomically(store):
            if read_profile(store, missing=None) is not None:
                raise IndexExists(f"there is an index at {store.url} already")
            write_own_rows(store, profile, idf)
        return cls(store, clock=clock)

    def stats(self, *, exact: bool = False, watch: Watch | None = None) -> Stats:
        """Count documents, rows and bytes; sampled unless `exact`, and where counting is cheap."""
        return read_stats(self.store, self.profile, exact=exact, watch=watch)

    def __len__(self) -> int:
        """Count the documents that queries find, those of the collection, by reading all; `stats` estimates."""
        return sum(stored.state != "duplicate" for stored in self.export())

    def __bool__(self) -> bool:
        """Return True: an index without documents is an index, too."""
        return True

    def verify(self, *, repair: bool = False, watch: Watch | None = None) -> Verified:
        """Check that rows, members and document cells agree, and complete or remove what does not."""
        self._check_whole("verify")
        if isinstance(self.store, SelfChecked):
            self.store.check_readable()
        return verify(self.store, self.profile, now=self._now(), repair=repair, watch=watch)

    def vacuum(self, *, watch: Watch | None = None) -> Vacuumed:
        """Delete what no answer needs any more."""
        self._check_whole("vacuum")
        return vacuum(self.store, self.profile, now=self._now(), watch=watch)

    def backup(self, destination: str) -> None:
        """Copy the index while it is in use.

        Raises
        ------
        Unsupported
            When the store has no backup of its own.
        """
        if not isinstance(self.store, Backup):
            raise Unsupported(f"{self.store.url} cannot be copied by this command; see docker/README.md, Back up")
        self.store.backup(destination)
