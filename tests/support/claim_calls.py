"""Print the calls that claims of a version make of a store: a schedule and its calls a line.

In a schedule one writer is stopped before one of its calls until another writer has ended, or is killed there and comes
back. Clocks go on by sleeps and readings alone, and tokens come from a seed: two versions that claim alike print alike.
The version is the one that Python finds: ``python -P tests/support/claim_calls.py PROFILE``.
"""

import json
import os
import random
import sys
import time
from pathlib import Path

SEED = 7
TOKENS = random.Random()
BEGAN_S = 1_790_000_000.0
NOW = [BEGAN_S]


def pass_time(seconds):
    """Let time pass; return what a clock says then, in seconds."""
    NOW[0] += seconds
    return NOW[0]


if __name__ == "__main__":
    # Before the package takes these. The collection of doctests imports this module, too, and goes on by its own clock.
    os.urandom = TOKENS.randbytes
    time.time = time.monotonic = lambda: NOW[0]
    time.sleep = pass_time

from simhash_hbase.features.analysis import Analysis  # noqa: E402
from simhash_hbase.index.claim.protocol import claim_by_protocol  # noqa: E402
from simhash_hbase.index.timestamps import Timer  # noqa: E402
from simhash_hbase.profile import Profile  # noqa: E402
from simhash_hbase.stores.base import Store  # noqa: E402
from simhash_hbase.stores.memory import MemoryStore  # noqa: E402

CALLS = ("compare_and_set", "delete", "get", "get_rows", "put", "put_rows", "read_row", "scan")


def text(first, *, is_copy=False):
    """Make a text of a hundred words; a copy has another first word."""
    return " ".join(f"{word * 7 % 13}x{word}" for word in (0 if is_copy else first, *range(first + 1, first + 100)))


TEXTS = {
    "text": text(1_000),
    "copy": text(1_000, is_copy=True),
    "other": text(2_000),
    "copy of other": text(2_000, is_copy=True),
    "new": text(3_000),
}
BEFORE = [("a", "text"), ("b", "other"), ("copy of b", "copy of other")]
# Ids and texts that a writer claims: new documents, copies of them, known ids with other texts, ids of two writers.
WRITERS = {
    "many": [("x", "new"), ("copy of x", "new"), ("copy of a", "copy"), ("b", "text")],
    "one": [("y", "new")],
    "moves": [("x", "copy of other"), ("a", "new")],
}
DEADLINE_S = 90.0  # Three leases.


class Killed(BaseException):
    """Ends a writer as a crash does."""


class RecordedStore(Store):
    """Passes on every call and notes it; before one of them something else happens."""

    url = "memory:"

    def __init__(self, behind, writer, calls, at=None, happens=None):
        self.behind, self.writer, self.calls, self.at, self.happens = behind, writer, calls, at, happens
        self.count = 0


def recorded(name):
    def call(self, *given, **named):
        given = [list(each) if hasattr(each, "__next__") else each for each in given]
        self.count += 1
        if self.count == self.at:
            self.happens()
        self.calls.append([self.writer, name, plain(given), plain(named)])
        return getattr(self.behind, name)(*given, **named)

    return call


for _name in CALLS:
    setattr(RecordedStore, _name, recorded(_name))


def plain(value):
    """Return a value as JSON has it."""
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


class Schedules:
    """Lets writers claim into an empty index, in one schedule after the other."""

    def __init__(self, profile):
        self._profile = profile
        analysis = Analysis(profile)
        self._entries = {}
        for documents in (BEFORE, *WRITERS.values()):
            ids, texts = [each for each, _ in documents], [TEXTS[each] for _, each in documents]
            self._entries[tuple(documents)] = analysis.texts(ids, texts, [None] * len(ids)).entries

    def claim(self, store, documents):
        """Claim documents; note the answers behind the calls: id and original, or the error."""
        answers = claim_by_protocol(
            store,
            self._profile,
            self._entries[tuple(documents)],
            clock=lambda: round(pass_time(0.001) * 1000),
            timer=Timer(lambda: NOW[0], pass_time),
            deadline_s=DEADLINE_S,
        )
        shown = [[getattr(answer, "id", None), getattr(answer, "of", None)] for answer in answers]
        store.calls.append([store.writer, "answers", shown])

    def run(self, first, second, at, *, kills):
        """Return the calls of two writers, the first one cut off before its call `at`, and how many that one made."""
        TOKENS.seed(SEED)
        random.seed(SEED)
        NOW[0] = BEGAN_S
        memory, calls = MemoryStore(clock=lambda: round(pass_time(0.001) * 1000)), []
        self.claim(RecordedStore(memory, "before", []), BEFORE)

        def happens():
            self.claim(RecordedStore(memory, "second", calls), WRITERS[second])
            if kills:
                raise Killed

        store = RecordedStore(memory, "first", calls, at, happens)
        try:
            self.claim(store, WRITERS[first])
        except Killed:
            self.claim(RecordedStore(memory, "second again", calls), WRITERS[second])
            self.claim(RecordedStore(memory, "first again", calls), WRITERS[first])
        return calls, store.count


def main():
    """Print the calls of all schedules, and which schedule each is."""
    schedules = Schedules(Profile.decode(Path(sys.argv[1]).read_bytes()))
    for first in WRITERS:
        _, alone = schedules.run(first, first, None, kills=False)
        for second in WRITERS:
            for kills in (False, True):
                for at in range(1, alone + 1):
                    calls, _ = schedules.run(first, second, at, kills=kills)
                    print(json.dumps([[first, second, at, kills], calls]))


if __name__ == "__main__":
    main()
