"""The service in a process of its own, on a free port of this machine."""

import asyncio
import hashlib
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from simhash_hbase import create_index
from simhash_hbase.service.keys import make_key
from support.corpus import SYLLABLES
from support.patience import END_S

if TYPE_CHECKING:
    import httpx

JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}
POLL_S = 0.02
T = TypeVar("T")
WORD = f"(?:{'|'.join(SYLLABLES)}){{2,4}}"
TEXT = re.compile(rf"\b{WORD} {WORD} {WORD}\b")
"""A pattern of every text of `corpus`, and of nothing else."""
IDS = re.compile(r"group \d+ copy \d+|client \d+/\d+/\d+|example\.org")
"""A pattern of the ids that are long enough to be told from the rest of a log."""


class Server:
    """A running service."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, keys: dict[str, str]):
        self.process = process
        self.keys = keys
        self._log = log
        self.port = wait_for(self._listening)["port"]
        self.address = f"http://127.0.0.1:{self.port}"

    def client(self, key: str | None = "all", **options) -> "httpx.Client":
        """Return a client that presents a key."""
        httpx = pytest.importorskip("httpx", reason="./scripts/install dev")
        headers = {} if key is None or key not in self.keys else {"Authorization": f"Bearer {self.keys[key]}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=END_S, verify=False, **options)

    def log_text(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def log(self) -> list[dict]:
        """Return what was logged, whole lines."""
        return [json.loads(line) for line in self.log_text().splitlines(keepends=True) if line.endswith("\n")]

    def stop(self) -> int:
        """End it as an operator would, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(END_S)

    def _listening(self) -> dict | None:
        assert self.process.poll() is None, f"the service ended with {self.process.returncode}: {self.log_text()}"
        return next((line for line in self.log() if line["event"] == "listening"), None)


def new_index(folder: Path, name: str = "some.index", *, passages: int | None = None, agree: str | None = None) -> str:
    """Return the address of an empty index that cuts no words, so that tests start fast."""
    address = f"file:{folder / name}"
    create_index(address, analyzer="shingle", passages=passages, agree=agree).close()
    return address


@contextmanager
def serving(
    url: str, folder: Path, *options: str, auth: bool = True, keys: dict[str, str] | None = None
) -> Iterator[Server]:
    """Serve an index; a server that still runs at the end is stopped, and must end with exit code 0.

    There are keys of the names ``all``, ``read``, ``write`` and ``metrics``, or `keys`, which the folder has already.
    Whatever a test does, its log must hold none of them, no text and no id.
    """
    path = folder / "keys"
    words, scopes = ["--keys", str(path)] if auth else ["--no-auth"], ("read", "write", "metrics")
    keys = keys or {}
    if auth and not keys:
        named = {scope: [scope] for scope in scopes} | {"all": scopes}
        keys = {name: make_key(path, name, list(allowed)) for name, allowed in named.items()}
    log = folder / "log"
    command = [sys.executable, "-m", "simhash_hbase", "serve", url, "--port", "0", "--workers", "1", *words, *options]
    with log.open("wb") as stream, subprocess.Popen(command, stderr=stream, stdin=subprocess.DEVNULL) as process:
        try:
            server = Server(process, log, keys)
            yield server
            if process.poll() is None:
                assert server.stop() == 0, server.log_text()
        finally:
            if process.poll() is None:
                process.kill()
    check_log(server.log_text(), keys)


def check_log(log: str, keys: dict[str, str]) -> None:
    """Find no key, no digest of one, no text and no id in a log whose lines are all JSON."""
    for name, key in keys.items():
        assert key not in log, name
        assert hashlib.sha256(key.encode()).hexdigest() not in log, name
    assert not TEXT.search(log)
    assert not IDS.search(log)
    assert all(json.loads(line) for line in log.splitlines())


def lines(response: "httpx.Response") -> list[dict]:
    return [json.loads(line) for line in response.text.splitlines()]


def ndjson(records: list[dict]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


async def come_true(condition: Callable[[], object]) -> None:
    """Wait in the event loop until something holds."""
    async with asyncio.timeout(END_S):
        while not condition():
            await asyncio.sleep(0.001)


def wait_for(condition: Callable[[], T]) -> T:
    """Ask until something holds, and return it; there is nothing that tells when it does."""
    until = time.monotonic() + END_S
    while not (found := condition()):
        assert time.monotonic() < until, "it did not come to hold"
        time.sleep(POLL_S)
    return found
