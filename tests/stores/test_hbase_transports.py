"""Gateways that were started with framed transport and compact protocol: everything works, and the address is told."""

import numpy as np
import pytest

from simhash_hbase.blocks import Scheme
from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.rowkey import block_rows
from simhash_hbase.schema import TableSchema
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.hbase import HBaseStore, parse_url
from tests.stores.hbase_server import tables
from tests.stores.own_gateway import own_gateway
from tests.stores.rows import pairs_of

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module", params=[1, 2], ids=["thrift1", "thrift2"])
def gateway(request, tmp_path_factory):
    """Start a gateway like the one that runs, but framed and compact; return its address."""
    with own_gateway(request.param, tmp_path_factory.mktemp("gateway") / "log", "-f", "-c") as (port, _):
        yield f"127.0.0.1:{port}"


def test_rows_and_cells_are_written_and_read(gateway):
    options = parse_url(f"hbase://{gateway}/{tables().name()}?transport=framed&protocol=compact")
    store = HBaseStore.create(options, TableSchema(regions=4))
    simhashes = np.random.default_rng(3).integers(0, 1 << 64, 300, dtype=np.uint64)
    rows = block_rows(Scheme(5, 2), simhashes)
    store.put_rows(rows, timestamp=1)
    cells = [Cell(f"row{n % 3}".encode(), f"q{n:03}".encode(), bytes(n), 5) for n in range(1, 90)]
    store.put("d", cells)

    for few in (np.unique(rows.prefixes)[:10], np.unique(rows.prefixes)):
        found = store.scan(few, limit=1000)
        assert pairs_of(found.rows) == [pair for pair in pairs_of(rows) if pair[0] in set(few.tolist())]
    assert sum(len(page.prefixes) for page in store.scan_range(0, 1 << 40, page=700)) == len(rows.prefixes)
    assert [cell for page in store.scan_cells("d", b"", None, page=7) for cell in page] == sorted(cells)
    assert store.get("d", [(b"row1", b"q001"), (b"row1", b"q002")]) == [cells[0], None]
    assert store.compare_and_set([Swap(b"row9", b"q", None, b"v"), Swap(b"row9", b"q", b"w", b"x")]) == [True, False]
    store.delete("d", cells[1:])
    assert store.get_rows("d", [b"row1", b"row2"], limit=9) == [cells[:1], []]
    # Neither Thrift 1 nor a framed gateway can make regions.
    assert any("1 regions instead of 4" in shortfall for shortfall in store.shortfalls)
    store.close()


def test_an_address_without_them_is_told_what_it_needs(gateway):
    for given in ("", "?transport=framed", "?protocol=compact"):
        with pytest.raises(StoreUnavailable, match=r"the address needs \?transport=framed&protocol=compact"):
            HBaseStore.open(parse_url(f"hbase://{gateway}/any{given}"))
