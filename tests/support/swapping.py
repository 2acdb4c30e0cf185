"""Stores without their transactions: claims then go by compare-and-set, as on a server."""

from simhash_hbase.stores.base import CompareAndSet, Store

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
