"""One look at the neighbours, case by case: own state, neighbour's cell, decision."""

import msgspec
import pytest
from support.bruteforce import entries
from support.server_doubles import SwappingOnly

from simhash_hbase import Profile
from simhash_hbase.index.claim.machine import Claim, ClaimBatch, Neighbour, Step, Timer, Watched, as_pending
from simhash_hbase.index.claim.protocol import look
from simhash_hbase.index.documentrows import read_states
from simhash_hbase.rows.documentcells import DocumentState, Text, encode
from simhash_hbase.rows.keys import document_row, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.memory import MemoryStore

OWN, NEAR, OTHER = 0b1111, 0b1110, 0xFF00
NOW = 10 * 86_400_000
DAY_MS = 86_400_000
ORDER = (100, 5)
EARLIER, LATER = (100, 4), (100, 6)


class Scene:
    """A claim that looks at neighbours whose cells a test writes."""

    def __init__(self, state):
        self.seconds = 0.0
        self.store = SwappingOnly(MemoryStore(clock=lambda: NOW))
        profile = Profile.resolve(analyzer="shingle", match="distance", ttl_days=1, lease_s=30.0)
        own = DocumentState("me", OWN, state, seen=NOW, stamp=NOW, order=ORDER, token=b"own")
        self.write(own)
        self.claim = Claim(
            0, "me", Text(OWN), ORDER, token=b"own", step=Step.LOOK, state=own, value=encode(own, checksum=True)
        )
        timer = Timer(lambda: self.seconds, None)
        batch = entries({"me": OWN, "other": OWN})
        self.run = ClaimBatch(self.store, profile, batch, lambda: NOW, timer, Watched(30.0, timer), [self.claim])

    def write(self, state):
        self.store.put(
            FAMILY_DOCUMENTS, [Cell(document_row(id_digest(state.id)), STATE_QUALIFIER, encode(state, checksum=True))]
        )

    def neighbour(self, state, *, name="n", simhash=NEAR, distance=1, **fields):
        if state is not None:
            self.write(DocumentState(name, simhash, state, **{"seen": NOW, "stamp": NOW, "order": EARLIER, **fields}))
        self.claim.near.append(Neighbour(name, Text(NEAR), distance, None, None))

    def look(self):
        """Look once; tell what became of the own cell, and in whose favour."""
        look(self.run, [self.claim])
        [(own, _)] = read_states(self.store, ["me"])
        return own.state, own.of, self.claim.step

    def state_of(self, name):
        [held] = read_states(self.store, [name])
        return held[0].state


def decision(simhash=NEAR, *, state="original"):
    return DocumentState("n", simhash, state, seen=NOW, stamp=NOW)


HERE, ELSEWHERE, COPY = decision(), decision(OTHER), decision(state="duplicate")


# What is seen of a neighbour; what becomes of a claim that is pending, and of one that gave way and waits for it.
NEIGHBOURS = {
    "no cell": (None, {}, "original", "pending"),
    "original": ("original", {}, "duplicate", "duplicate"),
    "added": ("added", {}, "duplicate", "duplicate"),
    "original, later": ("original", {"order": LATER}, "duplicate", "duplicate"),
    "original elsewhere": ("original", {"simhash": OTHER}, "original", "pending"),
    "original, seen at the last moment": ("original", {"seen": NOW - DAY_MS}, "duplicate", "duplicate"),
    "original, expired": ("original", {"seen": NOW - DAY_MS - 1}, "pending", "pending"),
    "duplicate": ("duplicate", {}, "original", "pending"),
    "aborted": ("aborted", {}, "original", "pending"),
    "removed": ("removed", {}, "original", "pending"),
    "yielded before": ("yielded", {}, "original", "yielded"),
    "yielded after": ("yielded", {"order": LATER}, "original", "pending"),
    "pending before": ("pending", {}, "yielded", "yielded"),
    "pending after": ("pending", {"order": LATER}, "pending", "pending"),
    "pending elsewhere": ("pending", {"simhash": OTHER}, "original", "pending"),
    "pending elsewhere, original here": ("pending", {"simhash": OTHER, "previous": HERE}, "duplicate", "duplicate"),
    "pending elsewhere, duplicate here": ("pending", {"simhash": OTHER, "previous": COPY}, "original", "pending"),
    "pending here, original elsewhere": ("pending", {"previous": ELSEWHERE}, "yielded", "yielded"),
    "yielded elsewhere, original here": ("yielded", {"simhash": OTHER, "previous": HERE}, "duplicate", "duplicate"),
}


@pytest.mark.parametrize("waits", [False, True], ids=["pending", "yielded"])
@pytest.mark.parametrize("case", NEIGHBOURS)
def test_a_claim_looks_at_a_neighbour_before_or_after_it_gave_way(case, waits):
    state, options, *expected = NEIGHBOURS[case]
    scene = Scene("yielded" if waits else "pending")
    scene.neighbour(state, **options)
    if waits:
        [scene.claim.awaited] = scene.claim.near

    own, of, step = scene.look()

    assert (own, of) == (expected[waits], "n" if own == "duplicate" else None)
    assert (scene.claim.answer is not None) == (own in ("original", "duplicate"))
    assert step is (Step.WRITE if waits and own == "pending" else Step.LOOK)


def test_of_several_originals_the_first_by_distance_then_by_time_is_named():
    scene = Scene("pending")
    for name, order, distance in (("late", (90, 0), 1), ("early", (80, 0), 1), ("far", (70, 0), 2)):
        scene.neighbour("original", name=name, order=order, distance=distance)
    assert scene.look()[:2] == ("duplicate", "early")


def test_a_pending_claim_gives_way_to_the_first_of_those_before_it():
    scene = Scene("pending")
    for name, order in (("second", (100, 3)), ("first", (100, 2)), ("third", EARLIER)):
        scene.neighbour("pending", name=name, order=order)
    assert scene.look()[0] == "yielded"
    assert scene.claim.awaited.id == "first"


def test_equal_orders_are_told_apart_by_the_digest_of_the_id():
    for name in ("n", "m", "k", "j"):
        scene = Scene("pending")
        scene.neighbour("pending", name=name, order=ORDER)
        gives_way = scene.look()[0] == "yielded"
        assert gives_way == (id_digest(name) < id_digest("me"))


@pytest.mark.parametrize("passed_s", [29.9, 30.0])
def test_a_claim_that_came_later_is_set_aside_after_a_lease(passed_s):
    scene = Scene("pending")
    scene.neighbour("pending", order=LATER)
    assert scene.look()[0] == "pending"
    scene.seconds = passed_s
    assert scene.look()[0] == "pending"
    after = scene.look()[0]
    assert (scene.state_of("n"), after) == (("aborted", "original") if passed_s == 30.0 else ("pending", "pending"))


def test_an_original_that_has_expired_is_removed_before_it_is_no_obstacle():
    scene = Scene("pending")
    scene.neighbour("original", seen=NOW - DAY_MS - 1)
    first = scene.look()
    assert (first[0], scene.state_of("n")) == ("pending", "removed")
    assert scene.look()[0] == "original"


def test_a_claim_whose_original_goes_before_it_is_refreshed_looks_again():
    scene = Scene("pending")
    scene.neighbour("original", seen=NOW - DAY_MS // 2)
    swap = scene.store.compare_and_set

    def swap_too_late(swaps):
        scene.store.compare_and_set = swap
        scene.write(decision(state="removed"))
        return swap(swaps)

    scene.store.compare_and_set = swap_too_late

    assert scene.look()[0] == "pending"
    assert scene.look()[0] == "original"


@pytest.mark.parametrize("state", ["removed", "pending", "original", None])
def test_a_claim_that_lacks_neighbours_looks_again_unless_there_is_an_original(state):
    scene = Scene("pending")
    scene.neighbour(state)
    scene.claim.is_partial = True
    again = ("pending", None, Step.QUERY_AGAIN)
    assert scene.look() == (("duplicate", "n", Step.LOOK) if state == "original" else again)


@pytest.mark.parametrize(("passed_s", "left"), [(29.9, "pending"), (30.0, "aborted")])
def test_one_that_a_claim_gave_way_to_is_set_aside_after_a_lease(passed_s, left):
    scene = Scene("yielded")
    scene.neighbour("pending")
    [scene.claim.awaited] = scene.claim.near
    assert scene.look()[0] == "yielded"
    scene.seconds = passed_s
    scene.look()
    assert scene.state_of("n") == left


def test_a_claim_that_waits_for_nobody_stands_again():
    scene = Scene("yielded")
    scene.neighbour("original")
    assert scene.look()[0] == "pending"


def test_claims_of_one_batch_are_judged_each_by_its_own_neighbours():
    scene = Scene("pending")
    scene.neighbour("original")
    other = Claim(1, "other", Text(OWN), LATER, token=b"o", step=Step.LOOK)
    other.state = DocumentState("other", OWN, "pending", seen=NOW, stamp=NOW, order=LATER, token=b"o")
    other.value = encode(other.state, checksum=True)
    scene.write(other.state)

    look(scene.run, [scene.claim, other])

    assert (scene.state_of("me"), scene.state_of("other")) == ("duplicate", "original")


@pytest.mark.parametrize(("state", "of", "seen"), [("original", None, NOW), ("duplicate", "near", NOW - DAY_MS // 2)])
def test_a_document_that_is_offered_with_another_text_does_not_expire_as_an_original(state, of, seen):
    before = DocumentState("me", NEAR, state, seen=NOW - DAY_MS // 2, stamp=5, of=of)
    pending = as_pending(Claim(0, "me", Text(OWN), ORDER, state=before), now=NOW, oldest=NOW - DAY_MS)
    assert pending.previous == msgspec.structs.replace(before, seen=seen)
