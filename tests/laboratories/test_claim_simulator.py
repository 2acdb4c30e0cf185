"""Claims under a simulator: no schedule is wrong, what is missing is found, and a seed repeats its schedule."""

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from claim_simulator.mutations import MUTATIONS
from claim_simulator.schedule import PROFILES, TTL_DAYS, Document
from claim_simulator.server import Server
from claim_simulator.watch import Operation, Watch

from simhash_hbase.rows.documentcells import DocumentState, Text, encode
from simhash_hbase.stores.base import Cell, Swap

ROOT = Path(__file__).parents[2]
# Far more than it takes on a slow machine: one that hangs is to fail.
PATIENCE_S = 1800
SCHEDULES = 4_000


def simulate_claims(*arguments, hash_seed="random"):
    """Run the simulator in a process of its own: what is taken out of the protocol stays out."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "claim_simulator", "--processes", "1", *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT)]),
            "PYTHONHASHSEED": hash_seed,
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("first", [1, 1 + SCHEDULES])
def test_no_schedule_is_wrong(first):
    code, said = simulate_claims("--first", str(first), "--schedules", str(SCHEDULES))

    assert code == 0, said
    had = {name: int(count.replace(",", "")) for count, name in re.findall(r"([\d,]+) ([a-z_]+)(?:,|\n)", said)}
    for trouble in ("kill", "pause", "step", "server_step", "partition", "compaction", "late", "lost"):
        assert had[trouble] > SCHEDULES / 20, said
    assert had["claims"] > SCHEDULES


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_what_is_missing_is_found_and_its_seed_shows_it(mutation):
    code, said = simulate_claims("--schedules", "20000", "--mutation", mutation)

    assert code == 1, said
    wrong, seed = re.search(r"WRONG: (.*)\nafter .* --seed (\d+)", said).groups()
    code, shown = simulate_claims("--seed", seed, "--mutation", mutation)
    assert code == 1
    assert f"WRONG: {wrong}" in shown


def test_a_seed_is_one_schedule_in_every_process():
    first, again = (simulate_claims("--seed", "12", hash_seed=number) for number in "12")

    assert first == again
    assert len(first[1].splitlines()) > 100


# -- what is checked


@pytest.mark.parametrize(("offered_again", "is_wrong"), [(20, True), (25, False)])
def test_a_copy_that_is_offered_again_names_its_original_unless_that_has_expired(offered_again, is_wrong):
    hour_ms = 3_600_000
    profile, first = PROFILES["distance", TTL_DAYS], 100 * 24 * hour_ms
    original = DocumentState("original", 1, "original", seen=first, stamp=first)
    copy = DocumentState("copy", 3, "duplicate", seen=first, stamp=first, of="original", distance=1, of_text=Text(1))
    documents = [Document("original", 1, None, ""), Document("copy", 3, None, "")]
    watch = Watch(profile, documents, lambda: first + 26 * hour_ms, lambda document: True)
    claims = Operation("claim", "writer")

    def change(before, after):
        cells = [each and Cell(ROW, NAME, encode(each)) for each in (before, after)]
        return watch.changed(claims, *cells, is_late=False)

    again = msgspec.structs.replace(copy, seen=first + offered_again * hour_ms)
    gone = msgspec.structs.replace(original, state="removed")
    assert [change(None, original), change(None, copy), change(copy, again)] == [None] * 3

    wrong = change(original, gone)

    assert (wrong is not None and "just been named" in wrong) == is_wrong


def test_a_duplicate_that_earlier_copies_name_is_no_original_that_expires():
    profile, first = PROFILES["distance", TTL_DAYS], 8_640_000_000
    long_ago = first - 80_000_000
    named = DocumentState("named", 1, "duplicate", long_ago, long_ago, of="other", distance=1, of_text=Text(0))
    copy = DocumentState("copy", 3, "duplicate", first, first, of="named", distance=1, of_text=Text(1))
    moved = DocumentState("named", 0, "duplicate", first, first, of="other", distance=0, of_text=Text(0))
    texts = [Document(*text, None, "") for text in (("named", 1), ("named", 0), ("copy", 3), ("other", 0))]
    watch = Watch(profile, texts, lambda: first, lambda document: True)
    other = DocumentState("other", 0, "original", first, first)
    cells = [Cell(ROW, NAME, encode(each)) for each in (other, named, copy, moved)]
    addition, claims = Operation("add", "writer"), Operation("claim", "writer")
    for each in cells[:3]:
        watch.changed(addition, None, each, is_late=False)

    assert watch.changed(claims, cells[1], cells[3], is_late=False) is None


# -- the server, as HBase is

ROW, NAME = b"row", b"s"


@pytest.fixture
def server():
    made = Server(lambda: made.ms, lambda before, after: None, lambda: None)
    made.ms = 1_000
    return made


def cell(value, stamp=None):
    return Cell(ROW, NAME, value, stamp)


def test_the_highest_timestamp_is_read_and_of_equal_ones_the_later(server):
    for written in (cell(b"a", 5), cell(b"b", 5), cell(b"c", 4)):
        server.put("d", written)

    assert server.get("d", ROW, NAME).value == b"b"


def test_a_delete_hides_what_is_written_below_it_until_a_compaction(server):
    server.put("d", cell(b"a", 5))
    server.delete("d", cell(b"", 7))
    server.put("d", cell(b"b", 7))
    assert server.get("d", ROW, NAME) is None

    server.compact()
    server.put("d", cell(b"c", 6))

    assert server.get("d", ROW, NAME).value == b"c"


def test_a_swap_compares_and_is_never_below_what_it_replaces(server):
    server.put("d", cell(b"a", 5_000))

    assert not server.swap(Swap(ROW, NAME, None, b"b"))
    assert server.swap(Swap(ROW, NAME, b"a", b"b"))
    assert server.get("d", ROW, NAME) == cell(b"b", 5_000)


def test_a_row_that_was_deleted_needs_a_later_write(server):
    server.put_row(7, 8, 10)
    server.delete_row(7, 8, 10)
    server.put_row(7, 8, 10)
    assert not server.has_row(7, 8)

    server.put_row(7, 8, 11)

    assert server.has_row(7, 8)
