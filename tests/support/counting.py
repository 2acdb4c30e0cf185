"""A store that counts what is asked of it, for tests of cost."""

from collections import Counter

from simhash_hbase.stores.base import CompareAndSet, OnDisk, Store, Transactional

__all__ = ["CountingStore"]

_METHODS = frozenset(
    name
    for protocol in (Store, CompareAndSet, Transactional, OnDisk)
    for name in vars(protocol)
    if not name.startswith("_") and name != "url"
)


class CountingStore:
    """Passes every call on and counts it by the method's name in `calls`; `asked` sums the keys, rows and prefixes.

    It has exactly the methods of the store behind it, so what a store cannot do is still seen by `isinstance`.
    """

    def __init__(self, store):
        self._store = store
        self.calls = Counter()
        self.asked = Counter()

    def __getattr__(self, name):
        found = getattr(self._store, name)
        return self._counted(name, found) if name in _METHODS else found

    def reset(self):
        self.calls.clear()
        self.asked.clear()

    def _counted(self, name, method):
        def call(*args, **kwargs):
            self.calls[name] += 1
            self.asked[name] += next((_length(arg) for arg in args if not isinstance(arg, str)), 0)
            return method(*args, **kwargs)

        return call


def _length(argument):
    if hasattr(argument, "prefixes"):
        return len(argument.prefixes)
    return len(argument) if hasattr(argument, "__len__") else 0
