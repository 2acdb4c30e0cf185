"""HBase's own asynchronous client as a process, compiled from ``java/AsyncPeer.java``."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from bench.hbase_instance import CACHE, Instance
from simhash_hbase.errors import StoreRefused
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import pack_prefixes
from simhash_hbase.stores.hbase.launcher import Downloads, cache_folder

__all__ = ["AsyncPeer", "async_peer", "rewrite"]

SOURCE = Path(__file__).parent / "java" / "AsyncPeer.java"
HEAP = "-Xmx1g"
KEY_BYTES = 8

U32 = np.dtype(">u4")
U64 = np.dtype(">u8")
PAIR = np.dtype([("query", U32), ("simhash", U64)])


class AsyncPeer:
    """Answers queries in the same way as `find_candidates`, all prefixes of a query at once.

    Parameters
    ----------
    process : Popen
        The running class.
    scheme : Scheme
        Of the block rows. Prefixes are computed here, outside of what is timed.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", scheme: Scheme) -> None:
        self.process = process.pid
        self._scheme = scheme
        self._in, self._out = _pipes(process)

    def ask(self, simhashes: NDArray[np.uint64], *, in_flight: int) -> tuple[float, list[float], set[tuple[int, int]]]:
        """Answer queries.

        Parameters
        ----------
        simhashes : ndarray of uint64
            The queries.
        in_flight : int
            Queries at a time; 1: each waits for the one before.

        Returns
        -------
        float
            Seconds in all, by the peer's own clock.
        list of float
            Seconds of each query.
        set of (int, int)
            Pairs of a query's position and a stored fingerprint.
        """
        tables = len(self._scheme.tables)
        self._in.write(np.array([in_flight, len(simhashes), tables], U32).tobytes())
        for simhash, prefixes in zip(simhashes.tolist(), self._scheme.prefixes(simhashes), strict=True):
            self._in.write(simhash.to_bytes(U64.itemsize, "big") + b"".join(pack_prefixes(prefixes)))
        self._in.flush()
        [total] = self._read(U64, 1)
        nanos = self._read(U64, len(simhashes))
        [count] = self._read(U32, 1)
        pairs = self._read(PAIR, int(count))
        found = set(zip(pairs["query"].tolist(), pairs["simhash"].tolist(), strict=True))
        return float(total) / 1e9, (nanos / 1e9).tolist(), found

    def _read(self, kind: np.dtype, count: int) -> np.ndarray:
        wanted = kind.itemsize * count
        packed = self._out.read(wanted)
        if len(packed) < wanted:
            raise StoreRefused("the Java client ended early")
        return np.frombuffer(packed, kind)


@contextmanager
def async_peer(instance: Instance, table: str, scheme: Scheme, how: str, *numbers: int) -> Iterator[AsyncPeer]:
    """Run the Java client over one table.

    Parameters
    ----------
    instance : Instance
        Holds the table.
    table : str
        Which one.
    scheme : Scheme
        Of its block rows.
    how : str
        ``direct``: scans complete in the threads of HBase's client; ``pool``: in others.
    *numbers : int
        Distance within which a fingerprint is near, and rows a prefix at most.
    """
    command = _command(instance, "query", table, how, *map(str, numbers))
    process = subprocess.Popen(
        command, env=_quiet(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        yield AsyncPeer(process, scheme)
        process.communicate(np.array([0], U32).tobytes(), timeout=60)
    finally:
        process.kill()
        process.communicate()


def rewrite(instance: Instance, table: str, family: str, settings: Sequence[tuple[str, str]]) -> list[int]:
    """Compact a family under one setting after another.

    Parameters
    ----------
    instance : Instance
        Holds the table.
    table, family : str
        Which one.
    settings : sequence of (str, str)
        Data block encodings and codecs.

    Returns
    -------
    list of int
        Bytes of all files of the family under each setting.

    Raises
    ------
    StoreRefused
        When the server does not do it, with what Java says.
    """
    command = _command(instance, "rewrite", table, family, *(",".join(pair) for pair in settings))
    done = subprocess.run(command, env=_quiet(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise StoreRefused(f"files of {table} cannot be rewritten: {done.stderr.strip()[-500:]}")
    return [int(line.split()[1]) for line in done.stdout.splitlines()]


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise StoreRefused("the Java client has no pipes")
    return process.stdin, process.stdout


def _command(instance: Instance, *arguments: str) -> list[str]:
    path = os.pathsep.join([str(instance.conf), f"{instance.tools.jars}/*", str(_classes(instance))])
    return [str(instance.tools.java), HEAP, "-cp", path, "AsyncPeer", *arguments]


def _classes(instance: Instance) -> Path:
    """Compile the class where it was not yet."""
    key = blake2b(SOURCE.read_bytes() + str(instance.tools.jars).encode(), digest_size=KEY_BYTES).hexdigest()
    classes = CACHE / "classes" / f"AsyncPeer-{key}"
    if not (classes / "AsyncPeer.class").exists():
        Downloads(cache_folder()).compile(SOURCE, classes, instance.tools.jars)
    return classes


def _quiet() -> dict[str, str]:
    return {**os.environ, "LOG_LEVEL": "WARN"}
