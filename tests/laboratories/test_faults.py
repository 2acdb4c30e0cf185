"""The fault laboratory itself: a short seeded run of it, and that it sees what is lost, repeated or decided twice."""

from dataclasses import replace
from itertools import count

import pytest
from faults import SEED, faults
from faults.embedded import PROFILE
from faults.traffic import Traffic, check_told
from support.bruteforce import entries

from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.stores.memory import MemoryStore


@pytest.mark.parametrize(
    ("scenario", "times"),
    [
        ("processes killed", 6),
        ("disk full", 1),
        ("readers killed", 8),
        ("map grown by four processes", 1),
        ("service restarted", 1),
    ],
)
def test_a_store_with_faults_answers_nothing_wrong(scenario, times):
    done = faults(scenario, "--times", times, "--seed", SEED, "--minutes", "0.03")

    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[-1].split(" | ")
    assert (line[0], int(line[1])) == (f"| {scenario}", times)
    assert int(line[4].replace(",", "")) > 0


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        ({"a": ("added", None, 1), "family 1 0": ("original", None), "gone": None}, ""),
        ({"b": ("added", None, 1)}, "is lost"),
        ({"a": ("added", None, 2)}, "stored is"),
        ({"family 1 0": ("duplicate", "a")}, "stored is"),
        ({"a": None}, "stored is"),
    ],
    ids=["as told", "lost", "another text", "another decision", "not removed"],
)
def test_what_is_stored_is_compared_with_what_was_told(told, wrong):
    with LocalIndex.create(MemoryStore(), PROFILE) as index:
        index.add_entries(entries({"a": 1}))
        index.claim_entries(entries({"family 1 0": 2**60 - 1}))

        lines = list(check_told(index, told))

    assert [wrong in line for line in lines] == [True] * bool(wrong)


class Faulty(LocalIndex):
    """An index in memory that, at every second call that can be hurt, loses, repeats, decides alone or refuses."""

    fault = ""
    _calls = None

    def _is_due(self, fault):
        return self.fault == fault and next(self._calls) % 2 == 1

    def add_entries(self, given, **options):
        if given.ids[0].startswith("new ") and self._is_due("loses"):
            return None
        if self._is_due("refuses"):
            raise StoreUnavailable("not now")
        return super().add_entries(given, **options)

    def query_entries(self, given, **options):
        answers = super().query_entries(given, **options)
        if self._is_due("repeats"):
            answers = [replace(answer, matches=answer.matches * 2) for answer in answers]
        return answers

    def claim_entries(self, given, **options):
        if self._is_due("decides alone"):
            given = replace(given, simhashes=given.simhashes ^ given.simhashes.dtype.type(0xFF << 20))
        return super().claim_entries(given, **options)

    def close(self):
        """Leave the store, which all share, open."""


@pytest.mark.parametrize(
    ("fault", "told"),
    [("", ""), ("loses", "is lost"), ("repeats", "expected"), ("decides alone", "family"), ("refuses", "")],
)
def test_traffic_sees_what_an_index_does_wrong(fault, told):
    store = MemoryStore()
    LocalIndex.create(store, PROFILE)
    kind = type("Index", (Faulty,), {"fault": fault, "_calls": count()})

    with Traffic(lambda clock: kind(store, clock=clock), SEED) as traffic:
        for _ in range(4):
            traffic.await_all(traffic.log.calls[-1][2])

    assert bool(traffic.log.wrong) == bool(told), traffic.log.wrong
    assert not told or any(told in line for line in traffic.log.wrong)
    assert bool(traffic.log.refused) == (fault == "refuses")
    assert traffic.log.stall() > 0
