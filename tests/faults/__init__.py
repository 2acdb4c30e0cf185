"""A laboratory that hurts real stores on purpose, by programs and by a cluster of its own: ``./scripts/faults``."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SEED = 13


def faults(*words):
    """Run it as a program, for tests: it forks, which pytest's own process with its threads should not."""
    command = [sys.executable, "-m", "faults", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
