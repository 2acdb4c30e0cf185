"""Gateways that were started with framed transport and compact protocol: everything works, and the address is told."""

import re
from contextlib import closing

import numpy as np
import pytest
from support.hbase_server import tables
from support.own_hbase import own_gateway
from support.rows import all_cells, all_pairs, found_by, pairs_of

from simhash_hbase.errors import InvalidArgument, StoreUnavailable
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.rows.table import TableSchema
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.hbase import HBaseStore, parse_url
from simhash_hbase.stores.hbase.thrift.wire import FRAME_BYTES

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
        assert found_by(store, *few) == [pair for pair in pairs_of(rows) if pair[0] in set(few.tolist())]
    assert all_pairs(store, page=700) == pairs_of(rows)
    assert all_cells(store, page=7) == sorted(cells)
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


@pytest.fixture
def framed_store(gateway):
    options = parse_url(f"hbase://{gateway}/{tables().take()}?transport=framed&protocol=compact")
    with closing(HBaseStore.open(options)) as made:
        yield made


def test_batches_above_the_size_of_a_frame_are_sent_in_parts(framed_store):
    described = [Cell(b"%05d" % n, b"q", bytes(1_000), 5) for n in range(3_000)]
    long_named = [Cell(b"%05d" % n + b"r" * 9_000, b"q" * 1_000, b"v", 5) for n in range(300)]

    framed_store.put("d", described + long_named)

    wanted = [(cell.row, cell.qualifier) for cell in long_named]
    assert framed_store.get("d", wanted) == long_named
    assert framed_store.get_rows("d", [row for row, _ in wanted], limit=2) == [[cell] for cell in long_named]
    framed_store.delete("d", long_named)
    assert all_cells(framed_store, page=500) == described


def test_a_frame_has_as_many_bytes_as_a_gateway_takes_and_what_is_larger_is_refused_and_not_tried_again(
    framed_store, calls
):
    # One byte less than a frame, so that the number of its bytes is as long as that of a value that fits.
    too_large = Cell(b"row", b"q", bytes(FRAME_BYTES - 1), 5)
    for write in (
        lambda: framed_store.compare_and_set([Swap(b"row", b"q", None, too_large.value)]),
        lambda: framed_store.put("d", [too_large]),
    ):
        with pytest.raises(InvalidArgument, match=r"a call of \d+ bytes is too large for framed transport") as refused:
            write()
    assert len(calls) == 2
    excess = int(re.search(r"a call of (\d+) bytes", str(refused.value))[1]) - FRAME_BYTES
    largest = too_large._replace(value=too_large.value[excess:])

    framed_store.put("d", [largest])

    assert framed_store.get("d", [(b"row", b"q")]) == [largest]
    with pytest.raises(InvalidArgument, match=f"a call of {FRAME_BYTES + 1} bytes"):
        framed_store.put("d", [largest._replace(value=largest.value + b"x")])
