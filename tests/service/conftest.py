"""An index that is served, by a real server process."""

import pytest
from support.faulty_proxy import FaultyProxy
from support.hbase_server import address, tables
from support.serving import new_index, serving

from simhash_hbase import create_index


@pytest.fixture(scope="session")
def anyio_backend():
    """Run tests that are coroutines by asyncio, as the service does."""
    return "asyncio"


@pytest.fixture
def url(tmp_path):
    return new_index(tmp_path)


@pytest.fixture
def server(url, tmp_path):
    with serving(url, tmp_path) as running:
        yield running


@pytest.fixture
def client(server):
    with server.client() as made:
        yield made


@pytest.fixture
def table():
    """Return the name of a table with an empty index."""
    name = tables().name()
    create_index(f"hbase://{address(2)}/{name}", analyzer="shingle", regions=1).close()
    return name


@pytest.fixture
def gateway():
    """Return what stands between the service and its gateway."""
    host, _, port = address(2).rpartition(":")
    made = FaultyProxy(host, int(port))
    yield made
    made.close()
