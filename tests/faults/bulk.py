"""``load`` into a cluster on HDFS, killed at a random moment of it, or while a region server dies."""

import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from faults.cluster import Cluster
from faults.hbase import REGION_SERVERS, Lab, new_lab, pause_region_server
from faults.outcome import ENDING, Outcome
from faults.traffic import Clock
from simhash_hbase.bulk.spool import read_manifest
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.testing.rows import all_pairs, pairs_of

DOCUMENTS = 4_000
ATTEMPTS = 10


class Load:
    """One load into a table of its own."""

    def __init__(self, lab: Lab, folder: Path):
        self.lab, self._folder = lab, folder
        self.simhashes = np.unique(
            np.random.default_rng(lab.chosen.randrange(1 << 32)).integers(0, 1 << 64, DOCUMENTS, np.uint64)
        )
        lines = (f'{{"id": "document {n}", "h": "{h:016x}"}}\n' for n, h in enumerate(self.simhashes.tolist()))
        (folder / "corpus.jsonl").write_text("".join(lines))

    def start(self):
        url = self.lab.cluster.url(self.lab.table)
        words = ["load", url, self._folder / "corpus.jsonl", "--simhash-field", "h", "--workers", 1]
        words += ["--work", self._folder / "work", "--hbase-conf", self.lab.cluster.folder / "conf", "--quiet"]
        command = [sys.executable, "-m", "simhash_hbase", *map(str, words)]
        with (self._folder / "told").open("a") as told:
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=told)

    def measure(self):
        """Load, and return the seconds until it begins to write, and from there to its end."""
        process, began = self.start(), time.monotonic()
        self.await_writing(process)
        writes = time.monotonic()
        self.finish(process)
        return writes - began, time.monotonic() - writes

    def await_writing(self, process):
        """Wait until cells may be in the table, or until the end."""
        while process.poll() is None:
            manifest = read_manifest(self._folder / "work")
            if manifest is not None and manifest.writing:
                return
            time.sleep(0.01)

    def finish(self, process):
        """Wait for the end, and repeat the command until it succeeds, as its error says."""
        for _ in range(ATTEMPTS):
            if process.wait() == 0:
                return
            process = self.start()
        raise AssertionError((self._folder / "told").read_text()[-2000:])

    def check(self, outcome: Outcome):
        """Compare the table with what one load makes, cell for cell of the rows and document by document."""
        with self.lab.open_patiently(Clock()) as index:
            wanted = {(f"document {n}", h, "added") for n, h in enumerate(self.simhashes.tolist())}
            held = [(stored.id, stored.simhash, stored.state) for stored in index.export()]
            outcome.acknowledged += len(wanted)
            outcome.lost += len(wanted - set(held))
            rows = sorted(pairs_of(block_rows(index.profile.blocks, self.simhashes)))
            if all_pairs(index.store, page=9_999) != rows or len(held) != len(wanted) or index.verify().wrong:
                outcome.wrong.append(f"{self.lab.table}: another table than that of one load")


def run(cluster: Cluster, scenario: str, times: int, seed: int, say) -> Outcome:
    """Disturb so many loads, each into a table of its own, and compare the tables."""
    outcome, chosen, durations = Outcome(scenario), random.Random(seed), None
    while outcome.times < times and not ENDING.is_set():
        lab = new_lab(cluster, chosen.randrange(1 << 32))
        with TemporaryDirectory() as folder:
            load = Load(lab, Path(folder))
            if durations is None:
                durations = load.measure()
            elif _disturb(load, scenario, durations, outcome):
                say(f"{scenario} {outcome.times}/{times}: finished after {outcome.recovery[-1]:.1f} s")
        cluster.admin("drop", lab.table)
    return outcome


def _disturb(load, scenario, durations, outcome):
    """Disturb a load, in turn before and after the first cell may be in the table; False if it ended before."""
    process, late = load.start(), outcome.times % 2
    if late:
        load.await_writing(process)
    time.sleep(load.lab.chosen.uniform(0, durations[late]))
    if process.poll() is not None:
        return False
    hurt = time.monotonic()
    SCENARIOS[scenario](load.lab, process)
    load.finish(process)
    outcome.recovery.append(time.monotonic() - hurt)
    load.lab.revive()
    load.check(outcome)
    outcome.times += 1
    return True


def _kill_command(lab, process, *, children_too):
    """Kill the command, with the Java that it has started, or without, which then goes on."""
    threads = Path(f"/proc/{process.pid}/task").glob("*/children")
    children = " ".join(path.read_text() for path in threads).split()
    for pid in [process.pid, *map(int, children if children_too else [])]:
        os.kill(pid, signal.SIGKILL)


def _kill_region_server(lab, process):
    lab.cluster.change("kill", lab.chosen.choice(REGION_SERVERS))


SCENARIOS = {
    "load killed": partial(_kill_command, children_too=True),
    "load killed, its Java goes on": partial(_kill_command, children_too=False),
    "load, region server killed": _kill_region_server,
    "load, region server paused": lambda lab, _: pause_region_server(lab),
}
