"""Lookups at a fixed rate for some time: how late answers are, and whether memory grows."""

from time import perf_counter, sleep

from bench.measuring import Table, anonymous_bytes, count, fixed, percentile
from simhash_hbase.index.index import Index
from simhash_hbase.rows.analysed import Entries

BATCHES_A_SECOND = 20
WARM_S = 10.0
COLD_S = 60.0
"""Until then the pages of a large file come from the disk."""


def measure_steady(index: Index, asked: Entries, *, rate: int, minutes: float) -> Table:
    """Ask an index for so many lookups a second, in batches that come whether the one before is answered or not."""
    size = max(1, rate // BATCHES_A_SECOND)
    batches = [asked.take(range(at, at + size)) for at in range(0, len(asked) - size + 1, size)]
    _ask(index, batches, rate=rate, seconds=min(WARM_S, 6 * minutes))
    before = anonymous_bytes()
    began = perf_counter()
    late = _ask(index, batches, rate=rate, seconds=60 * minutes)
    seconds, after = perf_counter() - began, anonymous_bytes()
    return Table(
        title=f"{count(rate)} lookups a second for {fixed(seconds / 60)} minutes",
        columns=["what", "value"],
        rows=[
            ["lookups", count(size * len(late))],
            ["a second", count(size * len(late) / seconds)],
            ["answered after, median", _milliseconds(percentile(sorted(late), 0.5))],
            *_lateness(late, ""),
            *_lateness(*_settled(late, interval=size / rate)),
            ["memory at the start", fixed(before / 2**20, " MiB")],
            ["at the end", fixed(after / 2**20, " MiB")],
        ],
        notes=[f"Batches of {count(size)}, {count(len(batches) * size)} different queries in turn."],
    )


def _settled(late: list[float], *, interval: float) -> tuple[list[float], str]:
    """Leave out batches that were due in the first minute, or in the first half of a run that is too short for it."""
    first = round(COLD_S / interval)
    is_short = len(late) < 2 * first
    return late[len(late) // 2 if is_short else first :], f" after the first {'half' if is_short else 'minute'}"


def _lateness(late: list[float], when: str) -> list[list[str]]:
    most = percentile(sorted(late), 0.99)
    return [[f"99 %{when}", _milliseconds(most)], [f"longest{when}", _milliseconds(max(late))]]


def _milliseconds(seconds: float) -> str:
    return fixed(1000 * seconds, " ms")


def _ask(index: Index, batches: list[Entries], *, rate: int, seconds: float) -> list[float]:
    """Return how long after it was due each batch was answered."""
    began, late = perf_counter(), []
    interval = len(batches[0]) / rate
    for number in range(max(1, round(seconds / interval))):
        due = began + number * interval
        sleep(max(0.0, due - perf_counter()))
        index.query_entries(batches[number % len(batches)])
        late.append(perf_counter() - due)
    return late
