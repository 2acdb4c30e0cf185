"""Faults of the embedded store: processes killed, a disk that is full, a map that grows, readers that die."""

import json
import os
import random
import resource
import subprocess
import time
from contextlib import contextmanager
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from support.bruteforce import entries, flip, neighbours
from support.patience import END_S
from support.serving import wait_for

from faults.outcome import Outcome
from faults.traffic import Traffic, added, check_told, decided
from simhash_hbase.errors import StoreFull
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.profile import Profile
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore

# The map starts so small that it has to grow all the time, and few can read at once.
OPTIONS = EmbeddedOptions(map_bytes=1 << 18, max_readers=16)
PROFILE = Profile.resolve(analyzer="shingle", match="distance", bands=0)
WRITERS = 2
DISK = 8 << 20
ASKED = 50
FORK = get_context("fork")


class Folder:
    """An index in a folder, and what its writers were acknowledged: a line of JSON for each answer."""

    def __init__(self, above: Path):
        self.path, self.log = above / "index", above / "log"
        self.log.touch()
        LocalIndex.create(EmbeddedStore.create(str(self.path), OPTIONS), PROFILE).close()

    def open(self):
        return LocalIndex(EmbeddedStore.open(str(self.path), OPTIONS))

    def check(self, outcome: Outcome, seed: int):
        """Compare everything that is stored with everything that was acknowledged."""
        told = {}
        # A line that its writer did not finish was not.
        for line in self.log.read_bytes().split(b"\n")[:-1]:
            for name, known in json.loads(line).items():
                if told.setdefault(name, tuple(known)) != tuple(known):
                    outcome.wrong.append(f"{name} was told {told[name]}, then {known}")
        with self.open() as index:
            outcome.judge(check_told(index, told))
            _ask(index, seed, outcome)
        outcome.acknowledged = len(told)


def _ask(index, seed, outcome):
    """Compare answers with brute force over all that counts."""
    counted = {stored.id: stored.simhash for stored in index.export() if stored.state != "duplicate"}
    chosen = random.Random(seed)
    asked = [flip(h, [chosen.randrange(64)]) for h in chosen.sample(sorted(counted.values()), min(ASKED, len(counted)))]
    queries = entries([(f"query {number}", simhash) for number, simhash in enumerate(asked)])
    for simhash, answer in zip(asked, index.query_entries(queries), strict=True):
        found = [(match.id, match.distance) for match in answer.matches]
        if sorted(found) != sorted(neighbours(counted, simhash, 3)):
            outcome.wrong.append(f"query {simhash:016x}: {found}")


def _write(folder: Folder, seed: str, number: int, batches: int):
    """Add documents, and claim near copies that the other writers claim at the same time; log each answer."""
    log = os.open(folder.log, os.O_WRONLY | os.O_APPEND)
    chosen = random.Random(f"{seed} {number}")
    with folder.open() as index:
        for batch in range(batches):
            new = {f"new {chosen.getrandbits(60)}": chosen.getrandbits(64) for _ in range(20)}
            index.add_entries(entries(new))
            _log(log, added(new))
            centres = {
                f"family {seed} {batch} {n}": random.Random(f"{seed} {batch} {n}").getrandbits(64) for n in range(4)
            }
            copies = {f"{name} {(copy := chosen.randrange(3))}": flip(h, [copy]) for name, h in centres.items()}
            decisions = index.claim_entries(entries(copies))
            _log(log, {each.id: decided(each, copies[each.id]) for each in decisions})


def _log(log, told):
    os.write(log, json.dumps(told).encode() + b"\n")


def _fork(act, *words):
    child = FORK.Process(target=act, args=words)
    child.start()
    return child


@contextmanager
def _checked(scenario, seed):
    """Give the outcome of a scenario and an index in a folder, and check that in the end."""
    outcome = Outcome(scenario)
    with TemporaryDirectory() as above:
        folder = Folder(Path(above))
        yield outcome, folder
        folder.check(outcome, seed)


def kill_processes(times, seed, say):
    """Kill writers at a random moment, two at a time; the next two start at once."""
    chosen = random.Random(seed)
    with _checked("processes killed", seed) as (outcome, folder):
        while outcome.times < times:
            before = folder.log.stat().st_size
            children = [_fork(_write, folder, f"{seed} {outcome.times}", n, 10**6) for n in range(WRITERS)]
            wait_for(lambda before=before: folder.log.stat().st_size > before)
            time.sleep(chosen.uniform(0, 1))
            killed = time.monotonic()
            for child in children:
                child.kill()
            for child in children:
                child.join()
            with folder.open() as index:
                index.add_entries(entries({f"after {outcome.times}": chosen.getrandbits(64)}))
            outcome.recovery.append(time.monotonic() - killed)
            outcome.times += WRITERS
    outcome.stall = max(outcome.recovery)
    return outcome


def grow_map(times, seed, say):
    """Have several processes write while the map has to grow, and let them end."""
    with _checked("map grown by four processes", seed) as (outcome, folder):
        for _ in range(times):
            children = [_fork(_write, folder, f"{seed} {outcome.times}", n, 10) for n in range(2 * WRITERS)]
            for child in children:
                child.join()
            failed = sum(child.exitcode != 0 for child in children)
            outcome.wrong += [f"{failed} writers failed"] if failed else []
            outcome.times += 1
    return outcome


def kill_readers(times, seed, say):
    """Kill readers in the middle of a walk; they must not use up the places of others, nor hold pages for ever."""
    with _checked("readers killed", seed) as (outcome, folder):
        _write(folder, f"{seed} base", 0, 10)
        for _ in range(times):
            is_reading = FORK.Event()
            child = _fork(_read_and_wait, folder, is_reading)
            assert is_reading.wait(END_S)
            child.kill()
            killed = time.monotonic()
            child.join()
            _write(folder, f"{seed} {outcome.times}", 0, 1)
            outcome.recovery.append(time.monotonic() - killed)
            outcome.times += 1
    return outcome


def _read_and_wait(folder: Folder, is_reading):
    with folder.open() as index:
        walk = index.export()
        next(walk)
        is_reading.set()
        time.sleep(END_S)
        list(walk)


def fill_disk(times, seed, say):
    """Write until the disk is full, read everything, make room, and go on."""
    outcome, chosen = Outcome("disk full"), random.Random(seed)
    with _small_disk() as (above, make_room):
        folder = Folder(above)
        log = os.open(folder.log, os.O_WRONLY | os.O_APPEND)
        for _ in range(times):
            new, index = {}, folder.open()
            try:
                while True:
                    new = {f"new {chosen.getrandbits(60)}": chosen.getrandbits(64) for _ in range(100)}
                    index.add_entries(entries(new))
                    _log(log, added(new))
            except StoreFull as error:
                say(f"disk full: {error}")
            index.close()
            folder.check(outcome, seed)
            full = time.monotonic()
            make_room()
            with folder.open() as index:
                index.add_entries(entries(new))
            outcome.recovery.append(time.monotonic() - full)
            outcome.times += 1
        folder.check(outcome, seed)
        os.close(log)
    return outcome


def step_clocks(times, seed, say):
    """Put the clocks of threads that write, claim and query minutes apart, again and again."""
    outcome, chosen = Outcome("clocks stepped, in a folder"), random.Random(seed)
    with TemporaryDirectory() as above:
        path = str(Folder(Path(above)).path)
        with Traffic(lambda clock: LocalIndex(EmbeddedStore.open(path, OPTIONS), clock=clock), seed) as traffic:
            for _ in range(times):
                traffic.step_clocks(chosen)
                traffic.await_all(time.monotonic())
                outcome.times += 1
    outcome.take(traffic.log)
    return outcome


@contextmanager
def _small_disk():
    """Give a folder with little room, and a function that makes more: a file system in memory, or a limit of files."""
    rooms, (soft, hard) = count(2 * DISK, DISK), resource.getrlimit(resource.RLIMIT_FSIZE)
    with TemporaryDirectory() as folder:

        def mount(*options):
            command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", folder]
            return subprocess.run(command, check=False, capture_output=True).returncode == 0

        if os.geteuid() == 0 and mount(f"size={DISK}"):
            try:
                yield Path(folder), lambda: mount("remount", f"size={next(rooms)}")
            finally:
                subprocess.run(["umount", folder], check=True)
            return
        resource.setrlimit(resource.RLIMIT_FSIZE, (DISK, hard))
        try:
            yield Path(folder), lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (next(rooms), hard))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


SCENARIOS = {
    "processes killed": kill_processes,
    "disk full": fill_disk,
    "map grown by four processes": grow_map,
    "readers killed": kill_readers,
    "clocks stepped, in a folder": step_clocks,
}
