"""The stores under the contract: one `make_store` fixture, run once for each of them."""

from contextlib import closing
from importlib import import_module
from itertools import count

import pytest
from support.hbase_server import hbase_options, tables
from support.kerberos_realm import own_realm
from support.own_hbase import http_address, stop_http_gateways

from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore
from simhash_hbase.stores.hbase import HBaseStore, parse_url
from simhash_hbase.stores.hbase.table import TableSchema
from simhash_hbase.stores.hbase.thrift.wire import GatewayConnection
from simhash_hbase.stores.memory import MemoryStore


def _on_hbase(version):
    return lambda folder, clock: HBaseStore.open(hbase_options(version, tables().take()))


def _on_hbase_by_http(folder, clock):
    return HBaseStore.open(parse_url(f"hbase+http://{http_address(2, folder)}/{tables().take()}"))


ON_HBASE = {
    "thrift1": _on_hbase(1),
    "thrift2": _on_hbase(2),
    # HTTP carries both versions alike: test_hbase_secure has an index that works through either.
    "thrift2-http": _on_hbase_by_http,
    "rpc": _on_hbase("rpc"),
}
# A store that needs a server is added here: a function from the test's temporary folder and a clock to an empty store.
MAKERS = {
    "memory": lambda folder, clock: MemoryStore(clock=clock),
    "embedded": lambda folder, clock: EmbeddedStore.create(
        str(folder / "index"), EmbeddedOptions(durable=False, map_bytes=1 << 20), clock=clock
    ),
    "redis": lambda folder, clock: import_module("support.redis_server").make_empty_store(clock),
    **ON_HBASE,
}


# What a store is not asked: these tests are not collected for it, so that a skip always means a missing server.
LACKS = {
    "transactional_store": {"redis", *ON_HBASE},
    # HBase stamps by its own clock, which no test sets back.
    "test_a_stamp_is_higher_than_the_one_before_even_when_the_clock_runs_back": {*ON_HBASE},
    # HBase takes an empty value for none, so its store refuses such swaps: test_hbase_store.
    "test_an_empty_value_and_none_are_different_expectations": {*ON_HBASE},
}


def pytest_collection_modifyitems(config, items):
    """Leave out what a store cannot be asked."""
    out = []
    for item in items:
        call = getattr(item, "callspec", None)
        store = call and call.params.get("make_store")
        if store and any(store in LACKS.get(name, ()) for name in (item.originalname, *item.fixturenames)):
            out.append(item)
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=out)


@pytest.fixture(scope="session", autouse=True)
def _no_gateway_stays():
    """Stop the gateways in HTTP mode that this run started."""
    yield
    stop_http_gateways()


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock(1_000_000)


@pytest.fixture(params=[pytest.param(n, marks=pytest.mark.hbase) if n in ON_HBASE else n for n in MAKERS])
def make_store(request, tmp_path, clock):
    """Return a function that makes one more empty store; all are closed at the end."""
    numbers, made = count(), []

    def make():
        folder = tmp_path / f"store{next(numbers)}"
        folder.mkdir()
        made.append(MAKERS[request.param](folder, clock))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def store(make_store):
    return make_store()


@pytest.fixture
def folder(tmp_path):
    """Return where the tests of the embedded store put an index."""
    return str(tmp_path / "index")


@pytest.fixture
def calls(monkeypatch):
    """Note the calls that connections to gateways send."""
    sent = []
    write = GatewayConnection.write

    def noting(self, calls):
        sent.extend(calls)
        write(self, calls)

    monkeypatch.setattr(GatewayConnection, "write", noting)
    return sent


@pytest.fixture
def wide_store():
    """Return a store of a table of seven regions, through Thrift 2."""
    with closing(HBaseStore.create(hbase_options(2, tables().name()), TableSchema(regions=7))) as made:
        yield made


@pytest.fixture(scope="session")
def realm(tmp_path_factory):
    """Start a KDC, once for all tests of Kerberos."""
    with own_realm(tmp_path_factory.mktemp("realm")) as made:
        yield made


@pytest.fixture
def ticket(realm, monkeypatch):
    """Let this process be the user ``crawler``, who gets tickets when they are needed."""
    monkeypatch.setenv("KRB5_CONFIG", realm.environment["KRB5_CONFIG"])
    monkeypatch.setenv("KRB5CCNAME", str(realm.folder / "tickets"))
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(realm.keytab("crawler")))
