"""Where the search makes its indexes: one after the other in memory, in folders, in tables of an HBase."""

import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from support.faulty_proxy import Chaos, FaultyProxy

from simhash_hbase.index.index import Index
from simhash_hbase.opening import create_store, open_store
from simhash_hbase.profile import Profile
from simhash_hbase.stores.base import Store
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore
from simhash_hbase.stores.hbase import parse_url
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions, format_url
from simhash_hbase.stores.memory import MemoryStore

CUT = 0.002
"""The share of pieces of replies in the middle of which a connection of a writer to its gateway is closed."""


class Place(NamedTuple):
    """An empty index."""

    index: Index
    """For whoever checks it."""
    open_store: Callable[[], Store]
    """For a writer."""
    is_shared: bool
    """Writers are threads that share one store."""


@contextmanager
def make_place(url: str, profile: Profile) -> Iterator[Place]:
    """Make an index for a while.

    Parameters
    ----------
    url : str
        ``memory:``, ``file:`` with or without the folder that is to hold it, or the address of a table at a gateway,
        whose name gets a suffix of its own.
    profile : Profile
        The index's.
    """
    with KINDS[kind_of(url)](url, profile) as place:
        yield place


def kind_of(url: str) -> str:
    """Return what kind of store an address is of."""
    return url.partition(":")[0]


@contextmanager
def _memory(_: str, profile: Profile) -> Iterator[Place]:
    store = MemoryStore()
    yield Place(Index.create(store, profile), lambda: store, is_shared=True)


@contextmanager
def _folder(url: str, profile: Profile) -> Iterator[Place]:
    folder = tempfile.mkdtemp(prefix="search-claims-", dir=url.removeprefix("file:") or None)
    # Processes are killed here, not machines.
    options = EmbeddedOptions(durable=False)
    path = f"{folder}/index"
    try:
        with Index.create(EmbeddedStore.create(path, options), profile) as index:
            yield Place(index, partial(EmbeddedStore.open, path, options), is_shared=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _table(url: str, profile: Profile) -> Iterator[Place]:
    given = parse_url(url)
    options = replace(given, table=f"{given.table}_{secrets.token_hex(4)}")
    proxy = FaultyProxy(*given.gateways[0])
    through = format_url(replace(options, gateways=(Gateway("127.0.0.1", proxy.port),)))
    try:
        with Index.create(create_store(format_url(options), regions=2, ttl_ms=profile.ttl_ms), profile) as index:
            proxy.chaos = Chaos(given.table, cut=CUT, hold=0)
            yield Place(index, partial(open_store, through), is_shared=False)
    finally:
        proxy.close()
        _drop(options)


def _drop(options: HBaseOptions) -> None:
    gateways = Gateways(options)
    try:
        if gateways.exchange.one(gateways.driver.describe) is not None:
            gateways.exchange.one(gateways.driver.drop)
    finally:
        gateways.close()


KINDS = {"memory": _memory, "file": _folder, "hbase": _table}
