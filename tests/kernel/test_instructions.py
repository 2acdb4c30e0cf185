"""How many instructions a fingerprint and a query in a folder take: a number that no busy machine changes.

``instructions.json`` has what they took, and where: counts depend on the compilers of Python and of the kernel. Where
neither has changed, a change of the count is one of the code. Elsewhere the count must not be far above the smallest.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from support import counted
from support.gates import absent

from simhash_hbase import kernel

BASELINES = Path(__file__).with_name("instructions.json")
TOLERANCE = 0.03
ELSEWHERE = 1.3
"""The most that another compiler or another Python may add."""


def environment():
    """Return what counts depend on."""
    module = Path(kernel.__file__).with_name(f"votes{EXTENSION_SUFFIXES[0]}")
    compiler = re.search(rb"GCC: \(.*?\) [0-9.]+|clang version [0-9.]+", module.read_bytes())
    return {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "compiler_of_python": platform.python_compiler(),
        "optimized_python": "--enable-optimizations" in str(sysconfig.get_config_var("CONFIG_ARGS")),
        "compiler": compiler[0].decode() if compiler else "unknown",
    }


def measured(folder):
    """Count the instructions of one job of each kind."""
    fill = "import sys; from support.counted import fill; fill(sys.argv[1])"
    place = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(Path(counted.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", fill, str(folder / "index")], env=place, check=True)
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command += [f"--log-file={folder}/%p.log", sys.executable, counted.__file__, str(folder / "index")]
    done = subprocess.run(command, env=place, check=True, capture_output=True, text=True)
    counts = {}
    for line in done.stdout.splitlines():
        job, _, process = line.split()
        log = (folder / f"{process}.log").read_text()
        count = int(re.search(r"I +refs: +([\d,]+)", log)[1].replace(",", ""))
        counts.setdefault(job, []).append(count)
    return {job: round((twice - once) / counted.TIMES) for job, (once, twice) in counts.items()}


def complaints(counts, here, baselines):
    """Say which counts are not as they were."""
    same = [baseline["instructions"] for baseline in baselines if baseline["environment"] == here]
    known = same or [each["instructions"] for each in baselines if each["environment"]["machine"] == here["machine"]]
    found = []
    for job, count in counts.items():
        was = min(each[job] for each in known)
        least, most = (1 - TOLERANCE, 1 + TOLERANCE) if same else (0, ELSEWHERE)
        if not least * was <= count <= most * was:
            found.append(f"{job}: {count:,} instructions, {count / was - 1:+.0%} of {was:,}")
    return found


WAS = {"environment": {"machine": "m", "python": "1"}, "instructions": {"query": 1_000}}


@pytest.mark.parametrize(
    ("python", "count", "found"),
    [
        ("1", 1_029, []),
        ("1", 1_031, ["query: 1,031 instructions, +3% of 1,000"]),
        # Else the next change could give back what this one has gained.
        ("1", 900, ["query: 900 instructions, -10% of 1,000"]),
        ("2", 1_299, []),
        ("2", 500, []),
        ("2", 1_400, ["query: 1,400 instructions, +40% of 1,000"]),
    ],
)
def test_counts_are_compared_closely_where_nothing_else_has_changed(python, count, found):
    assert complaints({"query": count}, {"machine": "m", "python": python}, [WAS]) == found


@pytest.mark.slow
@pytest.mark.unmeasured
def test_a_fingerprint_and_a_query_take_the_instructions_that_they_took(tmp_path):
    if shutil.which("valgrind") is None:
        absent("valgrind counts instructions: apt-get install valgrind")
    if not kernel.COMPILED:
        absent("instructions are counted of a compiled kernel")
    baselines, here = json.loads(BASELINES.read_text()), environment()
    if all(baseline["environment"]["machine"] != here["machine"] for baseline in baselines):
        absent(f"no counts of a machine of kind {here['machine']} are known")
    counts = measured(tmp_path)

    found = complaints(counts, here, baselines)
    wanted = json.dumps({"environment": here, "instructions": counts}, indent=2)
    assert not found, f"if this is meant, put it into {BASELINES.name}:\n{wanted}"
