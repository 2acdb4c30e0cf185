"""The contract of stores with transactions."""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from support.rows import all_cells, all_pairs, found_by, rows_of

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.stores.base import Cell, Swap, Transactional, atomically


@pytest.fixture
def store(make_store):
    """Return a store with transactions; see `conftest.LACKS`."""
    made = make_store()
    assert isinstance(made, Transactional)
    return made


def change_everything(store):
    store.put_rows(rows_of((1, 1), (2, 2)), timestamp=1)
    store.delete_rows(rows_of((9, 9)), timestamp=1)
    store.put("d", [Cell(b"new", b"s", b"v", 5), Cell(b"old", b"s", b"w", 6)])
    store.delete("d", [Cell(b"gone", b"s", b"", 9)])
    store.compare_and_set([Swap(b"swap", b"s", None, b"x")])


def fill(store):
    store.put_rows(rows_of((9, 9)), timestamp=1)
    store.put("d", [Cell(b"gone", b"s", b"v", 5), Cell(b"old", b"s", b"v", 5)])


def state(store):
    return all_pairs(store), [(cell.row, cell.value) for cell in all_cells(store)]


AFTER = ([(1, 1), (2, 2)], [(b"new", b"v"), (b"old", b"w"), (b"swap", b"x")])


def test_what_a_transaction_wrote_is_kept_and_seen_inside(store):
    fill(store)
    with atomically(store):
        change_everything(store)
        assert state(store) == AFTER

    assert state(store) == AFTER


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, FileNotFoundError])
def test_an_exception_takes_back_everything_and_is_passed_on_as_it_is(store, error):
    fill(store)
    before = state(store)

    def change_and_fail():
        change_everything(store)
        raise error

    with pytest.raises(error), store.transaction():
        change_and_fail()

    assert state(store) == before
    store.put_rows(rows_of((3, 3)), timestamp=1)
    assert found_by(store, 3) == [(3, 3)]


def test_transactions_do_not_nest(store):
    with store.transaction():
        store.put_rows(rows_of((1, 1)), timestamp=1)
        with pytest.raises(InvalidArgument, match="nest"), store.transaction():
            pass

    assert all_pairs(store) == [(1, 1)]


def test_another_thread_never_sees_a_transaction_half_done(store):
    with ThreadPoolExecutor(1) as threads, store.transaction():
        store.put_rows(rows_of((1, 1)), timestamp=1)
        look = threads.submit(lambda: [len(found_by(store, 1)) for _ in range(20)])
        wait([look], timeout=0.05)
        store.put_rows(rows_of((1, 2)), timestamp=1)

    assert set(look.result()) <= {0, 2}


def test_another_thread_waits_to_write(store):
    order = []

    def write():
        store.put_rows(rows_of((1, 2)), timestamp=1)
        order.append("other")

    with ThreadPoolExecutor(1) as threads, store.transaction():
        wait([threads.submit(write)], timeout=0.05)
        order.append("transaction")

    assert order == ["transaction", "other"]
