"""The laboratory as a program, for tests: it forks, which pytest's own process with its threads should not."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SEED = 13


def faults(*words):
    """Run ``scripts/faults``, in this environment."""
    command = [sys.executable, "-m", "faults", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
