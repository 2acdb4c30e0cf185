"""Addresses of indexes: the kind of store that an address names, and the creation and opening of that store.

Nothing else knows which stores there are; a driver is imported only when an address asks for it.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, NoReturn, Protocol, runtime_checkable

from simhash_hbase.errors import InvalidArgument, Unsupported
from simhash_hbase.plugins import STORES, offered, offered_names
from simhash_hbase.stores.base import Store
from simhash_hbase.stores.hbase.table import TableSchema

DEFAULT_REGIONS = 4


def _create_folder(path: str, *_: object) -> Store:
    from simhash_hbase.stores.embedded import EmbeddedStore

    return EmbeddedStore.create(path)


def _open_folder(path: str, readonly: bool, _: float | None) -> Store:
    from simhash_hbase.stores.embedded import EmbeddedStore

    return EmbeddedStore.open(path, readonly=readonly)


def _make_memory(*_: object) -> Store:
    from simhash_hbase.stores.memory import MemoryStore

    return MemoryStore()


def _create_table(url: str, regions: int | None, compression: str | None, ttl_ms: int | None) -> Store:
    from simhash_hbase.stores import hbase

    schema = TableSchema(regions=regions or DEFAULT_REGIONS, compression=compression or "NONE", ttl_ms=ttl_ms)
    return hbase.HBaseStore.create(hbase.parse_url(url, os.environ), schema)


def _open_table(url: str, _: bool, patience_s: float | None) -> Store:
    from simhash_hbase.stores import hbase

    gateways = hbase.parse_url(url, os.environ)
    if patience_s is not None:
        soon_s = min(gateways.connect_timeout_s, patience_s)
        gateways = replace(gateways, connect_timeout_s=soon_s, timeout_s=patience_s, deadline_s=patience_s)
    return hbase.HBaseStore.open(gateways)


def _create_redis(url: str, *_: object) -> Store:
    from simhash_hbase.stores import redis

    return redis.RedisStore.create(redis.parse_url(url))


def _open_redis(url: str, readonly: bool, patience_s: float | None) -> Store:
    from simhash_hbase.stores import redis

    place = redis.parse_url(url)
    if patience_s is not None:
        place = replace(place, timeout_s=patience_s)
    return redis.RedisStore.open(place, readonly=readonly)


def _refuse_to_create(url: str, *_: object) -> NoReturn:
    raise Unsupported(
        f"{_shown(url)} is a service: an index is made where it is kept, such as file: or hbase://, and then served"
    )


def _refuse_to_open(url: str, *_: object) -> NoReturn:
    raise Unsupported(
        f"{_shown(url)} is a service, which can add, claim, query, get and remove documents, find clues and "
        "passages, list copies and batches, and count; anything else needs the address of the index itself, such as "
        "file: or hbase://"
    )


class StoreKind(NamedTuple):
    """One kind of store, such as a folder or a table in HBase, and how its stores are made and opened."""

    name: str
    create: Callable[[str, int | None, str | None, int | None], Store]
    """Takes an address, or the path of a folder, then what a table in HBase needs: regions, compression and ttl_ms."""
    open: Callable[[str, bool, float | None], Store]
    """Takes an address, or the path of a folder, whether it is for reading only, and seconds of patience."""
    slashes: str = "//"
    """The characters of an address after its colon: ``//`` or none."""


FOLDER = StoreKind("file", _create_folder, _open_folder, "")
TABLE = StoreKind("hbase", _create_table, _open_table)
REDIS = StoreKind("redis", _create_redis, _open_redis)
SERVICE = StoreKind("http", _refuse_to_create, _refuse_to_open)

SCHEMES = {
    "file": FOLDER,
    "hbase": TABLE,
    "hbase+http": TABLE,
    "hbase+https": TABLE,
    "hbase+rpc": TABLE,
    "hbase+rpcs": TABLE,
    "redis": REDIS,
    "rediss": REDIS,
    "memory": StoreKind("memory", _make_memory, _make_memory, ""),
    "http": SERVICE,
    "https": SERVICE,
}
BEGINNINGS = tuple(f"{scheme}:{kind.slashes}" for scheme, kind in SCHEMES.items())


@runtime_checkable
class StorePlugin(Protocol):
    """The object that a package with a store of its own offers, by an entry point of group ``simhash_hbase.stores``.

    Its stores are of subclasses of `Store`, whose methods answer already for stores without a folder or a cluster.

    The name of the entry point is the scheme of its addresses. `simhash_hbase.testing` has the tests of such a store.
    """

    def create(self, url: str) -> Store:
        """Make the empty store that an address names, and return it; raises `IndexExists` where there is one."""

    def open(self, url: str, *, readonly: bool, patience_s: float | None) -> Store:
        """Open a store, perhaps for reading only; raises `IndexMissing` where there is none.

        After `patience_s` seconds a server counts as unreachable; None leaves the time to the store.
        """


def _kind_of(scheme: str) -> StoreKind | None:
    """Return the kind of store for the scheme of an address, such as ``file`` or that of a plugin.

    The result is None for an unknown scheme.
    """
    if scheme in SCHEMES or not scheme:
        return SCHEMES.get(scheme)
    plugin = offered(STORES, scheme)
    if plugin is None:
        return None
    if not isinstance(plugin, StorePlugin):
        raise Unsupported(f"the store {scheme!r} that a package offers has no methods create and open: {plugin!r}")

    def checked(store: Store) -> Store:
        if Store not in type(store).__mro__:
            raise Unsupported(
                f"the store {scheme!r} that a package offers is a {type(store).__name__}, no subclass of "
                f"{Store.__module__}.Store"
            )
        return store

    def create(url: str, *_: object) -> Store:
        return checked(plugin.create(url))

    def open_(url: str, readonly: bool, patience_s: float | None) -> Store:
        return checked(plugin.open(url, readonly=readonly, patience_s=patience_s))

    return StoreKind(scheme, create, open_, "")


Address = str | os.PathLike[str]
"""The address of an index, or the path of the folder that it is in."""


def address_of(given: Address) -> str:
    """Return the address of an index as a string, also if it is a path; raise `InvalidArgument` for any other value."""
    try:
        word = os.fsdecode(given)
    except TypeError as error:
        kind = type(given).__name__
        raise InvalidArgument(f"an index address is a string or a path, not of the type {kind}") from error
    scheme, colon, _ = word.partition(":")
    try:
        # A name of a file may have any bytes.
        encoded = word.encode(errors="surrogateescape" if scheme == "file" or not isinstance(given, str) else "strict")
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{_shown(word)!r} is no index address: it has half of a surrogate pair") from error
    if b"\0" in encoded:
        raise InvalidArgument(f"{_shown(word)!r} is no index address: it has a null character")
    if isinstance(given, str | bytes) or scheme == "file":
        return word
    if colon and _kind_of(scheme) is not None:
        raise InvalidArgument(f"{_shown(word)!r} is a Path, which makes / of //: give the address as a string")
    return f"file:{word}"


def is_address(word: str) -> bool:
    """Return whether a word begins as the address of an index does, such as ``file:`` or ``hbase://``."""
    if word.startswith(BEGINNINGS):
        return not is_service(word) or _names_a_service(word)
    scheme, colon, _ = word.partition(":")
    return bool(colon) and scheme not in SCHEMES and _kind_of(scheme) is not None


def is_service(url: str) -> bool:
    """Return whether an address names an index by its HTTP service, with ``http:`` or ``https:``."""
    return SCHEMES.get(url.partition(":")[0]) is SERVICE


def looks_like_address(word: str) -> bool:
    """Return whether a word that may also be the name of a file or page is meant as the address of an index.

    The address of a page or of a file of documents has a path that does not end with a slash. That of a service has no
    path, or one that ends with a slash.
    """
    scheme, colon, _ = word.partition(":")
    return bool(colon) and _kind_of(scheme) is not None and (not is_service(word) or _names_a_service(word))


def _names_a_service(url: str) -> bool:
    path = url.partition("://")[2].partition("/")[2]
    return not path or path.endswith("/")


def folder_of(url: str) -> str | None:
    """Return the path of the folder that a ``file:`` address names; None for other addresses."""
    kind, place = _split(url)
    return place if kind is FOLDER else None


def check_table_options(url: str, *, regions: int | None = None, compression: str | None = None) -> None:
    """Raise `InvalidArgument` for a number of regions or a compression with an address that is not of a table in HBase.

    The address of a service passes: it has an error of its own.
    """
    kind = _split(url)[0]
    if kind not in (TABLE, SERVICE) and (regions is not None or compression is not None):
        raise InvalidArgument(f"regions and compression are for tables in HBase, not for {kind.name}:")


def create_store(
    url: str, *, regions: int | None = None, compression: str | None = None, ttl_ms: int | None = None
) -> Store:
    """Create the store that an address names, and return it, empty.

    `regions`, `compression` and `ttl_ms`, after which documents expire, are for a table in HBase.
    """
    check_table_options(url, regions=regions, compression=compression)
    kind, place = _split(url)
    return kind.create(place, regions, compression, ttl_ms)


def open_store(url: str, *, readonly: bool = False, patience_s: float | None = None) -> Store:
    """Open an existing store by its address; `patience_s`: seconds after which its server counts as unreachable."""
    kind, place = _split(url)
    return kind.open(place, readonly, patience_s)


def table_of(url: str) -> str:
    """Return the name of the table in an HBase address; raise `InvalidArgument` for other addresses."""
    if _split(url)[0] is not TABLE:
        raise InvalidArgument(f"{_shown(url)} is no table in HBase: wanted hbase://host:port/[namespace:]table")
    from simhash_hbase.stores import hbase

    return hbase.parse_url(url).table


def _shown(url: str) -> str:
    """Return an address as messages show it: without the part that may hold a password."""
    scheme, _, rest = url.partition(":")
    return f"{scheme}:…" if "@" in rest else url


def _split(given: str) -> tuple[StoreKind, str]:
    """Return the kind of store that an address names, and the address, or the path of the folder for ``file:``."""
    scheme, colon, rest = given.partition(":")
    url = _shown(given)
    if not colon:
        raise InvalidArgument(f"{url!r} is no index address: wanted file:PATH, such as file:{url}")
    kind = _kind_of(scheme)
    if kind is None:
        beginnings = [*BEGINNINGS, *(f"{name}:" for name in offered_names(STORES))]
        raise InvalidArgument(f"{url!r}: an index address starts with {', '.join(beginnings)}")
    if kind is FOLDER and not rest:
        raise InvalidArgument("file: needs the path of a folder")
    if kind is FOLDER:
        # A shell expands ~ at the beginning of a word only.
        rest = os.path.expanduser(rest)
        if rest.partition("/")[0] == "~":
            raise InvalidArgument(f"{url}: this user has no home folder: name the folder by its path")
    return kind, rest if kind is FOLDER else given
