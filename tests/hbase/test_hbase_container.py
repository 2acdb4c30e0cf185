"""The container's end: SIGTERM stops it cleanly, and its volume keeps what was acknowledged."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from support.patience import START

from simhash_hbase import create_index, open_index

pytestmark = [
    pytest.mark.hbase,
    pytest.mark.skipif(os.environ.get("SIMHASH_HBASE_TEST_SERVER") != "docker", reason="the server is no container"),
]

ROOT = Path(__file__).parents[2]
STOP_S = 60


@pytest.fixture
def hbase(tmp_path):
    """Return a function that runs ``scripts/hbase`` with a container of the test's own."""
    home = {**os.environ, **START, "SIMHASH_HBASE_HOME": str(tmp_path)}

    def run(*words):
        words = [ROOT / "scripts/hbase", *words, "--with", "docker"]
        done = subprocess.run(words, env=home, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run
    run("clean")


def docker(*words, timeout=None):
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_container_that_is_told_to_stop_ends_cleanly_and_its_volume_keeps_the_documents(hbase, tmp_path):
    url = f"hbase://{hbase('up').split()[-1]}/kept"
    with create_index(url, analyzer="shingle") as index:
        index.add("a", "施工单位应当在开工前报告，没有按时报告的，由交通局通报批评。" * 9)
    name = json.loads(hbase("status", "--json"))["container"]

    docker("stop", f"--time={STOP_S}", name, timeout=2 * STOP_S)

    assert docker("inspect", "--format={{.State.ExitCode}}", name).strip() == "0"
    assert docker("logs", "--tail=1", name).split() == ["entrypoint:", "stopped"]
    hbase("up")
    with open_index(url) as index:
        assert [stored.id for stored in index.export()] == ["a"]
        assert index.verify().wrong == 0
