"""A server of a test's own, with properties that the shared one must not have."""

import json
import os
import subprocess
from contextlib import contextmanager

from support.gates import absent
from support.hbase_server import ENVIRONMENT, SCRIPT
from support.patience import START

__all__ = ["own_server"]


@contextmanager
def own_server(folder, site):
    """Start a server of plain processes in a folder; give its status; skip the test where it cannot be started."""
    environment = {
        **ENVIRONMENT,
        **START,
        "HBASE_SITE": f"\n{site}\n",
        "HBASE_HEAP": "512m",
        "SIMHASH_HBASE_HOME": str(folder),
    }

    def run(*words):
        return subprocess.run([SCRIPT, *words], capture_output=True, text=True, check=False, env=environment)

    started = run("up")
    if started.returncode:
        absent(f"no HBase of this test's own starts: {started.stderr}", os.environ)
    try:
        yield json.loads(run("status", "--json").stdout)
    finally:
        run("clean")
