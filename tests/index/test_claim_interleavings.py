"""Claimers step by step: a store without transactions, every call of it a point where another one may act."""

from contextlib import closing
from functools import partial
from itertools import product
from random import Random

import pytest
from support.bruteforce import BASE, FAR, entries
from support.places import Rpc
from support.server_doubles import SwappingOnly
from support.stepping import Stage

from simhash_hbase import ClaimContended, LocalIndex, Profile
from simhash_hbase.index.claim.machine import renewed
from simhash_hbase.index.documentrows import read_states
from simhash_hbase.rows.documentcells import FOUND_STATES, DocumentState, decode_document, encode
from simhash_hbase.rows.keys import document_row, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.memory import MemoryStore

LEASE_S = 30.0


@pytest.fixture
def stage():
    made = Stage(MemoryStore(clock=lambda: made.now_ms))
    LocalIndex.create(made.store, Profile.resolve(analyzer="shingle", match="distance", lease_s=LEASE_S))
    yield made
    made.close()


def told(result):
    return [claimed.is_original or claimed.of for claimed in result]


def steps_of_a_claim():
    """Count the calls that a claim of one new document makes when it is alone."""
    stage = Stage(MemoryStore())
    LocalIndex.create(stage.store, Profile.resolve(analyzer="shingle", match="distance"))
    actor = stage.claim("alone", entries({"a": BASE}))
    stage.finish()
    return len(actor.calls)


CALLS = steps_of_a_claim()


def begin(stage, steps, documents, *, lost=None):
    """Let a claimer do so many steps, or fewer if it has no more; the answers to one kind of call may be lost."""
    actor = stage.claim("first", entries(documents))
    for _ in range(steps):
        if not actor.is_done:
            actor.step("lose" if actor.waits_for == lost else None)
    return actor


def check(stage, ids):
    """Check what is stored: originals out of each other's reach, duplicates within reach of theirs."""
    index = stage.index(SwappingOnly(stage.store))
    held = {stored.id: stored for stored in index.export()}
    originals = {name: stored.simhash for name, stored in held.items() if stored.state in FOUND_STATES}
    assert set(held) == set(ids)
    for name, stored in held.items():
        near = [other for other, s in originals.items() if (s ^ stored.simhash).bit_count() <= 3]
        assert near == [name] if name in originals else stored.of in near
    verified = index.verify()
    assert (verified.missing_members, verified.incomplete, verified.undecided) == (0, 0, 0)


@pytest.mark.parametrize("steps", range(CALLS + 1))
def test_of_two_near_copies_one_becomes_the_original_wherever_the_other_comes_in(stage, steps):
    first = begin(stage, steps, {"a": BASE})
    second = stage.claim("second", entries({"b": BASE ^ 1}), clock_ms=-60_000)
    stage.finish()
    assert sorted(map(str, told(first.result) + told(second.result))) in (["True", "a"], ["True", "b"])
    check(stage, "ab")


@pytest.mark.parametrize("second_steps", range(CALLS + 1))
@pytest.mark.parametrize("first_steps", range(CALLS + 1))
def test_two_claimers_of_one_id_get_one_decision(stage, first_steps, second_steps):
    first, second = begin(stage, first_steps, {"a": BASE}), begin(stage, second_steps, {"a": BASE})
    stage.finish()
    assert told(first.result) == told(second.result) == [True]
    check(stage, "a")


@pytest.mark.hbase
def test_two_claimers_without_a_gateway_agree_wherever_the_other_comes_in():
    """They share a table: at each step, with another fingerprint, and once more with lost answers."""
    with closing(Rpc(None, None).create()) as store:
        stage, originals = Stage(store), Random(45)
        LocalIndex.create(store, Profile.resolve(analyzer="shingle", match="distance", lease_s=LEASE_S))
        ids = []
        for steps, lost in product(range(CALLS + 1), (None, "compare_and_set")):
            base, a, b = originals.getrandbits(64), f"a{steps} {lost}", f"b{steps} {lost}"
            first = begin(stage, steps, {a: base}, lost=lost)
            second = stage.claim("second", entries({b: base ^ 1}), clock_ms=-60_000)
            stage.finish()
            ids += [a, b]

            assert sorted(map(str, told(first.result) + told(second.result))) in (["True", a], ["True", b])
        check(stage, ids)


@pytest.mark.parametrize("steps", range(1, CALLS + 1))
def test_a_crash_at_any_step_blocks_a_near_copy_for_a_lease_at_most(stage, steps):
    begin(stage, steps - 1, {"a": BASE}).step("kill")
    other = stage.claim("other", entries({"b": BASE ^ 1}))

    stage.finish()

    [answer] = told(other.result)
    assert answer in (True, "a")
    assert stage.seconds < LEASE_S + 2
    again = stage.claim("again", entries({"a": BASE}))
    stage.finish()
    assert told(again.result) == (["b"] if answer is True else [True])
    check(stage, "ab")


@pytest.mark.parametrize("steps", range(1, CALLS + 1))
def test_a_lost_answer_of_a_compare_and_set_is_looked_up(stage, steps):
    claimer = stage.claim("claimer", entries({"a": BASE, "b": FAR}))
    for _ in range(steps):
        claimer.step("lose" if claimer.waits_for == "compare_and_set" else None)
    other = stage.claim("other", entries({"c": BASE ^ 1}))
    stage.finish()

    answers = dict(zip("abc", told(claimer.result) + told(other.result), strict=True))
    assert answers["b"] is True
    assert {str(answers["a"]), str(answers["c"])} in ({"True", "a"}, {"True", "c"})
    check(stage, "abc")


def change(store, name, changed):
    [(state, value)] = read_states(store, [name])
    swap = Swap(document_row(id_digest(name)), STATE_QUALIFIER, value, encode(changed(state), checksum=True))
    assert store.compare_and_set([swap]) == [True]


def until(actor, call):
    while actor.waits_for != call:
        actor.step()


def until_written(actor):
    """Let a claimer go on until others can find it."""
    while "put_rows" not in actor.calls:
        actor.step()


def test_a_request_that_is_executed_long_after_it_was_given_up_changes_nothing(stage):
    """B asks to become an original, gives way, stands again; meanwhile C has become one; then B's request arrives."""
    a, b, c = BASE ^ 0b111, BASE, BASE ^ 0b111000
    second = stage.claim("second", entries({"b": b}), clock_ms=1)
    until_written(second)
    until(second, "compare_and_set")
    first = stage.claim("first", entries({"a": a}))
    until_written(first)
    second.step("delay")
    until(second, "sleep")
    assert read_states(stage.store, ["b"])[0][0].state == "yielded"
    first.step("kill")
    change(stage.store, "a", DocumentState.abandoned)
    third = stage.claim("third", entries({"c": c}), clock_ms=2)
    until(third, "compare_and_set")
    while read_states(stage.store, ["b"])[0][0].state != "pending":
        second.step()
    third.step()

    second.late.popleft()()
    stage.finish(second, third)

    assert told(third.result) + told(second.result) == [True, "c"]
    check(stage, "bc")


def test_live_claimers_are_waited_for_however_long_they_wait_themselves(stage):
    blocker = stage.claim("blocker", entries({"z": BASE ^ 1}), clock_ms=1_000)
    until_written(blocker)
    pending = stage.claim("pending", entries({"a": BASE}))
    yielded = stage.claim("yielded", entries({"b": BASE ^ 0b1110}), clock_ms=2_000)
    for actor in (pending, yielded):
        until(actor, "sleep")
    before = read_states(stage.store, ["a", "b"])

    for _ in range(40):
        stage.advance(LEASE_S / 8)
        change(stage.store, "z", partial(renewed, now=0))
        for actor in (pending, yielded) * 8:
            actor.step()
    after = read_states(stage.store, ["a", "b"])
    stage.finish(pending, yielded)

    assert [state.state for state, _ in after] == ["pending", "yielded"]
    assert [state.token for state, _ in after] == [state.token for state, _ in before]
    assert told(pending.result) + told(yielded.result) == [True, "a"]
    stage.finish()
    assert told(blocker.result) == ["a"]
    check(stage, "abz")


class Meddling(SwappingOnly):
    """Removes each document just before a claim of it is decided, so many times."""

    left = 0

    def compare_and_set(self, swaps):
        if self.left and swaps:
            self.left -= 1
            changes = [(swap, decode_document(swap.value)) for swap in swaps]
            gone = [
                (s, encode(DocumentState(d.id, 0, "removed", self.left, d.stamp), checksum=True)) for s, d in changes
            ]
            self.behind.put(FAMILY_DOCUMENTS, [Cell(swap.row, swap.qualifier, value) for swap, value in gone])
        return super().compare_and_set(swaps)


@pytest.mark.parametrize("times", [4, 5])
def test_after_five_attempts_that_others_spoiled_a_claim_is_contended(stage, times):
    store = Meddling(stage.store)
    index = stage.index(store)
    store.left = times

    [claimed] = index.claim_entries(entries({"a": BASE}))

    assert isinstance(claimed, ClaimContended) == (times == 5)
    assert "5 attempts failed" in str(claimed) if times == 5 else claimed.is_original
    # What is left of the attempts alarms nobody, and the next one is decided.
    assert index.verify().wrong == 0
    assert told(index.claim_entries(entries({"a": BASE}))) == [True]
    check(stage, "a")


def test_a_claim_gives_up_at_its_deadline_only_what_is_undecided(stage):
    crashed = stage.claim("crashed", entries({"a": BASE}))
    until_written(crashed)
    until(crashed, "get")
    waiting = stage.claim("waiting", entries({"b": BASE ^ 1, "c": FAR}), deadline_s=LEASE_S / 3)

    stage.finish(waiting)

    contended, original = waiting.result
    assert isinstance(contended, ClaimContended)
    assert "'b' was not decided within 10 s" in str(contended)
    assert original.is_original
    crashed.step("kill")


@pytest.mark.parametrize("steps", range(1, CALLS + 4))
def test_a_crashed_move_returns_to_the_decision_before_it(stage, steps):
    index = stage.index(SwappingOnly(stage.store))
    index.claim_entries(entries({"a": BASE, "copy": BASE ^ 1}))
    mover = begin(stage, steps - 1, {"a": FAR})
    if not mover.is_done:
        mover.step("kill")

    claimed = index.claim_entries(entries({"near old": BASE ^ 3, "near new": FAR ^ 1}))

    assert told(claimed) == (["a", True] if index.get("a").simhash == BASE else [True, "a"])
    assert index.get("a").state == "original"


def test_two_batches_in_opposite_order_do_not_block_each_other(stage):
    one = stage.claim("one", entries({"a": BASE, "b": FAR}))
    two = stage.claim("two", entries({"c": FAR ^ 1, "d": BASE ^ 1}))
    stage.finish()
    assert told(one.result).count(True) + told(two.result).count(True) == 2
    assert stage.seconds < LEASE_S
    check(stage, "abcd")
