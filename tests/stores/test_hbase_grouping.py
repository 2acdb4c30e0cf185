"""Many cells become calls that every gateway takes: bounded in rows, and in bytes as they go over the wire."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from thriftpy2.thrift import TMessageType
from thriftpy2.transport import TMemoryBuffer

from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import block_rows, packed_rows
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.hbase import parse_url, reader
from simhash_hbase.stores.hbase.store import latest_writes, swap_waves
from simhash_hbase.stores.hbase.thrift.thrift1 import Thrift1
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2
from simhash_hbase.stores.hbase.thrift.wire import make_protocol

TABLE = "simhash_test"
OPTIONS = parse_url(f"hbase://one/{TABLE}?transport=framed")
# What a call has beside its items: its name, the table's, lengths.
CALL_FRAMING = 200
TINY = [Cell(b"%d" % n, b"q", b"", 7) for n in range(500)]
MIXED = [Cell(b"%d" % n * 9, b"q" * (n % 50), b"v" * (n * 31 % 3_000), 7) for n in range(500)]
LONG_NAMES = [Cell(b"%0400d" % n, b"q" * 300, b"", 7) for n in range(100)]
CALL_BYTES = 5_000


@pytest.fixture(params=[Thrift1, Thrift2])
def driver(request):
    return request.param(TABLE)


@pytest.fixture(params=["binary", "compact"])
def size(request):
    """Return a function that tells how many bytes a conversation sends at once at first."""

    def measure(conversation):
        memory = TMemoryBuffer()
        protocol, transport = make_protocol(memory, replace(OPTIONS, protocol=request.param))
        for call in next(conversation):
            protocol.write_message_begin(call.method, TMessageType.CALL, 1)
            getattr(call.service, f"{call.method}_args")(**call.arguments).write(protocol)
            protocol.write_message_end()
            transport.flush()
        return len(memory.getvalue())

    return measure


@pytest.mark.slow
@pytest.mark.parametrize("cells", [TINY, MIXED, LONG_NAMES], ids=["tiny", "mixed", "long-names"])
@pytest.mark.parametrize("method", ["put", "delete", "get", "get_rows", "scan_rows"])
def test_no_call_is_larger_than_its_bound_on_the_wire(driver, size, cells, method, monkeypatch):
    monkeypatch.setattr(reader, "CALL_BYTES", CALL_BYTES)
    rows, keys = [cell.row for cell in cells], [(cell.row, cell.qualifier) for cell in cells]
    # Thrift 1 sends a call for each row.
    row_groups = [[row] for row in rows] if isinstance(driver, Thrift1) else list(reader.group_row_keys(rows, 1_000))
    calls = {
        "put": [driver.put("d", group) for group in reader.group_cells(cells)],
        "delete": [driver.delete("d", group) for group in reader.group_cells(cells)],
        "get": [driver.get("d", group) for group in reader.group_keys(keys, 1_000)],
        "get_rows": [driver.get_rows("d", group, 9, scan=False) for group in row_groups],
        "scan_rows": [driver.get_rows("d", group, 9, scan=True) for group in row_groups],
    }

    sizes = [size(call) for call in calls[method]]

    assert max(sizes) <= CALL_BYTES + CALL_FRAMING
    assert len(sizes) > 1


def test_groups_hold_everything_once_and_in_order_and_are_not_smaller_than_they_need_be(monkeypatch):
    monkeypatch.setattr(reader, "CALL_BYTES", CALL_BYTES)
    groups = reader.group_cells(MIXED)

    assert [cell for group in groups for cell in group] == sorted(MIXED, key=lambda cell: cell[:2])
    for group, after in pairwise(groups):
        assert sum(reader.FRAMING_BYTES + sum(map(len, cell[:3])) for cell in [*group, after[0]]) > CALL_BYTES


def test_a_group_may_fill_its_bound_exactly_and_what_is_too_large_is_a_call_of_its_own(monkeypatch):
    cells = [Cell(b"%d" % n, b"", bytes(99), 7) for n in range(4)]
    monkeypatch.setattr(reader, "CALL_BYTES", 2 * (reader.FRAMING_BYTES + 100))

    assert [len(group) for group in reader.group_cells(cells)] == [2, 2]
    monkeypatch.setattr(reader, "CALL_BYTES", reader.CALL_BYTES - 1)
    assert [len(group) for group in reader.group_cells(cells)] == [1, 1, 1, 1]
    cells[1] = cells[1]._replace(value=bytes(5_000))
    assert [len(group) for group in reader.group_cells(cells)] == [1, 1, 1, 1]


def test_no_group_has_more_rows_than_it_may():
    simhashes = np.random.default_rng(1).integers(0, 1 << 64, 900, dtype=np.uint64)
    rows = packed_rows(block_rows(Scheme(5, 2), simhashes))

    assert [len(group) for group in reader.group_row_keys(rows)] == [4_000, 4_000, 1_000]
    assert [len(group) for group in reader.group_row_keys([b"r"] * 5, 2)] == [2, 2, 1]


def test_the_bound_of_a_call_fits_into_the_smallest_frame_that_a_gateway_can_be_set_to():
    assert reader.CALL_BYTES + CALL_FRAMING < 1 << 20


def test_of_writes_of_one_cell_only_those_of_one_time_replace_each_other():
    stamped = [Cell(b"r", b"q", b"old", 5), Cell(b"r", b"q", b"new", 5), Cell(b"r", b"q", b"older", 3)]
    unstamped = [Cell(b"s", b"q", b"old"), Cell(b"s", b"q", b"new")]

    assert sorted(latest_writes(stamped + unstamped)) == sorted([*stamped[1:], unstamped[1]])


def test_no_row_is_twice_in_a_wave_and_the_order_on_a_row_stays():
    swaps = [Swap(row, b"s", None, b"v") for row in (b"a", b"b", b"a", b"a", b"b")]

    assert swap_waves(swaps) == [[0, 1], [2, 4], [3]]
