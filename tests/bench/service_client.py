"""A service in a process of its own, and a client of it that costs little."""

import json
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Self

from bench.machine import processor_seconds
from simhash_hbase.errors import SimhashError
from simhash_hbase.opening import create_index

__all__ = ["Served", "body_of", "new_index"]

COMMAND = (sys.executable, "-W", "ignore", "-m", "simhash_hbase", "serve", "--no-auth", "--port", "0")


class Served:
    """The service of an index, from the beginning of a block to its end.

    Parameters
    ----------
    url : str
        The index.
    workers : int
        Processes that analyse.
    *options : str
        More of the command's.
    """

    def __init__(self, url: str, workers: int, *options: str) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, url, "--workers", str(workers), *options],
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        log = self._process.stderr
        started = ""
        while '"listening"' not in started and (line := log.readline() if log else ""):
            started = line
        # A log that nobody reads would stop the service as soon as the pipe is full.
        self._reading = Thread(target=lambda: deque(log or (), 0), daemon=True)
        self._reading.start()
        if '"listening"' not in started:
            raise SimhashError(f"the service did not start: {started}")
        self.port = json.loads(started)["port"]
        self._connection = HTTPConnection("127.0.0.1", self.port)
        return self

    def __exit__(self, *failure: object) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait()
        self._reading.join()
        if self._process.stderr:
            self._process.stderr.close()

    def processor_seconds(self) -> float:
        """Tell how long the service, with the processes that it started, has used processors."""
        pid = self._process.pid
        started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(map(processor_seconds, (pid, *map(int, started))))

    def stream(self, path: str, body: bytes) -> int:
        """Send lines, and count the answers to those that became something."""
        answered = self._ask(path, body, "application/x-ndjson")
        *answers, end = answered.splitlines()
        summary = json.loads(end)["summary"]
        if not summary["complete"]:
            raise SimhashError(f"the stream ended early: {summary}")
        return len(answers)

    def query(self, text: str) -> Any:
        """Ask for the near copies of one text."""
        return json.loads(self._ask("/v1/queries", json.dumps({"text": text}).encode(), "application/json"))

    def _ask(self, path: str, body: bytes, media: str) -> bytes:
        self._connection.request("POST", path, body, {"Content-Type": media})
        answer = self._connection.getresponse()
        found = answer.read()
        if answer.status != 200:
            raise SimhashError(f"{path}: {answer.status} {found[:200]!r}")
        return found


def body_of(documents: Sequence[tuple[str, str]]) -> bytes:
    """Write documents as the lines of a body."""
    return b"".join(json.dumps({"id": name, "text": text}).encode() + b"\n" for name, text in documents)


@contextmanager
def new_index(documents: Sequence[tuple[str, str]] = ()) -> Iterator[str]:
    """Make an index in a folder, with documents or empty, and yield its address."""
    with TemporaryDirectory(prefix="bench-") as folder:
        url = f"file:{Path(folder) / 'index'}"
        with create_index(url, analyzer="jieba") as index:
            for _ in index.add_many(documents):
                pass
        yield url
