"""A store over HBase answers as the model in memory does, whatever is asked of it in whatever order.

What a server's clock decides is left out: cells that it stamps are compared without their timestamps and never deleted.
"""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from support.hbase_server import hbase_options, tables
from support.rows import LAST_PREFIX, LAST_SIMHASH, all_cells, all_pairs, pairs_of, rows_of, uint64s

from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2
from simhash_hbase.stores.memory import MemoryStore

pytestmark = pytest.mark.hbase

PREFIXES = st.sampled_from([0, 1, 255, 256, LAST_PREFIX - 1, LAST_PREFIX])
SIMHASHES = st.sampled_from([0, 1, 2, 255, 256, LAST_SIMHASH - 1, LAST_SIMHASH])
ROWS = st.lists(st.tuples(PREFIXES, SIMHASHES), max_size=12).map(lambda pairs: rows_of(*pairs))
ROW_KEYS = st.sampled_from([b"\x00\x00", b"\x00\x01", b"ab", b"b", b"\xff\xff\xff"])
QUALIFIERS = st.sampled_from([b"", b"\x00", b"'", b":", b"\xff\xff"])
VALUES = st.sampled_from([b"one", b"two", b"\x00\xff"])


class Congruence(RuleBasedStateMachine):
    version = 0

    def __init__(self):
        super().__init__()
        self.store = HBaseStore.open(hbase_options(self.version, tables().take()))
        self.model = MemoryStore()
        self.now = 1_000

    def teardown(self):
        self.store.close()

    def both(self, ask):
        assert ask(self.store) == ask(self.model)

    @rule(rows=ROWS)
    def put_rows(self, rows):
        self.both(lambda store: store.put_rows(rows, timestamp=self.now))

    @rule(rows=ROWS)
    def delete_rows(self, rows):
        self.now += 1
        self.both(lambda store: store.delete_rows(rows, timestamp=self.now))
        self.now += 1

    @rule(cells=st.lists(st.tuples(ROW_KEYS, QUALIFIERS), max_size=6), back=st.integers(0, 2))
    def put_at(self, cells, back):
        stamp = self.now - back
        made = [Cell(row, qualifier, b"at %d" % stamp, stamp) for row, qualifier in cells]
        self.both(lambda store: store.put("m", made))

    @rule(cells=st.lists(st.tuples(ROW_KEYS, QUALIFIERS), max_size=6))
    def delete(self, cells):
        doomed = [Cell(row, qualifier, b"", self.now) for row, qualifier in cells]
        self.both(lambda store: store.delete("m", doomed))
        self.now += 10

    @rule(cells=st.lists(st.builds(Cell, ROW_KEYS, QUALIFIERS, VALUES, st.none()), max_size=6))
    def put(self, cells):
        self.both(lambda store: store.put("d", cells))

    @rule(swaps=st.lists(st.builds(Swap, ROW_KEYS, QUALIFIERS, st.none() | VALUES, VALUES), max_size=4))
    def compare_and_set(self, swaps):
        self.both(lambda store: store.compare_and_set(swaps))

    @rule(prefixes=st.lists(PREFIXES, unique=True).map(sorted), limit=st.integers(1, 4))
    def scan(self, prefixes, limit):
        def ask(store):
            found = store.scan(uint64s(*prefixes), limit=limit)
            return pairs_of(found.rows), found.truncated.tolist()

        self.both(ask)

    @rule(row=ROW_KEYS, after=QUALIFIERS, limit=st.integers(1, 3))
    def read_row(self, row, after, limit):
        self.both(lambda store: store.read_row("m", row, after=after, limit=limit))

    @rule(rows=ROWS)
    def has_rows(self, rows):
        self.both(lambda store: store.has_rows(rows).tolist())

    @rule(start=PREFIXES, stop=PREFIXES, page=st.integers(1, 3))
    def scan_range(self, start, stop, page):
        self.both(lambda store: all_pairs(store, start, stop, page))

    @rule(keys=st.lists(st.tuples(ROW_KEYS, QUALIFIERS), max_size=6), limit=st.integers(1, 3))
    def get(self, keys, limit):
        self.both(lambda store: store.get("m", keys))
        self.both(lambda store: store.get_rows("m", [row for row, _ in keys], limit=limit))
        self.both(lambda store: [cell and cell.value for cell in store.get("d", keys)])

    @rule(start=ROW_KEYS, stop=st.none() | ROW_KEYS, page=st.integers(1, 3))
    def scan_cells(self, start, stop, page):
        self.both(lambda store: all_cells(store, "m", start, stop, page))

    @invariant()
    def holds_the_same(self):
        self.both(all_pairs)
        self.both(lambda store: all_cells(store, "m"))
        self.both(lambda store: [cell[:3] for cell in all_cells(store, "d")])


@pytest.mark.parametrize(("version", "scanned"), [(1, Thrift2.scanned_rows), (2, Thrift2.scanned_rows), (2, 1)])
def test_a_store_answers_as_the_model_does(version, scanned, monkeypatch):
    monkeypatch.setattr(Thrift2, "scanned_rows", scanned)
    machine = type(f"Congruence_{version}", (Congruence,), {"version": version})

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=6,
            # Shrinking a failure would take a table a step.
            phases=(Phase.generate,),
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            database=None,
        ),
    )
