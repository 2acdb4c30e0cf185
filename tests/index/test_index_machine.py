"""Any sequence of operations leaves an index that answers like a dictionary searched from end to end."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from bruteforce import ALL_BITS, answered, entries, flip
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from places import CLAIMING_PLACES, DAY_MS, Clock, IndexMaker

BASE = 0x9E3779B97F4A7C15
# Distances from 0 to 6 in one cluster, and the two ends of the number line.
FINGERPRINTS = [*(flip(BASE, range(n)) for n in range(6)), flip(BASE, [40]), flip(BASE, [40, 63, 20]), 0, 7, ALL_BITS]
IDS = [f"document {i}" for i in range(7)]
K = 3
TTL_DAYS = 10
GRACE_MS = 3_600_000

documents = st.dictionaries(st.sampled_from(IDS), st.sampled_from(FINGERPRINTS), min_size=1, max_size=5)


@dataclass(frozen=True)
class Held:
    """What the model knows of an id."""

    simhash: int
    is_original: bool
    seen: int
    order: int
    decision: tuple


class Model:
    """A dictionary of what was written, and the rules of DESIGN over all of it."""

    def __init__(self, clock):
        self._clock = clock
        self.held = {}
        self._count = 0

    @property
    def oldest(self):
        return self._clock() - TTL_DAYS * DAY_MS

    def originals(self):
        return {name: held for name, held in self.held.items() if held.is_original and held.seen >= self.oldest}

    def neighbours(self, simhash):
        near = [(name, (held.simhash ^ simhash).bit_count()) for name, held in self.originals().items()]
        return sorted(((name, d) for name, d in near if d <= K), key=lambda pair: (pair[1], pair[0]))

    def add(self, name, simhash):
        old = self.held.get(name)
        if old is not None and old.is_original and old.simhash == simhash and old.seen >= self.oldest:
            self.held[name] = replace(old, seen=self._clock())
        else:
            self._keep(name, simhash)

    def _keep(self, name, simhash):
        self._count += 1
        self.held[name] = Held(simhash, True, self._clock(), self._count, (name, True, None, None))

    def decide(self, name, simhash):
        old = self.held.get(name)
        if old is not None and old.simhash == simhash and old.seen >= self.oldest:
            self._see(name)
            self._see(old.decision[2])
            return old.decision
        originals = {other: held for other, held in self.originals().items() if other != name}
        near = [((held.simhash ^ simhash).bit_count(), held.order, other) for other, held in originals.items()]
        if not near or min(near)[0] > K:
            self._keep(name, simhash)
        else:
            distance, _, of = min(near)
            self.held[name] = Held(simhash, False, self._clock(), 0, (name, False, of, distance))
            self._see(of)
        return self.held[name].decision

    def _see(self, name):
        """Note that a document was offered again or named, if it was not seen for a tenth of its time to live."""
        held = self.held.get(name)
        if held is not None and self.oldest <= held.seen < self._clock() - TTL_DAYS * DAY_MS // 10:
            self.held[name] = replace(held, seen=self._clock())

    def remove(self, name):
        self.held.pop(name, None)

    def vacuum(self):
        self.held = {name: held for name, held in self.held.items() if held.seen >= self.oldest}


class IndexMachine(RuleBasedStateMachine):
    """Does the same to an index and to the model."""

    place = "memory"

    @initialize()
    def create(self):
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.make = IndexMaker(CLAIMING_PLACES[self.place](Path(self.folder.name), self.clock), self.clock)
        self.index = self.make(ttl_days=TTL_DAYS, grace_s=GRACE_MS / 1000)
        self.model = Model(self.clock)

    @rule(batch=documents)
    def add(self, batch):
        self.clock.advance(ms=10)
        self.index.add_entries(entries(batch))
        for name, simhash in batch.items():
            self.model.add(name, simhash)

    @rule(batch=documents)
    def dedup(self, batch):
        self.clock.advance(ms=10)
        decisions = self.index.dedup_entries(entries(batch), self.index.deduplicator())
        shown = [(d.id, d.is_original, d.of, d.distance) for d in decisions]
        assert shown == [self.model.decide(name, simhash) for name, simhash in batch.items()]

    @rule(batch=documents)
    def claim(self, batch):
        self.clock.advance(ms=10)
        shown = [(d.id, d.is_original, d.of, d.distance) for d in self.index.claim_entries(entries(batch))]
        assert shown == [self.model.decide(name, simhash) for name, simhash in batch.items()]

    @rule(ids=st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True))
    def remove(self, ids):
        originals = self.model.originals()
        removed = dict(self.index.remove_many(ids))
        for name in ids:
            if name in originals or name not in self.model.held:
                assert removed[name] == (name in originals)
            self.model.remove(name)

    @rule(days=st.sampled_from([0.001, 1, TTL_DAYS / 2, TTL_DAYS - 0.01, TTL_DAYS + 0.01]))
    def time_passes(self, days):
        self.clock.advance(days=days)

    @rule()
    def vacuum(self):
        self.index.vacuum()
        self.model.vacuum()

    @rule()
    def reopen(self):
        self.index = self.make.reopen(self.index)

    @rule(repair=st.booleans())
    def verify(self, repair):
        verified = self.index.verify(repair=repair)
        assert (verified.wrong, verified.repaired) == (0, 0)
        assert verified.duplicates <= len(IDS)

    @rule(limit=st.integers(1, 3), simhash=st.sampled_from(FINGERPRINTS))
    def query_a_few(self, limit, simhash):
        answer = self.index.query_simhash(simhash, limit=limit)
        expected = self.model.neighbours(simhash)
        assert answered(answer) == expected[:limit]
        assert answer.truncated == (len(expected) > limit)

    @invariant()
    def queries_find_what_the_model_finds(self):
        answers = self.index.query_entries(entries([(f"query {s}", s) for s in FINGERPRINTS]))
        assert [answered(a) for a in answers] == [self.model.neighbours(s) for s in FINGERPRINTS]

    @invariant()
    def originals_are_exported_and_got(self):
        originals = {name: held.simhash for name, held in self.model.originals().items()}
        exported = {s.id: s.simhash for s in self.index.export() if s.state != "duplicate"}
        got = [stored for stored in self.index.get_many(IDS) if stored is not None and stored.state != "duplicate"]
        assert exported == originals
        assert {stored.id: stored.simhash for stored in got} == originals

    def teardown(self):
        if hasattr(self, "make"):
            self.make.close()
            self.folder.cleanup()


@pytest.mark.parametrize("place", CLAIMING_PLACES)
def test_any_sequence_of_operations_leaves_right_answers(place):
    machine = type("Machine", (IndexMachine,), {"place": place})
    checked = settings(
        max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )

    run_state_machine_as_test(machine, settings=checked)
