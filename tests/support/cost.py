"""Counters of what calls cost: calls of the store, and memory."""

import tracemalloc

from simhash_hbase.stores.memory import MemoryStore

NOTED = {"scan", "scan_range", "scan_cells", "get", "get_rows", "put", "put_rows", "delete", "delete_rows",
         "compare_and_set", "transaction"}  # fmt: skip


class NotingStore(MemoryStore):
    """Keeps the name and the arguments of every call, of transactions too."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name not in NOTED:
            return found

        def call(*arguments, **named):
            self.calls.append((name, arguments))
            return found(*arguments, **named)

        return call

    def take(self):
        calls, self.calls = self.calls, []
        return calls

    def take_names(self):
        return [name for name, _ in self.take()]


def peak_bytes(act):
    """Count the bytes of Python objects that a call adds to those before it, at its peak."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        act()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def count_cells(store, monkeypatch):
    """Count the cells that a store is asked for, and those it answers with, in a list that grows."""
    counts = []

    def counted(method):
        def call(*arguments, **named):
            found = method(*arguments, **named)
            counts.extend(len(one) if isinstance(one, list) else 1 for one in found)
            return found

        return call

    for name in ("get", "get_rows", "read_row"):
        monkeypatch.setattr(store, name, counted(getattr(store, name)))
    return counts
