"""The HBase that the tests talk to, and tables in it that only they use."""

import json
import os
import secrets
import subprocess
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

from simhash_hbase.stores.hbase import HBaseOptions, parse_url
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.table import TableSchema
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2
from simhash_hbase.stores.hbase.thrift.wire import Call
from support.gates import absent
from support.patience import END_S

SCRIPT = Path(__file__).parents[2] / "scripts" / "hbase"
# Taken now: some tests hide the caller's settings.
ENVIRONMENT = dict(os.environ)
CHOSEN = ENVIRONMENT.get("SIMHASH_HBASE_TEST_SERVER", "")
STATUS = [SCRIPT, "status", "--with", CHOSEN if CHOSEN and ":" not in CHOSEN else "local", "--json"]
AT_ONCE = 8


@cache
def launcher_status():
    """Return what the launcher tells of the server; nothing where it knows none."""
    asked = subprocess.run(STATUS, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    return json.loads(asked.stdout) if asked.stdout else {}


@cache
def addresses():
    """Return the gateways' addresses by Thrift version; empty when no server answers."""
    if ":" in CHOSEN:
        # host:port of Thrift 2, thrift1=host:port, or both with a comma between.
        given = [part.rpartition("=") for part in CHOSEN.split(",")]
        return {{"": 2, "thrift2": 2, "thrift1": 1}[name]: there for name, _, there in given}
    given = {version: launcher_status().get(f"thrift{version}") for version in (1, 2)}
    return {version: there for version, there in given.items() if there}


def address(version):
    """Return ``host:port`` of a gateway, or skip the test."""
    if version not in addresses():
        absent("no HBase answers: ./scripts/hbase up starts one", ENVIRONMENT)
    return addresses()[version]


def region_server():
    """Return ``host:port`` of the region server, or skip the test; from outside, those of a container have no names."""
    address(2)
    if not launcher_status().get("pids"):
        pytest.skip("no region server can be reached beside gateways in a container or on another machine")
    return f"127.0.0.1:{launcher_status()['ports']['regionserver']}"


def hbase_options(version, table, /, **options) -> HBaseOptions:
    """Return the options of a table behind Thrift 1 or 2, or for ``rpc`` without a gateway."""
    url = f"hbase+rpc://{region_server()}" if version == "rpc" else f"hbase://{address(version)}"
    return replace(parse_url(f"{url}/{table}"), **options)


class Tables:
    """Makes empty tables ahead of need, many at once, since one takes half a second.

    They are made and dropped through calls of their own, not through the store under test. A table is dropped some
    tests after it was taken: each one that was written to holds megabytes of the server's heap. The last eight stay,
    since the running test may have taken them.
    """

    def __init__(self):
        self._gateways = Gateways(hbase_options(2, "simhash_test"))
        self._spare = []
        self._taken = []
        self._kept = []

    def take(self, *, keep=False):
        """Return the name of an empty table; one that is not kept is for the running test alone."""
        if not self._spare:
            self._drop_all(self._taken[:-AT_ONCE])
            self._taken = self._taken[-AT_ONCE:]
            self._make([_name() for _ in range(AT_ONCE)])
        name = self._spare.pop()
        (self._kept if keep else self._taken).append(name)
        return name

    def _make(self, names):
        """Make tables; where that fails, no later test gets one of them, and they are dropped at the end."""
        try:
            self._all(partial(Thrift2(name).create, TableSchema(regions=1)) for name in names)
        except BaseException:
            self._kept += names
            raise
        self._spare = names

    def name(self):
        """Return a name that no table has; whatever is made under it is dropped at the end."""
        self._kept.append(_name())
        return self._kept[-1]

    def adopt(self, name):
        """Drop a table at the end that a program under test has named."""
        self._kept.append(name)

    def administrate(self, name, *methods):
        """Make calls of one table: see `administrate`."""
        self._all([partial(administrate, name, *methods)])

    def close(self):
        self._drop_all(self._spare + self._taken + self._kept)
        self._gateways.close()

    def _drop_all(self, names):
        self._all(partial(_drop, name) for name in names)

    def _all(self, tasks):
        # No second request: after the first one, which a busy server may still carry out, it would fail.
        self._gateways.exchange.hold(list(tasks), sockets=AT_ONCE, repeat=False, timeout_s=END_S)


def _name():
    return f"simhash_test_{secrets.token_hex(6)}"


def administrate(name, *methods):
    """Make calls of one table that no store makes: disableTable, enableTable, deleteTable."""
    admin = Thrift2(name)
    for method in methods:
        yield [Call(admin._idl.Cells, method, {"tableName": admin._name})]


def _drop(name):
    if (yield from Thrift2(name).describe()) is not None:
        yield from administrate(name, "disableTable", "deleteTable")


_tables = []


def tables() -> Tables:
    if not _tables:
        _tables.append(Tables())
    return _tables[0]


def drop_tables():
    while _tables:
        _tables.pop().close()
