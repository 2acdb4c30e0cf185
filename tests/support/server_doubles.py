"""Stores in memory that do as a server's store does: without transactions, or with deletes that hide."""

from simhash_hbase.stores.base import CompareAndSet, Store
from simhash_hbase.stores.memory import MemoryStore
from support.rows import pairs_of, rows_of

_METHODS = [
    name for protocol in (Store, CompareAndSet) for name in vars(protocol) if not name.startswith("_") and name != "url"
]


class SwappingOnly:
    """Passes on every call but hides what else the store behind it can do."""

    def __init__(self, store):
        self.behind = store

    @property
    def url(self):
        return self.behind.url


def _passed_on(name):
    def call(self, *arguments, **named):
        return getattr(self.behind, name)(*arguments, **named)

    return call


for _name in _METHODS:
    setattr(SwappingOnly, _name, _passed_on(_name))


class TombstoneStore(SwappingOnly):
    """Stamps cells by the clock of a server, which need not be that of its writers."""

    def __init__(self, clock):
        super().__init__(MemoryStore(clock=clock))
        self._clock = clock
        self._hidden = {}
        self._written = {}

    def put_rows(self, rows, *, timestamp):
        for row in pairs_of(rows):
            if timestamp > self._hidden.get(row, 0):
                self._written[row] = max(timestamp, self._written.get(row, 0))
                self.behind.put_rows(rows_of(row), timestamp=timestamp)

    def delete_rows(self, rows, *, timestamp):
        for row in pairs_of(rows):
            self._hidden[row] = max(timestamp, self._hidden.get(row, 0))
            if self._written.get(row, 0) <= timestamp:
                self.behind.delete_rows(rows_of(row), timestamp=timestamp)

    def put(self, family, cells):
        self.behind.put(family, [c for c in cells if self._stamp(c) > self._hides(family, c)])

    def delete(self, family, cells):
        for cell in cells:
            self._hidden[family, cell.row, cell.qualifier] = max(cell.timestamp, self._hides(family, cell))
        self.behind.delete(family, cells)

    def _stamp(self, cell):
        return self._clock() if cell.timestamp is None else cell.timestamp

    def _hides(self, family, cell):
        return self._hidden.get((family, cell.row, cell.qualifier), 0)
