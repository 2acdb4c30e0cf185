"""Places of an index in tests: one class a kind of store, and a clock that stands still."""

import time
from importlib import import_module

from simhash_hbase.index.local import LocalIndex
from simhash_hbase.index.timestamps import MARGIN_MS, ServerClock
from simhash_hbase.profile import Profile
from simhash_hbase.stores.embedded import EmbeddedStore
from simhash_hbase.stores.embedded.environment import EmbeddedOptions
from simhash_hbase.stores.hbase import HBaseStore, parse_url
from simhash_hbase.stores.memory import MemoryStore
from support.hbase_server import hbase_options, tables
from support.server_doubles import SwappingOnly, TombstoneStore

DAY_MS = 86_400_000


class Clock:
    """Milliseconds that pass only when a test says so; starts now, because a server has a clock of its own."""

    def __init__(self):
        self.ms = time.time_ns() // 1_000_000

    def __call__(self):
        return self.ms

    def advance(self, *, days=0.0, ms=0):
        self.ms += round(days * DAY_MS) + ms


class Memory:
    """Stores in memory; a store that is opened again is the same one."""

    def __init__(self, folder, clock):
        self._clock = clock

    def create(self):
        return MemoryStore(clock=self._clock)

    def reopen(self, store):
        return store


class Embedded:
    """Stores in folders; the tests of crashes, not these, wait for the disk."""

    options = EmbeddedOptions(durable=False)

    def __init__(self, folder, clock):
        self._folder = folder
        self._clock = clock
        self._made = 0

    def create(self):
        self._made += 1
        return EmbeddedStore.create(str(self._folder / f"{self._made}.index"), self.options, clock=self._clock)

    def reopen(self, store):
        store.close()
        return EmbeddedStore.open(store.url.removeprefix("file:"), self.options, clock=self._clock)


class Swapping(Memory):
    """Stores in memory that hide their transactions, so that what claims do on a server can be tested without one."""

    def create(self):
        return SwappingOnly(super().create())


class Redis:
    """Databases of a Redis server, which is started for the first of them."""

    def __init__(self, folder, clock):
        self._clock = clock

    def create(self):
        return import_module("support.redis_server").make_empty_store(self._clock)

    def reopen(self, store):
        redis = import_module("simhash_hbase.stores.redis")
        store.close()
        return redis.RedisStore.open(redis.parse_url(store.url), clock=self._clock)


class Tombstones(Memory):
    """Stores in memory whose deletes hide what is written below them, as on a server."""

    def create(self):
        return TombstoneStore(self._clock)


class GivenServerClock(ServerClock):
    """The time of a server that goes by a test's clock, which may be days ahead."""

    def __init__(self, store, clock):
        super().__init__(store)
        self._clock = clock

    def server_time(self):
        return self._clock()

    def time_below(self):
        return self._clock() - MARGIN_MS


def index_at(store, clock):
    """Open an index whose server goes by a test's clock, too."""
    return LocalIndex(store, clock=clock, server_clock=GivenServerClock(store, clock))


PLACES = {"memory": Memory, "embedded": Embedded}
CLAIMING_PLACES = {**PLACES, "swapping": Swapping, "redis": Redis}
SERVERLESS_PLACES = {**CLAIMING_PLACES, "tombstones": Tombstones}


class _HBase:
    """Tables of an HBase; a table that is opened again is talked to by new connections."""

    version = 2

    def __init__(self, folder, clock):
        pass

    def create(self):
        return HBaseStore.open(hbase_options(self.version, tables().take()))

    def reopen(self, store):
        store.close()
        return HBaseStore.open(parse_url(store.url))


class Thrift1(_HBase):
    version = 1


class Rpc(_HBase):
    version = "rpc"


HBASE_PLACES = {"thrift1": Thrift1, "thrift2": _HBase, "rpc": Rpc}


class IndexMaker:
    """Makes indexes in one kind of place, opens them again, and closes them all at the end."""

    def __init__(self, place, clock):
        self.clock = clock
        self._place = place
        self._made = []

    def __call__(self, **options):
        """Make an index for ready fingerprints; by distance and without bands unless the options say otherwise."""
        given = {"analyzer": "shingle", "match": "distance", "bands": 0, **options}
        store = self._place.create()
        LocalIndex.create(store, Profile.resolve(**given))
        return self._keep(index_at(store, self.clock))

    def reopen(self, index):
        return self._keep(index_at(self._place.reopen(index.store), self.clock))

    def close(self):
        for index in self._made:
            index.close()

    def _keep(self, index):
        self._made.append(index)
        return index
