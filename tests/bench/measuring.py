"""Helpers of all parts: tables in Markdown, durations that can be compared, the machine, and the peers.

Contestants take turns in one run, and each counts by its best. Peers come with the extras ``bench`` and ``peers``.
"""

import gc
import os
import platform
import time
from collections.abc import Callable, Sequence
from ctypes import CDLL
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from simhash_hbase.errors import MissingExtra

_MANY = 10.0


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table and what has to be known to read it; the first column is text, the others are numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """Write a heading, the table, and its notes as a list."""
        rule = ["---", *["---:"] * (len(self.columns) - 1)]
        lines = [f"| {' | '.join(cells)} |" for cells in (self.columns, rule, *self.rows)]
        notes = ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join([f"#### {self.title}", "", *lines, *notes])


def count(value: float) -> str:
    return f"{value:,.0f}"


def rate(items: float, seconds: float) -> str:
    return count(items / seconds)


def times(ours: float, theirs: float) -> str:
    """Write how many times as fast something is, from two durations of the same work."""
    ratio = theirs / ours
    return f"{ratio:.0f} x" if ratio >= _MANY else f"{ratio:.2g} x"


def microseconds(seconds: float) -> str:
    value = seconds * 1e6
    return f"{value:,.0f} µs" if value >= _MANY else f"{value:.1f} µs"


def fixed(value: float, unit: str = "") -> str:
    return f"{value:,.1f}{unit}"


@dataclass(frozen=True, kw_only=True)
class Timed:
    """The seconds that a contestant took for each repetition, and what its last call returned."""

    seconds: list[float]
    result: Any

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def typical(self) -> float:
        """The median."""
        return median(self.seconds)


def in_turns(
    contestants: Sequence[Callable[[], Any]], *, repeats: int, clock: Callable[[], float] = process_time
) -> list[Timed]:
    """Let each contestant do its work, then each again, so that what else the machine does hits all alike.

    The clock is the processor time of this process; for work that waits for the disk, pass `time.perf_counter`.
    """
    seconds: list[list[float]] = [[] for _ in contestants]
    results: list[Any] = [None] * len(contestants)
    for _ in range(repeats):
        for at, work in enumerate(contestants):
            start = clock()
            results[at] = work()
            seconds[at].append(clock() - start)
    return [Timed(seconds=taken, result=result) for taken, result in zip(seconds, results, strict=True)]


def one_by_one(work: Callable[[Any], Any], items: Sequence[Any]) -> list[float]:
    seconds = []
    for item in items:
        start = perf_counter()
        work(item)
        seconds.append(perf_counter() - start)
    return seconds


def percentile(values: Sequence[float], share: float) -> float:
    """Pick the value that a share of them does not exceed."""
    return float(np.percentile(values, 100 * share, method="inverted_cdf"))


PACKAGES = ("simhash-hbase", "jieba", "rjieba", "mmh3", "numpy", "lmdb", "simhash", "faiss-cpu", "datasketch")


def describe() -> Table:
    facts = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "processor": f"{_field('/proc/cpuinfo', 'model name') or platform.machine()}, "
        f"{len(os.sched_getaffinity(0))} cores; one is used, unless a row says otherwise",
        "memory": f"{int(_field('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "how": "tests/bench/README.md",
    }
    return Table(title="Measured on", columns=["what", "value"], rows=list(facts.items()))


def anonymous_bytes(process: int | str = "self") -> int:
    """Tell how much memory of a process is its own: not the pages of files that it has mapped.

    This very process gives back what it freed before, which else would hide what it takes next.
    """
    if process == "self":
        gc.collect()
        CDLL(None).malloc_trim(0)
    return int(_field(f"/proc/{process}/status", "RssAnon").split()[0]) * 1024


def processor_seconds(process: int) -> float:
    """Tell how long a process has used a processor, in nanoseconds where ``/proc`` has ticks of usually 10 ms."""
    # Python has no clock_getcpuclockid(3). Linux makes the number of a process's clock from the complement of its
    # id, and 2 stands for all of the time that the scheduler gave it.
    return time.clock_gettime(~process << 3 | 2)


def _field(path: str, name: str) -> str:
    """Read a ``name: value`` line; empty where there is none."""
    lines = (line.partition(":") for line in Path(path).read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def peer(name: str, extras: str = "dev,bench") -> Any:
    """Import a module of a peer, which comes with these extras."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra(f"{name} is missing: ./scripts/install {extras}") from error
