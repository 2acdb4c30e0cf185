"""A gateway of a test's own beside those of the server here, to be started in another way, or killed."""

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.hbase_server import ENVIRONMENT, STATUS, address
from support.listening import free_port, wait_for_port

__all__ = ["gateway_of", "local_status", "own_gateway"]


@contextmanager
def own_gateway(version, log, *options):
    """Start a gateway like the one that runs, but with these options; give its port and its process.

    Skips the test where the server is not one of plain processes on this machine.
    """
    with gateway_of(local_status(version), version, log, *options) as started:
        yield started


def local_status(version):
    """Return the status of the server, which must be one of plain processes on this machine."""
    address(version)
    status = json.loads(subprocess.run(STATUS, capture_output=True, text=True, check=False, env=ENVIRONMENT).stdout)
    if not status.get("pids"):
        pytest.skip("no gateway can be started beside one in a container or on another machine")
    return status


@contextmanager
def gateway_of(status, version, log, *options, user=None, conf=None, java=()):
    """Start one more gateway of the server with this status.

    If need be as another user of HBase, with files of configuration in front of the server's, and with options of Java.
    """
    running = Path(f"/proc/{status['pids'][f'thrift{version}']}/cmdline").read_text().split("\0")[:-1]
    port = free_port()
    words = [word for word in running[: running.index("-p")] if not word.startswith("-Dprovision")]
    if conf:
        words[words.index("-cp") + 1] = f"{conf}:{words[words.index('-cp') + 1]}"
    words[1:1] = java
    with log.open("wb") as output:
        started = subprocess.Popen(
            [*words, "-p", str(port), *options],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **({"HADOOP_USER_NAME": user} if user else {})},
        )
    try:
        wait_for_port(port, started, log)
        yield port, started
    finally:
        started.terminate()
        started.wait()
