"""Lookups at a fixed rate for some time: how late answers are, and whether memory grows."""

from time import perf_counter, sleep

from bench.machine import anonymous_bytes
from bench.tables import Table, count, fixed
from bench.timing import percentile
from simhash_hbase.index.index import Index
from simhash_hbase.rows.entries import Entries

__all__ = ["measure_steady"]

BATCHES_A_SECOND = 20
WARM_S = 10.0


def measure_steady(index: Index, asked: Entries, *, rate: int, minutes: float) -> Table:
    """Ask an index for so many lookups a second, in batches that come whether the one before is answered or not."""
    size = max(1, rate // BATCHES_A_SECOND)
    batches = [asked.take(range(at, at + size)) for at in range(0, len(asked) - size + 1, size)]
    _ask(index, batches, rate=rate, seconds=min(WARM_S, 6 * minutes))
    before = anonymous_bytes()
    began = perf_counter()
    late = sorted(_ask(index, batches, rate=rate, seconds=60 * minutes))
    seconds, after = perf_counter() - began, anonymous_bytes()
    return Table(
        title=f"{count(rate)} lookups a second for {fixed(seconds / 60)} minutes",
        columns=["what", "value"],
        rows=[
            ["lookups", count(size * len(late))],
            ["a second", count(size * len(late) / seconds)],
            ["answered after, median", fixed(1000 * percentile(late, 0.5), " ms")],
            ["99 %", fixed(1000 * percentile(late, 0.99), " ms")],
            ["longest", fixed(1000 * late[-1], " ms")],
            ["memory at the start", fixed(before / 2**20, " MiB")],
            ["at the end", fixed(after / 2**20, " MiB")],
        ],
        notes=[
            f"`Index.query_entries` in one thread, batches of {count(size)}, {BATCHES_A_SECOND} a second. The time of "
            "an answer counts from when its batch was due, so a batch that waits for the one before is late, too.",
            f"{count(len(batches) * size)} different queries in turn. Memory is private memory, without the pages of "
            "the mapped file.",
        ],
    )


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
