"""What the launcher tells of the running HBase, for tests that need more than its gateways."""

import json
import subprocess
from functools import cache

import pytest

from support.hbase_server import STATUS, address

__all__ = ["server_status"]


@cache
def _status():
    shown = subprocess.run(STATUS, capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)


def server_status() -> dict[str, str]:
    """Return the folders of the server, its configuration and its jars; skip the test where they cannot be reached."""
    address(2)
    if "conf" not in _status():
        pytest.skip("the server's files cannot be reached: it was started --with docker")
    return _status()
