"""Claims under a simulator: no schedule is wrong, what is missing is found, and a seed repeats its schedule."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from claim_simulator.mutations import MUTATIONS
from claim_simulator.schedule import PROFILES, TTL_DAYS, Document
from claim_simulator.simulate import simulate
from claim_simulator.watch import Operation, Watch
from msgspec.structs import replace

from simhash_hbase.rows.documentcells import DocumentState, Text, encode
from simhash_hbase.stores.base import Cell

ROOT = Path(__file__).parents[2]
# Far more than it takes on a slow machine: one that hangs is to fail.
PATIENCE_S = 1800
# As many as the rarest mutation takes to be found.
SCHEDULES = 500
# Seeds a little before the first ones that show these mutations; those of the others are below 100.
FIRST_SEEDS = {"placed": 360, "text": 475}


def simulate_claims(*arguments, hash_seed="random"):
    """Run the simulator's command in a process of its own, with its own seed of hashes."""
    command = [sys.executable, "-W", "ignore", "-m", "claim_simulator", "--processes", "1", *arguments]
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_no_schedule_is_wrong():
    code, said = simulate_claims("--schedules", str(SCHEDULES))

    assert code == 0, said
    had = {name: int(count.replace(",", "")) for count, name in re.findall(r"([\d,]+) ([a-z_]+)(?:,|\n)", said)}
    for trouble in ("kill", "pause", "step", "server_step", "partition", "compaction", "late", "lost"):
        assert had[trouble] > SCHEDULES / 20, said
    assert had["claims"] > SCHEDULES


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_the_seed_shows_what_a_mutation_breaks(mutation, monkeypatch):
    for module, replaced, mutant in MUTATIONS[mutation]:
        monkeypatch.setattr(module, replaced, mutant)

    seeds = range(FIRST_SEEDS.get(mutation, 1), 20_000)
    seed, wrong = next((seed, wrong) for seed in seeds if (wrong := simulate(seed).wrong))
    assert simulate(seed).wrong == wrong


def test_the_command_prints_the_seed_that_shows_what_a_mutation_breaks():
    code, said = simulate_claims("--schedules", "100", "--mutation", "own-cell")

    assert code == 1, said
    wrong, seed = re.search(r"WRONG: (.*)\nafter .* --seed (\d+)", said).groups()
    code, shown = simulate_claims("--seed", seed, "--mutation", "own-cell")
    assert code == 1
    assert f"WRONG: {wrong}" in shown


def test_a_seed_is_one_schedule_in_every_process():
    first, again = (simulate_claims("--seed", "12", hash_seed=number) for number in "12")

    assert first == again
    assert len(first[1].splitlines()) > 100


@pytest.mark.parametrize(("offered_again", "is_wrong"), [(20, True), (25, False)])
def test_a_copy_that_is_offered_again_names_its_original_unless_that_has_expired(offered_again, is_wrong):
    hour_ms, first = 3_600_000, 8_640_000_000
    original = DocumentState("original", 1, "original", seen=first, stamp=first)
    copy = DocumentState("copy", 3, "duplicate", seen=first, stamp=first, of="original", distance=1, of_text=Text(1))
    documents = [Document("original", 1, None, ""), Document("copy", 3, None, "")]
    watch = Watch(PROFILES["distance", TTL_DAYS], documents, lambda: first + 26 * hour_ms, lambda document: True)

    def change(before, after):
        cells = [each and Cell(b"row", b"s", encode(each, checksum=True)) for each in (before, after)]
        return watch.changed(Operation("claim", "writer"), *cells, is_late=False)

    again = replace(copy, seen=first + offered_again * hour_ms)
    assert [change(None, original), change(None, copy), change(copy, again)] == [None] * 3

    wrong = change(original, replace(original, state="removed"))

    assert (wrong is not None and "just been named" in wrong) == is_wrong
