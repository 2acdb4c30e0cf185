"""What calls cost: which calls of the store, and how much memory."""

import tracemalloc

from simhash_hbase.stores.memory import MemoryStore

NOTED = ("scan", "scan_range", "scan_cells", "get", "get_rows", "put", "put_rows", "delete", "delete_rows")


class NotingStore(MemoryStore):
    """Keeps the name and the arguments of every call, of transactions too."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def take(self):
        calls, self.calls = self.calls, []
        return calls

    def take_names(self):
        return [name for name, _ in self.take()]


def _noted(name):
    method = getattr(MemoryStore, name)

    def call(self, *arguments, **named):
        self.calls.append((name, arguments))
        return method(self, *arguments, **named)

    return call


for _name in (*NOTED, "compare_and_set", "transaction"):
    setattr(NotingStore, _name, _noted(_name))


def peak_bytes(act):
    """Count the bytes of Python objects that a call adds to those before it, at its peak."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        act()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
