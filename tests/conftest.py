"""Fixtures that tests of several folders share."""

from pathlib import Path

import pytest
from hypothesis import settings
from support.chromium import launch
from support.faulty_proxy import lead_through, proxy_to
from support.hbase_server import drop_tables
from support.places import PLACES, Clock, IndexMaker
from support.results import Result
from xdist.scheduler import LoadFileScheduling

from simhash_hbase.cli.app import main

# How long an example takes depends on the machine and on what else it does.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

TESTS = Path(__file__).parent
# Tests that start servers, browsers, clusters or environments of their own.
SERVED = ("bulk/", "client/", "frameworks/", "hbase/", "laboratories/", "project/test_", "service/", "spark/")


# Files with tests of minutes: begun last, one process would go through them while the others have nothing left.
LONGEST = (
    *("hbase/test_hbase_cluster.py", "project/test_readme_commands.py", "project/test_installed_package.py"),
    *("spark/test_spark_cluster.py", "spark/test_spark_hbase.py", "spark/test_spark.py"),
    *("spark/test_spark_passages.py", "index/test_index_machine.py", "hbase/test_hbase_commands.py"),
    *("stores/test_contract.py", "stores/test_hbase_secure.py", "stores/test_state_machine.py"),
    "stores/test_hbase_rpc_kerberos.py",
)


def pytest_collection_modifyitems(items):
    """Mark the tests that need a server besides HBase, and put the longest ones first."""
    rank = {TESTS / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
    for item in items:
        folder = item.path.is_relative_to(TESTS) and item.path.relative_to(TESTS).as_posix()
        if (folder and folder.startswith(SERVED)) or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("server")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Where one process runs the tests of a file, let one run those of the folder `spark`, which share a session."""
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


class ByFile(LoadFileScheduling):
    def _split_scope(self, nodeid):
        return "tests/spark" if nodeid.startswith("tests/spark/") else super()._split_scope(nodeid)


@pytest.fixture
def clock():
    """Return a clock that the test moves."""
    return Clock()


@pytest.fixture(params=PLACES)
def make_index(request, tmp_path, clock):
    """Return what makes indexes, once for each kind of store."""
    maker = IndexMaker(PLACES[request.param](tmp_path, clock), clock)
    yield maker
    maker.close()


@pytest.fixture
def make_memory_index(tmp_path, clock):
    """Return what makes indexes in memory, for tests that no store could fail."""
    return IndexMaker(PLACES["memory"](tmp_path, clock), clock)


@pytest.fixture
def cli(capsysbinary):
    """Return what runs one command in this process: exit code, records and messages come back."""

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        out, err = capsysbinary.readouterr()
        return Result(ended.value.code, out, err.decode())

    return run


@pytest.fixture(params=[1, 2], ids=["thrift1", "thrift2"])
def version(request):
    """Return each of HBase's Thrift interfaces, for tests that name it."""
    return request.param


@pytest.fixture
def proxy(version, monkeypatch):
    """Return a proxy before the gateway of that interface or the region server, which does what networks do."""
    made = proxy_to(version)
    if version == "rpc":
        lead_through(made, monkeypatch)
    yield made
    made.close()


@pytest.fixture(scope="session", autouse=True)
def _no_table_stays():
    """Drop the tables that this run made in an HBase."""
    yield
    drop_tables()


@pytest.fixture(scope="module")
def browser():
    """Return the system's Chromium, headless; not for a session, since no test beside it can run an event loop."""
    with launch() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory):
    """Return the folder that takes pictures of pages; pytest keeps those of the last three runs."""
    return tmp_path_factory.getbasetemp() / "screenshots"
