"""A laboratory that hurts real stores on purpose, by programs and by a cluster of its own: ``./scripts/faults``."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SEED = 13


def faults(*words):
    """Run it as a program, for tests: it forks, which pytest's own process with its threads should not."""
    command = [sys.executable, "-m", "faults", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    # Into files: a server that a crash of the program leaves behind would keep pipes open.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        done = subprocess.run(command, stdout=out, stderr=err, check=False, env=environment, cwd=ROOT)
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess(done.args, done.returncode, out.read(), err.read())
