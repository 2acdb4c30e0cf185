"""Requests that a store answers late, twice or never, or that other writers get ahead of: they undo nothing."""

import pickle
from functools import partial
from unittest.mock import Mock

import pytest
from support.bruteforce import entries
from support.late_writers import CHANGES, FIRST, SECOND, WRITERS, beside, found_at
from support.places import index_at
from support.server_doubles import SwappingOnly

from simhash_hbase import LocalIndex, Profile, StoreBusy, StoreTimeout
from simhash_hbase.index.timestamps import ServerClock
from simhash_hbase.rows.keys import document_row, id_digest
from simhash_hbase.rows.layout import STATE_QUALIFIER
from simhash_hbase.stores.memory import MemoryStore

FEW, MANY = 0, 40


class LateStore(SwappingOnly):
    """Executes one change of a document cell late."""

    def __init__(self, store):
        super().__init__(store)
        self.late = self._row = None

    def hold(self, name, *, is_answered):
        """Take the next change of a cell: it is not done yet; or it is done and answered, and will be done again."""
        self._row, self._is_answered = document_row(id_digest(name)), is_answered

    def put(self, family, cells):
        return self._change(cells, partial(self.behind.put, family, cells))

    def compare_and_set(self, swaps):
        return self._change(swaps, partial(self.behind.compare_and_set, swaps))

    def _change(self, cells, call):
        if not any((cell.row, cell.qualifier) == (self._row, STATE_QUALIFIER) for cell in cells):
            return call()
        self._row, self.late = None, call
        if self._is_answered:
            return call()
        raise StoreTimeout("no answer")


@pytest.fixture
def store():
    return LateStore(MemoryStore())


def create(store):
    return LocalIndex.create(store, Profile.resolve(analyzer="shingle", match="distance"))


@pytest.fixture
def index(store):
    return create(store)


ANSWERED = pytest.mark.parametrize("is_answered", [False, True], ids=["unanswered", "twice"])


@pytest.mark.parametrize("change", CHANGES)
@ANSWERED
@pytest.mark.parametrize(("writer", "count"), [(writer, count) for writer in WRITERS for count in (FEW, MANY)])
def test_the_first_write_of_a_document_undoes_nothing_when_late(index, tmp_path, writer, count, is_answered, change):
    store = index.store
    store.hold("a", is_answered=is_answered)
    WRITERS[writer](index, tmp_path / "work", beside("a", count))
    assert store.late is not None
    expected = CHANGES[change](index, "a")
    assert found_at(index, "a") == expected

    store.late()

    assert found_at(index, "a") == expected


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("late", CHANGES)
@ANSWERED
def test_a_change_undoes_nothing_when_it_is_late(index, store, is_answered, late, change):
    index.add_entries(entries({"a": FIRST}))
    store.hold("a", is_answered=is_answered)
    CHANGES[late](index, "a")
    # What the late change expects is written again, as far as that can be.
    index.add_entries(entries({"a": FIRST}))
    expected = CHANGES[change](index, "a")
    index.add_entries(entries({"a": expected or FIRST}))

    store.late()

    assert found_at(index, "a") == (expected or FIRST)


# A later addition has its member above whatever an earlier writer of the document may still delete.
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["put", "put_rows", "delete"])
def test_a_late_change_of_members_or_rows_changes_no_answer(index, store, kind, change):
    calls = Mock(side_effect=getattr(store, kind))
    setattr(store, kind, calls)
    index.add_entries(entries({"a": FIRST}))
    expected = CHANGES[change](index, "a")
    if kind != "put_rows":
        calls.call_args_list = [call for call in calls.call_args_list if call.args[1][0].qualifier != STATE_QUALIFIER]
    last = calls.call_args_list[-1]
    late = partial(getattr(store.behind, kind), *last.args, **last.kwargs)

    late()
    assert found_at(index, "a") == expected

    index.add_entries(entries({"a": FIRST}))
    late()
    assert found_at(index, "a") == FIRST


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_write_that_failed_does_not_replace_one_that_came_after_it(index, store, count, monkeypatch):
    monkeypatch.setattr("simhash_hbase.index.write.LOOK_S", 0.0)
    store.hold("a", is_answered=False)
    with pytest.raises(StoreTimeout):
        index.add_entries(entries(beside("a", count)))
    index.add_entries(entries(beside("a", count) | {"a": SECOND}))
    store.late()
    assert found_at(index, "a") == SECOND


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_claim_that_becomes_pending_late_covers_no_document_that_was_added(index, store, count):
    late = []

    class Rivalled(SwappingOnly):
        """Another writer adds the document before its claim becomes pending."""

        def put(self, family, cells):
            if not late and any(cell.qualifier == STATE_QUALIFIER for cell in cells):
                late.append(lambda: self.behind.put(family, cells))
                index.add_entries(entries(beside("a", count)))
                assert found_at(index, "a") == FIRST
            self.behind.put(family, cells)

    [claimed] = LocalIndex(Rivalled(store.behind)).claim_entries(entries({"a": FIRST}))
    late.pop()()

    assert claimed.is_original
    assert found_at(index, "a") == FIRST


class Hiding(SwappingOnly):
    """Hides what is put in a document cell with a timestamp, as a delete does that is newer."""

    def put(self, family, cells):
        self.behind.put(family, [cell for cell in cells if cell.qualifier != STATE_QUALIFIER or cell.timestamp is None])


def test_documents_whose_first_cells_are_hidden_are_added_all_the_same():
    index = create(Hiding(MemoryStore()))
    written = index.add_entries(entries(beside("a", MANY)))
    assert found_at(index, "a") == FIRST
    assert not any(written.known)
    assert sum(1 for _ in index.export()) == MANY + 1


def test_a_document_that_another_writer_adds_meanwhile_is_known_then(store):
    """Its cell is empty when it is read and holds another text when it is written."""

    class Beaten(SwappingOnly):
        def put_rows(self, rows, *, timestamp):
            if rival := rivals.pop() if rivals else None:
                rival.add_entries(entries({"a": SECOND}))
            self.behind.put_rows(rows, timestamp=timestamp)

    index, rivals = create(Beaten(store.behind)), []
    rivals.append(LocalIndex(SwappingOnly(store.behind)))

    # Behind others: the second attempt is at this one alone.
    index.add_entries(entries(dict(reversed(beside("a", MANY).items()))))

    assert not rivals
    assert found_at(index, "a") == FIRST


OPERATIONS = {
    "add": lambda index: index.add_entries(entries({"b": 1})),
    "move": lambda index: index.add_entries(entries({"a": 2})),
    "remove": lambda index: list(index.remove_many(["a"])),
}
AFTERWARDS = {"add": [0, 1], "move": [2, None], "remove": [None, None]}
READS = ("get",)
WRITES = ("put", "compare_and_set", "delete")


class Silent(SwappingOnly):
    """Has no answer for some calls; writes among them take effect."""

    def __init__(self, store):
        super().__init__(store)
        self.silent, self.silent_after_a_write, self.asked = (), (), []

    def ask(self, name, call):
        self.asked.append("read" if name in READS else "write")
        is_silent = name in self.silent
        if name in WRITES:
            self.silent = self.silent_after_a_write
        answer = call()
        if is_silent:
            raise StoreTimeout("no answer")
        return answer


def _asking(name):
    def call(self, *arguments, **named):
        return self.ask(name, lambda: getattr(self.behind, name)(*arguments, **named))

    return call


for _name in (*READS, *WRITES):
    setattr(Silent, _name, _asking(_name))


@pytest.fixture
def silent():
    behind = MemoryStore()
    LocalIndex.create(behind, Profile.resolve(analyzer="shingle")).add_entries(entries({"a": 0}))
    return Silent(behind)


# Which calls have no answer, which have none after the first write, and what is asked.
UNANSWERED = {
    "a read is the end": (READS, (), ["read"]),
    "a write is looked for, and the look is the end": (WRITES, READS, ["read", "write", "read"]),
    "writes are given up when their time is over": (WRITES, WRITES, ["read", "write"]),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", UNANSWERED)
def test_what_stays_without_an_answer_is_an_error(silent, operation, case, monkeypatch):
    index = LocalIndex(silent, server_clock=ServerClock(SwappingOnly(silent.behind)))
    silent.asked.clear()
    silent.silent, silent.silent_after_a_write, asked = UNANSWERED[case]
    if silent.silent_after_a_write == WRITES:
        monkeypatch.setattr("simhash_hbase.index.write.LOOK_S", 0.0)

    with pytest.raises(StoreTimeout):
        OPERATIONS[operation](index)

    assert silent.asked == asked


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_write_whose_answer_was_lost_is_found_by_the_next_look(silent, operation):
    index = LocalIndex(silent, server_clock=ServerClock(SwappingOnly(silent.behind)))
    silent.silent = WRITES
    OPERATIONS[operation](index)
    found = [stored.simhash if stored else None for stored in index.get_many(["a", "b"])]
    assert found == AFTERWARDS[operation]
    assert index.verify().wrong == 0


class Lost(SwappingOnly):
    """Somebody else has always changed the document before."""

    def compare_and_set(self, swaps):
        return [False] * len(swaps)


@pytest.mark.parametrize("operation", ["move", "remove"])
def test_the_sentence_of_the_error_for_logs_names_no_document(silent, monkeypatch, operation):
    monkeypatch.setattr("simhash_hbase.index.write.FIRST_PAUSE_S", 0)
    with pytest.raises(StoreBusy) as raised:
        OPERATIONS[operation](LocalIndex(Lost(silent.behind)))
    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):
        assert error.sentence == "1 documents kept being changed by others"
        assert str(error) == f"{error.sentence}, 'a' among them"


@pytest.mark.slow
def test_what_another_writer_adds_while_a_batch_is_decided_is_replaced_as_a_whole():
    now = 1_700_000_000_000
    behind = MemoryStore(clock=lambda: now)
    rival = LocalIndex.create(behind, Profile.resolve(analyzer="shingle", match="distance"), clock=lambda: now)
    # With transactions a rival waits until the batch is written.
    index, scan = index_at(SwappingOnly(behind), lambda: now), behind.scan

    def scan_long_after_the_rival_has_written(*arguments, **named):
        nonlocal now
        behind.scan = scan
        now += 1_000
        rival.add_entries(entries({"a": 0xFF << 8, "b": 0xFF << 24}))
        now += 600_000
        return scan(*arguments, **named)

    behind.scan = scan_long_after_the_rival_has_written
    index.dedup_entries(entries({"a": 0xFF << 32, "b": 0xFF << 48, "c": 0}), index.deduplicator())

    assert {stored.id: stored.simhash for stored in index.export()} == {"a": 0xFF << 32, "b": 0xFF << 48, "c": 0}
    assert (index.verify().wrong, index.verify().stale_members) == (0, 0)
