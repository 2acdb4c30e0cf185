"""Results that a command left behind."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from support.patience import END_S


@dataclass(frozen=True)
class Result:
    """Exit code and output of one command."""

    code: int
    out: bytes
    err: str

    @property
    def records(self):
        return [json.loads(line) for line in self.out.decode().splitlines()]

    @property
    def record(self):
        [record] = self.records
        return record

    @property
    def sentence(self):
        """Take the one line on standard error that reports a failure."""
        [line] = self.err.splitlines()
        assert line.startswith("simhash-hbase: ")
        assert "Traceback" not in self.err
        return line.removeprefix("simhash-hbase: ")

    @property
    def failure(self):
        """Take that line of a failure before anything was printed."""
        assert (self.code, self.out) == (1, b"")
        return self.sentence

    @property
    def usage_error(self):
        """Take that line of wrong usage, where nothing was printed."""
        assert (self.code, self.out) == (2, b"")
        return self.sentence

    @property
    def originals(self):
        return [record["id"] for record in self.records if record["status"] == "original"]


def with_helpers():
    """Return the environment of a program that imports what the tests do."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}


def command(*words):
    return [sys.executable, "-m", "simhash_hbase", *map(str, words)]


def start(*words, **options):
    # Unbuffered: what is read of standard output by hand is not read ahead.
    return subprocess.Popen(command(*words), bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def finish(process, data=None):
    out, err = process.communicate(data, timeout=END_S)
    return Result(process.returncode, out, err.decode())


def run(*words, data=None, env=None, **options):
    environment = {**os.environ, **(env or {})}
    return finish(start(*words, stdin=subprocess.PIPE, env=environment, **options), data)


def python(program):
    return finish(subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE))


class Printed:
    """Takes decisions as the terminal would."""

    def __init__(self):
        self.lines, self.flushed = [], 0

    def line(self, record):
        self.lines.append(dict(record))

    def flush(self):
        self.flushed = len(self.lines)
