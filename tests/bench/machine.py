"""What a run was measured on."""

import gc
import os
import platform
import time
from ctypes import CDLL
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.tables import Table

__all__ = ["anonymous_bytes", "describe", "processor_seconds"]

PACKAGES = ("simhash-hbase", "jieba", "rjieba", "mmh3", "numpy", "lmdb", "simhash", "faiss-cpu", "datasketch")


def describe() -> Table:
    """Name processor, memory, versions and date."""
    facts = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "processor": f"{_field('/proc/cpuinfo', 'model name') or platform.machine()}, "
        f"{len(os.sched_getaffinity(0))} cores; one is used, unless a row says otherwise",
        "memory": f"{int(_field('/proc/meminfo', 'MemTotal').split()[0] or 0) / 2**20:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
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
    """Read a ``name: value`` line; 0 where there is none."""
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "0"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
