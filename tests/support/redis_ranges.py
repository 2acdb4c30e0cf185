"""The Redis store with a back door: ranges are read by a raw client that looks at every key."""

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.stores.base import Cell, check_positive
from simhash_hbase.stores.redis import RedisStore
from support.redis_server import shared_server
from support.rows import rows_of

SPACE = b"simhash-hbase:"


class RangedRedisStore(RedisStore):
    """Answers what the store under test refuses, so that the contract's tests can see what is in it."""

    raw = None

    def scan_range(self, start, stop, *, page):
        check_positive("page", page)
        return _paged(_pairs(self.raw, start, stop), page, lambda pairs: rows_of(*pairs))

    def scan_cells(self, family, start, stop, *, page):
        check_positive("page", page)
        if family not in ("d", "m"):
            raise InvalidArgument(f"family {family!r}")
        return _paged(_cells(self.raw, family, start, stop), page, list)

    def close(self):
        super().close()
        self.raw.close()


def make_contract_store(clock=None):
    """Make an empty store that can also be read in ranges."""
    server = shared_server()
    options = server.empty_options()
    store = RangedRedisStore.create(options, clock=clock)
    store.raw = server.raw(options.database)
    return store


def reopen_contract_store(store, clock=None):
    """Close a store that `make_contract_store` made, and open it again."""
    server = shared_server()
    store.close()
    options = server.options(int(store.url.rpartition("/")[2]))
    again = RangedRedisStore.open(options, clock=clock)
    again.raw = server.raw(options.database)
    return again


def _paged(items, page, form):
    return (form(items[i : i + page]) for i in range(0, len(items), page))


def _pairs(raw, start, stop):
    sets = _held(raw, b"b", lambda pipeline, key: pipeline.zrange(key, 0, -1))
    found = [(int.from_bytes(prefix, "big"), member) for prefix, members in sets for member in members]
    return sorted((prefix, int.from_bytes(member, "big")) for prefix, member in found if start <= prefix < stop)


def _cells(raw, family, start, stop):
    hashes = _held(raw, family.encode(), lambda pipeline, key: pipeline.hgetall(key))
    return sorted(
        Cell(row, qualifier, value[8:], int.from_bytes(value[:8], "big"))
        for row, held in hashes
        if start <= row and (stop is None or row < stop)
        for qualifier, value in held.items()
    )


def _held(raw, family, ask):
    beginning = SPACE + family + b":"
    keys = raw.keys(beginning + b"*")
    with raw.pipeline(transaction=False) as pipeline:
        for key in keys:
            ask(pipeline, key)
        answers = pipeline.execute()
    return [(key.removeprefix(beginning), answer) for key, answer in zip(keys, answers, strict=True)]
