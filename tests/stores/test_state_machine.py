"""Every store behaves as the model in memory does, whatever is asked of it in whatever order.

A server of HBase stamps by its own clock: what it stamps is compared without timestamps and never deleted.
"""

import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from stores.conftest import MAKERS, ON_HBASE, Clock

from simhash_hbase.stores.base import Cell, Swap, Transactional
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore
from simhash_hbase.stores.hbase.rpc.driver import RpcDriver
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2
from simhash_hbase.stores.memory import MemoryStore
from simhash_hbase.testing.rows import LAST_PREFIX, LAST_SIMHASH, all_cells, all_pairs, pairs_of, rows_of, uint64s

pytestmark = pytest.mark.slow


PREFIXES = st.sampled_from([0, 1, 255, 256, LAST_PREFIX - 1, LAST_PREFIX])
SIMHASHES = st.sampled_from([0, 1, 2, 255, 256, LAST_SIMHASH - 1, LAST_SIMHASH])
ROWS = st.lists(st.tuples(PREFIXES, SIMHASHES), max_size=12).map(lambda pairs: rows_of(*pairs))
ROW_KEYS = st.sampled_from([b"\x00\x00", b"\x00\x01", b"ab", b"b", b"\xff\xff\xff"])
QUALIFIERS = st.sampled_from([b"", b"\x00", b"'", b":", b"s", b"\xff\xff"])
FAMILIES = st.sampled_from(["d", "m"])


def of_machine(name):
    return st.runner().flatmap(lambda machine: st.sampled_from(getattr(machine, name)))


VALUES = of_machine("values")
# Far apart in time from deletes, whose markers may hide a write that carries a timestamp at or below theirs.
CELLS = st.lists(st.builds(Cell, ROW_KEYS, QUALIFIERS, VALUES, st.none()), max_size=6)
SWAPS = st.lists(st.builds(Swap, ROW_KEYS, QUALIFIERS, st.none() | VALUES, VALUES), max_size=4)


class Congruence(RuleBasedStateMachine):
    """Asks a store and the model the same."""

    name = ""
    # Families whose cells the store stamps, and those whose cells the machine stamps.
    unstamped = stamped = ("d", "m")
    values = (b"", b"one", b"two", b"\x00\xff")

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock(1_000_000)
        self.store = self.made(Path(self.folder.name), self.clock)
        self.model = MemoryStore(clock=self.clock)

    def made(self, folder, clock):
        return MAKERS[self.name](folder, clock)

    def teardown(self):
        self.store.close()
        self.folder.cleanup()

    def both(self, ask):
        assert ask(self.store) == ask(self.model)

    @rule(rows=ROWS)
    def put_rows(self, rows):
        self.both(lambda store: store.put_rows(rows, timestamp=self.clock.now))

    @rule(rows=ROWS)
    def delete_rows(self, rows):
        self.clock.now += 1
        self.both(lambda store: store.delete_rows(rows, timestamp=self.clock.now))
        self.clock.now += 1

    @rule(family=of_machine("unstamped"), cells=CELLS)
    def put(self, family, cells):
        self.both(lambda store: store.put(family, cells))

    @rule(family=of_machine("stamped"), cells=CELLS, back=st.integers(0, 2))
    def put_at(self, family, cells, back):
        # A value that is a function of the timestamp: two writes with one timestamp are one write twice.
        stamp = self.clock.now - back
        stamped = [cell._replace(timestamp=stamp, value=b"at %d" % stamp) for cell in cells]
        self.both(lambda store: store.put(family, stamped))

    @rule(family=of_machine("stamped"), cells=CELLS)
    def delete(self, family, cells):
        upto = [cell._replace(timestamp=self.clock.now) for cell in cells]
        self.both(lambda store: store.delete(family, upto))
        self.clock.now += 10

    @rule(swaps=SWAPS)
    def compare_and_set(self, swaps):
        self.both(lambda store: store.compare_and_set(swaps))

    @precondition(lambda self: isinstance(self.store, Transactional))
    @rule(rows=ROWS, cells=CELLS, keep=st.booleans())
    def transaction(self, rows, cells, keep):
        for store in (self.store, self.model):
            with suppress(ZeroDivisionError), store.transaction():
                store.put_rows(rows, timestamp=self.clock.now)
                store.put("d", cells)
                1 / keep

    @rule(prefixes=st.lists(PREFIXES, unique=True).map(sorted), limit=st.integers(1, 4))
    def scan(self, prefixes, limit):
        def ask(store):
            found = store.scan(uint64s(*prefixes), limit=limit)
            return pairs_of(found.rows), found.truncated.tolist()

        self.both(ask)

    @rule(family=FAMILIES, row=ROW_KEYS, after=QUALIFIERS, limit=st.integers(1, 3))
    def read_row(self, family, row, after, limit):
        self.both(lambda store: self.seen(family, store.read_row(family, row, after=after, limit=limit)))

    @rule(rows=ROWS)
    def has_rows(self, rows):
        self.both(lambda store: store.has_rows(rows).tolist())

    @rule(start=PREFIXES, stop=PREFIXES, page=st.integers(1, 3))
    def scan_range(self, start, stop, page):
        self.both(lambda store: all_pairs(store, start, stop, page))

    @rule(family=FAMILIES, keys=st.lists(st.tuples(ROW_KEYS, QUALIFIERS), max_size=6), limit=st.integers(1, 3))
    def get(self, family, keys, limit):
        self.both(lambda store: self.seen(family, store.get(family, keys)))
        rows = [row for row, _ in keys]
        self.both(lambda store: [self.seen(family, row) for row in store.get_rows(family, rows, limit=limit)])

    @rule(family=FAMILIES, start=ROW_KEYS, stop=st.none() | ROW_KEYS, page=st.integers(1, 3))
    def scan_cells(self, family, start, stop, page):
        self.both(lambda store: self.seen(family, all_cells(store, family, start, stop, page)))

    @invariant()
    def holds_the_same(self):
        self.both(all_pairs)
        self.both(lambda store: [self.seen(family, all_cells(store, family)) for family in ("d", "m")])

    def seen(self, family, cells):
        if family in self.stamped:
            return cells
        return [cell and cell[:3] for cell in cells]


class GatheredCongruence(Congruence):
    """Asks a folder whose transactions are gathered, and the model, the same.

    Reads that look into the memtable are asked in between; the others write it to the databases, and are asked at the
    end of a group.
    """

    def __init__(self):
        super().__init__()
        self.group = ExitStack()
        self.group.enter_context(self.store.gathered())

    def made(self, folder, clock):
        roomy = EmbeddedOptions(durable=False, map_bytes=1 << 33)
        return EmbeddedStore.create(str(folder / "index"), roomy, clock=clock)

    def teardown(self):
        self.end_group()
        self.group.close()
        super().teardown()

    @rule()
    def end_group(self):
        self.group.close()
        assert self.store.gathered_bytes() == 0
        super().holds_the_same()
        self.group.enter_context(self.store.gathered())

    @rule(rows=ROWS, cells=CELLS)
    def transaction(self, rows, cells):
        for store in (self.store, self.model):
            with store.transaction():
                store.put_rows(rows, timestamp=self.clock.now)
                store.put("d", cells)

    def holds_the_same(self):
        """Compare at the end of a group alone."""

    has_rows = scan_range = scan_cells = None


def test_a_folder_whose_transactions_are_gathered_answers_as_the_model_does():
    run({"name": "gathered"}, GatheredCongruence, max_examples=40, stateful_step_count=25)


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in ("memory", *ON_HBASE)])
def test_a_store_answers_as_the_model_does(name):
    run({"name": name}, max_examples=30, stateful_step_count=25)


def run(own, machine=Congruence, **options):
    chosen = settings(deadline=None, suppress_health_check=list(HealthCheck), **options)
    run_state_machine_as_test(type(f"Congruence_{own['name']}", (machine,), own), settings=chosen)


@pytest.mark.hbase
@pytest.mark.parametrize(
    ("name", "driver", "scanned"),
    [
        ("thrift1", Thrift2, Thrift2.scanned_rows),
        ("thrift2", Thrift2, Thrift2.scanned_rows),
        ("thrift2", Thrift2, 1),
        ("rpc", RpcDriver, RpcDriver.scanned_rows),
        ("rpc", RpcDriver, 1),
    ],
)
def test_a_store_over_hbase_answers_as_the_model_does(name, driver, scanned, monkeypatch):
    monkeypatch.setattr(driver, "scanned_rows", scanned)
    # HBase takes an empty value for none in a compare-and-set.
    own = {"name": name, "unstamped": ("d",), "stamped": ("m",), "values": Congruence.values[1:]}
    # Shrinking a failure would take a table a step.
    once = {"phases": (Phase.generate,), "derandomize": True, "database": None}

    run(own, max_examples=6, stateful_step_count=20, **once)
