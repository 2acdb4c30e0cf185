"""Threads that use one index all the time, check every answer against brute force, and log what was acknowledged."""

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from support.bruteforce import entries, flip, neighbours
from support.patience import END_S

from simhash_hbase.errors import Retryable

BASE = 3_000
CENTRES = 40
QUERIES = 200
FAMILIES = 12
COPIES = 4
PAUSE_S = 0.2
MINUTE_MS = 60_000


class Clock:
    """The system's clock, some milliseconds off."""

    def __init__(self):
        self.off_ms = 0

    def __call__(self):
        return time.time_ns() // 1_000_000 + self.off_ms


def base_documents(seed):
    """Make documents around few centres, so that prefixes are crowded and a batch takes many pages."""
    chosen = random.Random(seed)
    centres = [chosen.getrandbits(64) for _ in range(CENTRES)]
    near = (flip(chosen.choice(centres), chosen.sample(range(64), chosen.randint(0, 5))) for _ in range(BASE))
    return {f"base {number}": simhash for number, simhash in enumerate(near)}


def added(documents):
    """Return what is told of documents that were added: state, original and fingerprint."""
    return {name: ("added", None, simhash) for name, simhash in documents.items()}


def decided(decision, *simhash):
    """Return the same of one that was claimed; without its fingerprint where only its text is known."""
    return ("original" if decision.is_original else "duplicate", decision.of, *simhash)


def check_told(index, told):
    """Yield what is wrong with an index, by what was told of its documents; nothing of those that were removed."""
    held = {stored.id: stored for stored in index.export()}
    for name, known in told.items():
        stored = held.get(name)
        now = stored and (stored.state, stored.of, stored.simhash)
        if now and known:
            now = now[: len(known)]
        if known and not stored:
            yield f"{name} was told {known} and is lost"
        elif now != known:
            yield f"{name} was told {known}, stored is {now}"
        elif known and (of := known[1]) and told.get(of, known) and (of not in held or held[of].state == "duplicate"):
            yield f"{name} is a duplicate of {of}, which is no original"
    originals = [name for name, stored in held.items() if stored.state == "original" and name.startswith("family ")]
    families = Counter(name.rpartition(" ")[0] for name in originals)
    yield from (f"{family} has {number} originals" for family, number in families.items() if number > 1)
    if (verified := index.verify()).wrong:
        yield f"verify in the end: {verified}"


@dataclass
class Log:
    """The acknowledged changes, the times of the calls, and the faults that were seen."""

    calls: list = field(default_factory=list)  # (kind, started, ended) of those that were answered.
    refused: Counter = field(default_factory=Counter)  # Retryable errors, by name.
    wrong: list = field(default_factory=list)
    told: dict = field(default_factory=dict)  # The acknowledged state of each document.

    def stall(self):
        """Return the longest time without an answer to a kind of call, in seconds."""
        longest = 0.0
        for kind in {call[0] for call in self.calls} - {"verify"}:
            ends = sorted(ended for name, _, ended in self.calls if name == kind)
            longest = max([longest, *(after - before for before, after in pairwise(ends))])
        return longest


class Traffic:
    """Adds, claims, queries and walks over one index until it is told to stop, a thread and a clock for each kind.

    `use` opens what the threads use instead of the index.
    """

    def __init__(self, open_index, seed, kinds=("add", "claim", "claim 2", "query", "verify"), *, use=None):
        self.log = Log()
        self.clocks = {kind: Clock() for kind in kinds}
        self.base = base_documents(seed)
        self._open = open_index
        self._use = use or open_index
        self._seed = seed
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(kind,)) for kind in kinds]
        self._families = {}
        self._lock = threading.Lock()

    def __enter__(self):
        with self._open(self.clocks[next(iter(self.clocks))]) as index:
            index.add_entries(entries(self.base))
        chosen, simhashes = random.Random(self._seed + 1), list(self.base.values())
        self._asked = [
            flip(chosen.choice(simhashes), chosen.sample(range(64), chosen.randint(0, 3))) for _ in range(QUERIES)
        ]
        self._expected = [dict(neighbours(self.base, query, 3)) for query in self._asked]
        for thread in self._threads:
            thread.start()
        self.await_all(time.monotonic())
        return self

    def __exit__(self, *error):
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if error[0] is None:
            with self._open(Clock()) as index:
                self._check_all(index)

    def step_clocks(self, chosen):
        """Put the clocks of all writers minutes ahead or back, each on its own."""
        for clock in self.clocks.values():
            clock.off_ms = chosen.randint(-10, 10) * MINUTE_MS

    def await_all(self, since):
        """Wait until each kind of call that began after a moment was answered; return the seconds that took."""
        end, kinds = time.monotonic() + END_S, set(self.clocks) - {"verify"}
        while True:
            first = {}
            for kind, began, ended in list(self.log.calls):
                if began >= since:
                    first[kind] = min(ended, first.get(kind, ended))
            if not (missing := kinds - set(first)):
                return max(first[kind] for kind in kinds) - since
            assert time.monotonic() < end, f"no answer to {missing}; refused: {self.log.refused}"
            time.sleep(0.05)

    def _run(self, kind):
        act = {"add": self._add, "query": self._query, "verify": self._verify}.get(kind, self._claim)
        chosen = random.Random(f"{self._seed} {kind}")
        index = None
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                index = index or self._use(self.clocks[kind])
                act(index, chosen)
                self.log.calls.append((kind, began, time.monotonic()))
            except Retryable as error:
                self.log.refused[type(error).__name__] += 1
            except Exception as error:
                self.log.wrong.append(f"{kind}: {type(error).__name__}: {error}"[:300])
            self._stop.wait(PAUSE_S)
        if index is not None:
            index.close()

    def _add(self, index, chosen):
        new = {f"new {chosen.getrandbits(60)}": chosen.getrandbits(64) for _ in range(40)}
        index.add_entries(entries(new))
        self.log.told.update(added(new))

    def _claim(self, index, chosen):
        """Claim near copies of which another thread claims the same at the same time."""
        batch = {}
        with self._lock:
            number = len(self._families)
            for family in range(max(0, number - FAMILIES), number + 1):
                centre = self._families.setdefault(family, chosen.getrandbits(64))
                copy = chosen.randrange(COPIES)
                batch[f"family {family} {copy}"] = flip(centre, [copy])
        for decision in index.claim_entries(entries(batch)):
            told = decided(decision, batch[decision.id])
            if self.log.told.setdefault(decision.id, told) != told:
                self.log.wrong.append(f"{decision.id} was told {self.log.told[decision.id]}, then {told}")

    def _query(self, index, chosen):
        answers = index.query_entries(entries([(f"query {n}", simhash) for n, simhash in enumerate(self._asked)]))
        for number, (answer, expected) in enumerate(zip(answers, self._expected, strict=True)):
            found = [(match.id, match.distance) for match in answer.matches if match.id.startswith("base ")]
            if len(found) != len(set(found)) or dict(found) != expected or answer.truncated:
                self.log.wrong.append(f"query {number}: {len(found)} found, {len(expected)} expected")

    def _verify(self, index, chosen):
        before = len(self.base) + len(self._added())
        found = index.verify()
        if found.malformed_rows or found.undecodable or found.documents < before:
            self.log.wrong.append(f"verify beside writers: {found}, wanted {before} documents")

    def _added(self):
        return [(name, known[2]) for name, known in list(self.log.told.items()) if known[0] == "added"]

    def _check_all(self, index):
        self.log.wrong += check_told(index, {**added(self.base), **self.log.told})
        given = self._added()
        for start in range(0, len(given), 1_000):
            part = given[start : start + 1_000]
            answers = index.query_entries(entries([(f"is {name}", simhash) for name, simhash in part]))
            for (name, _), answer in zip(part, answers, strict=True):
                if name not in {match.id for match in answer.matches}:
                    self.log.wrong.append(f"{name} is not found")
