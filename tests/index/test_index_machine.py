"""Any sequence of operations leaves an index that answers like a dictionary searched from end to end."""

import random
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from support.bruteforce import Written, answered, flip, matches, similarity, sketch_near, unmask, written_entries
from support.places import DAY_MS, SERVERLESS_PLACES, Clock, IndexMaker

pytestmark = pytest.mark.slow

BASE = 0x9E3779B97F4A7C15
# Distances from 0 to 6 in one cluster, and the two ends of the number line.
FINGERPRINTS = [*(flip(BASE, range(n)) for n in range(6)), flip(BASE, [40]), flip(BASE, [40, 63, 20]), 0, 7, 2**64 - 1]
SKETCH = random.Random(7).getrandbits(512)
# Two bits in each block: no block row joins it with BASE.
FAR = flip(BASE, [0, 1, 13, 14, 26, 27, 39, 40, 52, 53])
ONE, OTHER, BOTH, NONE = (1, 2), (11, 12), (1, 12), (21, 22)
# The same fingerprint with several sketches, and copies that meet by a sketch row, a block row, both or none.
BANDED = [
    Written(BASE, SKETCH, ONE), Written(BASE, sketch_near(SKETCH, 30), OTHER), Written(BASE, None, (0, 0)),
    Written(FAR, sketch_near(SKETCH, 20), BOTH), Written(FAR, SKETCH, NONE), Written(FAR, sketch_near(SKETCH, 90), ONE),
    Written(flip(FAR, [1]), SKETCH, OTHER), Written(flip(BASE, range(9)), SKETCH, ONE),
    Written(~BASE % 2**64, SKETCH, ONE), Written(flip(BASE, range(4)), None, (0, 0)),
]  # fmt: skip
# The same with texts: each has a digest, but the last two.
TEXTS = [one._replace(digest=bytes([number]) * 16) for number, one in enumerate(BANDED[:-2], 1)] + BANDED[-2:]
IDS = [f"document {i}" for i in range(7)]
TTL_DAYS = 10
GRACE_MS = 3_600_000
# A claim takes a millisecond more each time that it reads the clock; all other times are multiples of this.
STEP_MS = 1_000


@dataclass(frozen=True)
class Held:
    """The model's knowledge of an id."""

    text: Written
    is_original: bool
    seen: int
    order: int
    decision: tuple
    source: int | None = None  # The metadata that a duplicate was decided with.
    of_text: Written | None = None  # The text that a duplicate's original had then.
    is_lost: bool = False  # Whether its original was removed since, and the list of copies with it.


class Model:
    """A dictionary of the written documents, and the rules of matching over all of them."""

    def __init__(self, clock, rule, ttl_days):
        self._clock = clock
        self._rule = rule
        self._ttl_days = ttl_days
        self.held = {}
        self._count = 0

    @property
    def oldest(self):
        return 0 if self._ttl_days is None else self._clock() - self._ttl_days * DAY_MS

    def shown(self):
        return {name: held for name, held in self.held.items() if held.seen >= self.oldest}

    def originals(self):
        return {name: held for name, held in self.shown().items() if held.is_original}

    def _near(self, text, *, without=None):
        """All originals that the rule accepts, as the index ranks them for a decision."""
        return sorted(
            (*apart(text, held.text), held.order, name)
            for name, held in self.originals().items()
            if name != without and matches(text, held.text, self._rule)
        )

    def neighbours(self, text):
        ranked = sorted((distance, unlike, name) for distance, unlike, _, name in self._near(text))
        return [(name, distance) for distance, _, name in ranked]

    def add(self, name, text):
        old = self.held.get(name)
        if old is not None and old.is_original and old.text.is_same(text) and old.seen >= self.oldest:
            self.held[name] = replace(old, text=text, seen=self._clock())
        else:
            self._keep(name, text)

    def _keep(self, name, text):
        self._count += 1
        self.held[name] = Held(text, True, self._clock(), self._count, (name, True, None, None))

    def decide(self, name, text, source):
        old = self.held.get(name)
        if old is not None and old.text.is_same(text) and old.seen >= self.oldest:
            self._see(name)
            original = self.originals().get(old.decision[2])
            if original is not None and old.of_text.is_same(original.text):
                self._see(old.decision[2])
            return old.decision
        if near := self._near(text, without=name):
            distance, _, _, of = near[0]
            decision = (name, False, of, distance)
            self.held[name] = Held(text, False, self._clock(), 0, decision, source, self.held[of].text)
            self._see(of)
        else:
            self._keep(name, text)
        return self.held[name].decision

    def _see(self, name):
        """Note that a document was offered again or named, if it was not seen for a tenth of its time to live."""
        held = self.held.get(name)
        if self._ttl_days and held and self.oldest <= held.seen < self._clock() - self._ttl_days * DAY_MS // 10:
            self.held[name] = replace(held, seen=self._clock())

    def remove(self, name):
        removed = self.held.pop(name, None)
        if removed is not None and removed.is_original:
            for one, held in self.held.items():
                if held.decision[2] == name:
                    self.held[one] = replace(held, is_lost=True)

    def copies(self, name):
        """Give the original, and of each copy id, distance, source, and whether the original has another text now."""
        held = self.held.get(name)
        if held is None or held.seen < self.oldest:
            return None
        of = name if held.is_original else held.decision[2]
        original = self.originals().get(of)
        copies = [(one, copy) for one, copy in self.shown().items() if copy.decision[2] == of]
        return of, [
            (one, copy.decision[3], copy.source, not copy.of_text.is_same(original.text))
            for one, copy in (copies if original else ())
        ]

    def lost(self):
        return {name for name, held in self.held.items() if held.is_lost}

    def vacuum(self):
        self.held = self.shown()


def apart(one, other):
    """Measure two texts: distance, and similarity downwards."""
    alike = similarity(one.sketch, other.sketch)
    return (one.simhash ^ other.simhash).bit_count(), 1.0 if alike is None else -alike


documents = st.dictionaries(st.sampled_from(IDS), st.integers(0, 10), min_size=1, max_size=5)


class IndexMachine(RuleBasedStateMachine):
    """Does the same to an index and to the model."""

    place = "memory"
    texts = tuple(map(Written, FINGERPRINTS))
    ttl_days = TTL_DAYS
    options: ClassVar = {}

    def batches(self, numbers):
        return {name: self.texts[number % len(self.texts)] for name, number in numbers.items()}

    def entries(self, texts):
        self.source += 1
        made = written_entries(texts, self.index.profile.bands)
        return replace(made, metadata=[{"source": self.source}] * len(made))

    @initialize()
    def create(self):
        self.source = 0
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.make = IndexMaker(SERVERLESS_PLACES[self.place](Path(self.folder.name), self.clock), self.clock)
        self.index = self.make(ttl_days=self.ttl_days, grace_s=GRACE_MS / 1000, **self.options)
        self.models = {name: Model(self.clock, self.index.profile.rule, self.ttl_days) for name in (None, "a", "b")}
        self.model = self.models[None]

    @rule(numbers=documents)
    def add(self, numbers):
        batch = self.batches(numbers)
        self.clock.advance(ms=STEP_MS)
        self.index.add_entries(self.entries(batch))
        for name, text in batch.items():
            self.model.add(name, text)

    @rule(numbers=documents)
    def dedup(self, numbers):
        self.check_decisions(numbers, lambda made: self.index.dedup_entries(made, self.index.deduplicator()))

    @rule(numbers=documents)
    def claim(self, numbers):
        self.check_decisions(numbers, self.index.claim_entries)

    def check_decisions(self, numbers, decide):
        batch = self.batches(numbers)
        self.clock.advance(ms=STEP_MS)
        shown = [(d.id, d.is_original, d.of, d.distance) for d in decide(self.entries(batch))]
        assert shown == [self.model.decide(name, text, self.source) for name, text in batch.items()]

    @rule(ids=st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True))
    def remove(self, ids):
        shown = self.model.shown()
        assert dict(self.index.remove_many(ids)) == {name: name in shown for name in ids}
        for name in ids:
            self.model.remove(name)

    @rule(days=st.sampled_from([0.001, 1, TTL_DAYS / 2, TTL_DAYS - 0.01, TTL_DAYS + 0.01]))
    def time_passes(self, days):
        self.clock.advance(days=days)

    @rule()
    def vacuum(self):
        # An index gives no time twice: without a step, a second vacuum is a millisecond ahead of the model.
        self.clock.advance(ms=STEP_MS)
        self.index.vacuum(yes=True)
        for model in self.models.values():
            model.vacuum()

    @rule()
    def reopen(self):
        self.index = self.make.reopen(self.index)

    @rule(repair=st.booleans())
    def verify(self, repair):
        verified = self.index.verify(repair=repair)
        assert (verified.wrong, verified.repaired) == (0, 0)
        assert not verified.missing_copies or any(model.lost() for model in self.models.values())
        assert verified.duplicates <= sum(len(model.held) for model in self.models.values())

    @rule(limit=st.integers(1, 3), number=st.integers(0, 10))
    def query_a_few(self, limit, number):
        simhash = self.texts[number % len(self.texts)].simhash
        answer = self.index.query_simhash(simhash, limit=limit)
        expected = self.model.neighbours(Written(simhash))
        assert answered(answer) == expected[:limit]
        assert answer.truncated == (len(expected) > limit)

    @invariant()
    def copies_are_those_of_the_model(self):
        lost = self.model.lost()
        for name in IDS:
            found, expected = self.index.copies(name), self.model.copies(name)
            if expected is None:
                assert found is None
                continue
            of, copies = expected
            sources = {one: (source, None) if one in lost else (source,) for one, _, source, _ in copies}
            listed = {copy.id: (copy.distance, copy.of_removed) for copy in found.copies}
            assert (found.of, listed.keys() | lost, found.count) == (of, sources.keys() | lost, len(listed))
            assert listed == {one: (bits, has_moved) for one, bits, _, has_moved in copies if one in listed}
            assert all((copy.metadata and copy.metadata["source"]) in sources[copy.id] for copy in found.copies)

    @invariant()
    def queries_find_what_the_model_finds(self):
        asked = {f"query {number}": text for number, text in enumerate(self.texts)}
        answers = self.index.query_entries(self.entries(asked))
        assert [answered(a) for a in answers] == [self.model.neighbours(text) for text in self.texts]

    @invariant()
    def what_has_not_expired_is_exported_and_got(self):
        shown = {name: (held.text.simhash, held.is_original) for name, held in self.model.shown().items()}
        for every in (self.index.export(), filter(None, self.index.get_many(IDS))):
            assert {stored.id: (stored.simhash, stored.state != "duplicate") for stored in every} == shown

    def teardown(self):
        if hasattr(self, "make"):
            self.make.close()
            self.folder.cleanup()


class BandedMachine(IndexMachine):
    """The same with sketches and sketch rows."""

    texts = tuple(BANDED)
    options: ClassVar = {"match": "verified", "bands": 2}

    @rule()
    def no_row_stays(self):
        """Vacuum after the grace period: what is left are the rows of what is there."""
        self.clock.advance(ms=GRACE_MS + STEP_MS)
        self.vacuum()
        self.clock.advance(ms=STEP_MS)
        self.index.vacuum(yes=True)
        left = self.index.verify()
        assert (left.wrong, left.stale_members, left.orphan_rows, left.stale_copies) == (0, 0, 0, 0)


class TextMachine(BandedMachine):
    """The same with texts, some of which have the same fingerprint, and which do not expire."""

    texts = tuple(TEXTS)
    ttl_days = None


class CollectionMachine(TextMachine):
    """The same in one of three collections at a time, all of which have their documents in the same rows."""

    ttl_days = TTL_DAYS

    @initialize()
    def create(self):
        super().create()
        self.whole = self.index
        self.enter(None)

    @rule(name=st.sampled_from((None, "a", "b")))
    def enter(self, name):
        self.name, self.model = name, self.models[name]
        self.index = self.whole.in_collection(name)
        unmask(self.index)

    @rule()
    def reopen(self):
        self.whole = self.make.reopen(self.whole)
        self.enter(self.name)


# Claims go two ways, with transactions and without: both have all machines. Elsewhere are the least and the largest.
KINDS = [IndexMachine, BandedMachine, TextMachine, CollectionMachine]
MACHINES = [
    (place, kind)
    for place in SERVERLESS_PLACES
    for kind in (KINDS if place in ("memory", "swapping") else (IndexMachine, CollectionMachine))
]


@pytest.mark.parametrize(("place", "kind"), MACHINES)
def test_any_sequence_of_operations_leaves_right_answers(place, kind):
    machine = type("Machine", (kind,), {"place": place})
    slowly = [HealthCheck.too_slow]
    checked = settings(max_examples=15, stateful_step_count=40, deadline=None, suppress_health_check=slowly)
    run_state_machine_as_test(machine, settings=checked)
