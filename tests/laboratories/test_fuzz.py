"""The fuzz targets: short seeded runs of each, long ones in the slow tests, and that a fault is seen."""

import random
import subprocess
import sys
from importlib import import_module
from itertools import islice
from types import SimpleNamespace

import pytest
from fuzz import CHANGES, TARGETS, inputs, run
from support.results import with_helpers

INPUTS = {"fuzz_html": 60, "fuzz_kernel": 60, "fuzz_rpc": 200, "fuzz_thrift": 200, "fuzz_warc": 100}
MANY_INPUTS = {"fuzz_html": 500, "fuzz_kernel": 500, "fuzz_rpc": 1_500, "fuzz_warc": 250}
"""Of the slow tests: they take 10 s of processor time. A seed has the same inputs in every run; ``python -m fuzz`` has
others. Some answers of gateways keep the reader busy for minutes (see `fuzz_thrift`)."""


def test_there_are_targets_of_crawls_pages_wire_and_kernel():
    assert list(INPUTS) == TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_of_a_seed_is_too_much(name):
    assert run(import_module(f"fuzz.{name}"), seed=2, most=INPUTS[name]) == INPUTS[name]


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize("name", MANY_INPUTS)
def test_no_input_of_a_long_run_is_too_much(name):
    assert run(import_module(f"fuzz.{name}"), seed=1, most=MANY_INPUTS[name]) == MANY_INPUTS[name]


def test_inputs_are_those_of_the_seed():
    first, again, other = (
        list(islice(inputs([b"some bytes", b"and others"], random.Random(n)), 200)) for n in (1, 1, 2)
    )
    assert first == again != other
    assert len(set(first)) > 150
    assert all(change(b"", random.Random(1), [b""]) is not None for change in CHANGES)


FIRST_INPUTS = """
import datetime, sys, time

later, day, now = int(sys.argv[1]), datetime.datetime, time.time
class Clock(day):
    now = classmethod(lambda cls, zone=None: day.now(zone) + datetime.timedelta(seconds=later))
datetime.datetime, time.time = Clock, lambda: now() + later

import random
from hashlib import sha256
from importlib import import_module
from itertools import islice
from fuzz import TARGETS, inputs

for name in TARGETS:
    made = islice(inputs(import_module(f"fuzz.{name}").SEEDS, random.Random(1)), 500)
    print(name, sha256(repr(list(made)).encode()).hexdigest())
"""


def test_inputs_of_a_seed_are_the_same_bytes_in_every_process_at_any_time():
    first, later = (
        subprocess.run(
            [sys.executable, "-c", FIRST_INPUTS, seconds],
            env=with_helpers() | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for seed, seconds in (("1", "0"), ("2", "100000000"))
    )

    assert len(first) == len(TARGETS)
    assert first == later


def test_an_input_that_stops_a_target_is_shown_with_its_seed():
    def stop(data):
        if len(data) > 20:
            raise KeyError("too long")

    with pytest.raises(
        AssertionError, match=r"input \d+ of seed 7: KeyError: 'too long'\nbytes.fromhex\('[0-9a-f]{42,}'\)"
    ):
        run(SimpleNamespace(__name__="t", SEEDS=[b"some bytes"], TestOneInput=stop), seed=7, most=1_000)
