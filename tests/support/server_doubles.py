"""Stores in memory that do as a server's store does: without transactions, or with deletes that hide."""

from claim_simulator.server import Server, SimulatedStore, call_at_once

from simhash_hbase.stores.base import Store

_METHODS = [name for name, method in vars(Store).items() if callable(method) and not name.startswith("_")]


class SwappingOnly(Store):
    """Passes on every call but hides transactions of the store behind it."""

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


class TombstoneStore(SimulatedStore):
    """The simulator's server: it stamps cells by its own clock, which need not be that of its writers."""

    def __init__(self, clock):
        super().__init__(Server(clock, lambda before, after: None, lambda: None), call_at_once)
