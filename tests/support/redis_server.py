"""A real Redis server for the tests, and a back door to what it holds."""

import atexit
import shutil
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.gates import absent
from support.listening import free_port, listening

redis = pytest.importorskip("redis", reason="./scripts/install dev")

from simhash_hbase.stores.redis import RedisOptions, RedisStore  # noqa: E402 - the extra is there

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


def make_empty_store(clock=None):
    """Make a store in a database that nothing is in."""
    return RedisStore.create(shared_server().empty_options(), clock=clock)
