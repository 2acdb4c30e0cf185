"""Many clients and a restart in the middle: what was acknowledged is in the index, and the index is whole."""

import os
import signal

import pytest
from faults.restart import PROCESSES, load

SECONDS = float(os.environ.get("SIMHASH_HBASE_LOAD_SECONDS", "30"))


@pytest.mark.slow
@pytest.mark.parametrize(("end", "options"), [(signal.SIGTERM, PROCESSES), (signal.SIGTERM, ()), (signal.SIGKILL, ())])
def test_a_restart_under_load_loses_nothing_that_was_acknowledged(url, tmp_path, end, options):
    outcome = load(url, tmp_path, SECONDS, end=end, options=options)

    assert outcome.is_good, outcome.wrong
    assert (outcome.times, len(outcome.recovery)) == (1, 1)
    print(outcome)
