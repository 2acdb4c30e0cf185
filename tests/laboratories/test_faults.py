"""The fault laboratory itself: a short seeded run of it, and that it sees what is lost, repeated or decided twice."""

from dataclasses import replace
from itertools import count

import pytest
from faults import SEED, faults
from faults.embedded import PROFILE, Folder
from faults.outcome import Outcome
from faults.restart import Client, check
from faults.traffic import Traffic
from support.bruteforce import entries

from simhash_hbase import create_index
from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.index.index import Index
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
def test_a_store_loses_nothing_and_answers_nothing_wrong(scenario, times):
    done = faults(scenario, "--times", times, "--seed", SEED, "--minutes", "0.1")

    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[-1].split(" | ")
    assert (line[0], int(line[1])) == (f"| {scenario}", times)
    assert int(line[4].replace(",", "")) > 0


@pytest.mark.parametrize(
    ("acknowledged", "lost", "wrong"),
    [
        ({"a": ("original", None), "b": ("duplicate", "a"), "c": None}, 0, 0),
        ({"a": ("original", None), "c": ("original", None)}, 1, 0),
        ({"b": ("original", None)}, 0, 1),
        ({"a": None}, 0, 1),
    ],
    ids=["as acknowledged", "lost", "another decision", "not removed"],
)
def test_what_a_service_has_lost_is_counted(tmp_path, acknowledged, lost, wrong):
    url, client, outcome = f"file:{tmp_path / 'index'}", Client("", "client"), Outcome("")
    with create_index(url, analyzer="shingle") as index:
        list(index.claim_many([("a", "the same text"), ("b", "the same text")]))
    client.acknowledged = acknowledged

    check(url, [client], outcome)

    assert (outcome.lost, len(outcome.wrong)) == (lost, wrong)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.mark.parametrize(
    ("line", "lost", "wrong"),
    [
        ('["add", [["a", 1]]]', 0, ""),
        ('["add", [["b", 1]]]', 1, ""),
        ('["add", [["a", 2]]]', 1, ""),
        ('["claim", [["a", 1, true, null]]]', 0, "a was told"),
        ('["add", [["b", 1]', 0, ""),
    ],
    ids=["as told", "lost", "another text", "another decision", "not acknowledged"],
)
def test_what_a_folder_has_lost_is_counted(folder, line, lost, wrong):
    with folder.open() as index:
        index.add_entries(entries({"a": 1}))
    folder.log.write_text(line + ("\n" if line.endswith("]]]") else ""))
    outcome = Outcome("")

    folder.check(outcome, SEED)

    assert outcome.lost == lost
    assert bool(outcome.wrong) == bool(wrong)
    assert all(line.startswith(wrong) for line in outcome.wrong)


def test_two_originals_among_near_copies_are_seen(folder):
    with folder.open() as index:
        index.claim_entries(entries({"family 1 0": 0}))
        index.claim_entries(entries({"family 1 1": 2**60 - 1}))
    outcome = Outcome("")

    folder.check(outcome, SEED)

    assert outcome.wrong == ["family 1 has 2 originals"]


class Faulty(Index):
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
    Index.create(store, PROFILE)
    kind = type("Index", (Faulty,), {"fault": fault, "_calls": count()})

    with Traffic(lambda clock: kind(store, clock=clock), SEED) as traffic:
        for _ in range(4):
            traffic.await_all(traffic.log.calls[-1][2])

    assert bool(traffic.log.wrong) == bool(told), traffic.log.wrong
    assert not told or any(told in line for line in traffic.log.wrong)
    assert bool(traffic.log.refused) == (fault == "refuses")
    assert traffic.log.stall() > 0
