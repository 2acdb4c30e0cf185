"""An HBase that asks for permissions: a reader needs R, a writer RW, and what is missing is named."""

import getpass
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from support.bruteforce import entries
from support.own_hbase import gateway_of, own_server
from support.serving import wait_for
from support.shell_lines import shell_lines

from simhash_hbase import Index, create_index, open_index
from simhash_hbase.errors import IndexExists, Permanent, StoreRefused
from simhash_hbase.rows.table import TableSchema
from simhash_hbase.stores.hbase import HBaseStore, parse_url

pytestmark = [pytest.mark.hbase, pytest.mark.slow]

CONTROLLER = "org.apache.hadoop.hbase.security.access.AccessController"
SITE = f"""
hbase.security.authorization true
hbase.security.authentication simple
hbase.superuser {getpass.getuser()}
hbase.coprocessor.master.classes {CONTROLLER}
hbase.coprocessor.region.classes {CONTROLLER}
hbase.coprocessor.regionserver.classes {CONTROLLER}
"""
# Table "none" is not granted.
GRANTS = {"reader": "R", "writer": "RW", "unused1": "RW", "unused2": "RW", "used": "RW"}
GATEWAYS = {"thrift1": (1,), "thrift2": (2,), "readonly": (2, "--readonly")}
SIMHASHES = np.random.default_rng(4).integers(0, 1 << 64, 40, dtype=np.uint64).tolist()
KNOWN = entries([(f"known {number}", simhash) for number, simhash in enumerate(SIMHASHES)])
USER = "editor"


@pytest.fixture(scope="module")
def urls(tmp_path_factory):
    """Return a function from a gateway and a table to an address; the gateways' user may do less than the server's."""
    folder = tmp_path_factory.mktemp("secured")
    with own_server(folder / "server", SITE) as status, ExitStack() as stack:
        for table in ("none", "reader", "writer", "used"):
            with create_index(f"hbase://{status['thrift2']}/{table}", analyzer="shingle", match="distance") as index:
                index.add_entries(KNOWN)
        for version in (1, 2):
            HBaseStore.create(parse_url(f"hbase://{status['thrift2']}/unused{version}"), TableSchema()).close()
        run = stack.enter_context(shell_lines(status, folder))
        for table, actions in GRANTS.items():
            run(f"grant '{USER}', '{actions}', '{table}'")

        def start(name):
            version, *options = GATEWAYS[name]
            return stack.enter_context(gateway_of(status, version, folder / f"{name}.log", *options, user=USER))[0]

        with ThreadPoolExecutor() as threads:
            ports = dict(zip(GATEWAYS, threads.map(start, GATEWAYS), strict=True))
        wait_for(lambda: is_granted(f"hbase://127.0.0.1:{ports['thrift2']}/used"))
        yield lambda gateway, table: f"hbase://127.0.0.1:{ports[gateway]}/{table}"


def is_granted(url):
    try:
        open_index(url).close()
    except StoreRefused:
        return False
    return True


def ids_found(index):
    return [match.id for match in index.query_simhash(SIMHASHES[7]).matches]


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_a_reader_needs_the_permission_to_read_alone(urls, gateway):
    with open_index(urls(gateway, "reader")) as index:
        assert ids_found(index) == ["known 7"]
        assert len(list(index.export())) == len(SIMHASHES)
        assert index.get("known 3").simhash == SIMHASHES[3]
        assert index.verify().wrong == 0
        assert index.stats().documents == len(SIMHASHES)


@pytest.mark.parametrize("gateway", ["thrift1", "thrift2"])
def test_a_writer_needs_the_permissions_to_read_and_write_alone(urls, gateway):
    with open_index(urls(gateway, "writer")) as index:
        index.add_entries(entries({f"by {gateway}": SIMHASHES[7] ^ 1}))
        assert f"by {gateway}" in ids_found(index)
        list(index.remove_many([f"by {gateway}"]))
        assert ids_found(index) == ["known 7"]
        assert index.verify(repair=True).wrong == 0


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_who_may_not_even_read_is_told_at_once_who_lacks_what(urls, gateway):
    with pytest.raises(StoreRefused, match=f"user {USER} of the gateway has no permission READ on table none: an adm"):
        open_index(urls(gateway, "none"))


@pytest.mark.parametrize("gateway", ["thrift1", "thrift2"])
def test_a_writer_without_permission_is_told_at_once_who_lacks_what(urls, gateway):
    lacks = f"user {USER} of the gateway has no permission "
    with open_index(urls(gateway, "reader")) as index, pytest.raises(Permanent, match=f"{lacks}WRITE on table reader"):
        index.add_entries(entries({"new": 1}))
    with pytest.raises(StoreRefused, match=f"{lacks}CREATE on table missing"):
        create_index(urls(gateway, "missing"), analyzer="shingle")
    # Who may not describe a table does not take it over.
    with pytest.raises(IndexExists, match=r"there is an index at .*used already"):
        create_index(urls(gateway, "used"), analyzer="shingle")


def test_a_gateway_for_readers_says_so_to_a_writer(urls):
    with open_index(urls("readonly", "writer")) as index, pytest.raises(Permanent, match="started with --readonly"):
        index.add_entries(entries({"new": 1}))


@pytest.mark.parametrize("gateway", ["thrift1", "thrift2"])
def test_an_operators_table_is_taken_over_by_who_may_write_it(urls, gateway):
    url = urls(gateway, f"unused{gateway[-1]}")

    with create_index(url, analyzer="shingle", match="distance") as index:
        index.add_entries(KNOWN)
        [shortfall] = index.store.shortfalls
    with Index(HBaseStore.open(parse_url(url))) as index:
        assert ids_found(index) == ["known 7"]
    assert "its settings are not known" in shortfall
