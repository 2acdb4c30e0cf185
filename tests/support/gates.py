"""Skips of tests whose needs are not met here; never in a gate, where a skipped test would prove nothing."""

import os
from collections.abc import Mapping
from typing import NoReturn

import pytest

MUST_RUN = "SIMHASH_HBASE_TESTS_MUST_RUN"
"""Set in a gate."""


def absent(reason: str, environment: Mapping[str, str] = os.environ) -> NoReturn:
    """Skip the test; fail in a gate."""
    (pytest.fail if environment.get(MUST_RUN) else pytest.skip)(reason)
