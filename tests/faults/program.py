"""The laboratory as a program, for tests: it forks, which pytest's own process with its threads should not."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SEED = 13


def faults(*words):
    """Run ``scripts/faults``, in this environment."""
    path = os.pathsep.join(str(ROOT / name) for name in ("tests", "tests/service", "tests/cli", "."))
    command = [sys.executable, "-m", "faults", *map(str, words), "--seed", str(SEED)]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
