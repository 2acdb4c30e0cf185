"""A real Redis server for the tests, a back door to what it holds, and a store whose ranges can be read."""

import atexit
import shutil
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import redis

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.stores.base import Cell, check_positive
from simhash_hbase.stores.redis import RedisOptions, RedisStore
from support.gates import absent
from support.listening import free_port, listening
from support.rows import rows_of

HOW = "redis-server is not installed: apt-get install redis-server"
DATABASES = 256


class RedisServer:
    """A server on a free port of this machine, with its files in a folder of its own; ended by `stop`."""

    def __init__(self, *settings, port=None):
        program = shutil.which("redis-server")
        if program is None:
            absent(HOW)
        self._running = ExitStack()
        folder = self._running.enter_context(TemporaryDirectory(prefix="simhash-hbase-redis-"))
        self._databases = count()
        self.port = port or free_port()
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""]
        command += ["--databases", str(DATABASES), "--appendonly", "no", *settings]
        self._running.enter_context(listening(command, self.port, Path(folder, "log")))

    def options(self, database=0, **others):
        return RedisOptions(host="127.0.0.1", port=self.port, database=database, **others)

    def empty_options(self, **others):
        """Return the options for a database that nothing is in, each time another one while they last."""
        database = next(self._databases) % DATABASES
        with self.raw(database) as raw:
            raw.flushdb()
        return self.options(database, **others)

    def raw(self, database=0, **others):
        """Return a client of the same server that knows nothing of stores."""
        return redis.Redis(host="127.0.0.1", port=self.port, db=database, **others)

    def stop(self):
        self._running.close()


@cache
def shared_server():
    """Start the server that the tests of one process share, once; it ends with the process."""
    server = RedisServer()
    atexit.register(server.stop)
    return server


SPACE = b"simhash-hbase:"


class RangedRedisStore(RedisStore):
    """Answers what the store under test refuses, so that the contract's tests can see what is in it."""

    raw = None

    def scan_range(self, start, stop, *, page):
        check_positive("page", page)
        keys = [(int.from_bytes(row, "big"), key) for row, key in self._keys("b")]
        pairs = sorted(
            (prefix, int.from_bytes(member, "big"))
            for prefix, key in keys
            if start <= prefix < stop
            for member in self.raw.zrange(key, 0, -1)
        )
        return (rows_of(*pairs[at : at + page]) for at in range(0, len(pairs), page))

    def scan_cells(self, family, start, stop, *, page):
        check_positive("page", page)
        if family not in ("d", "m"):
            raise InvalidArgument(f"family {family!r}")
        cells = sorted(
            Cell(row, qualifier, value[8:], int.from_bytes(value[:8], "big"))
            for row, key in self._keys(family)
            if start <= row and (stop is None or row < stop)
            for qualifier, value in self.raw.hgetall(key).items()
        )
        return (cells[at : at + page] for at in range(0, len(cells), page))

    def _keys(self, family):
        beginning = SPACE + family.encode() + b":"
        return [(key.removeprefix(beginning), key) for key in self.raw.keys(beginning + b"*")]

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
