"""``load`` into a real HBase from the command line, by each way that leads there."""

import json
import subprocess
import sys

import pytest
from support.corpus import text, write_jsonl
from support.hbase_server import ENVIRONMENT, STATUS, address, tables

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def status():
    """Return what the launcher tells of the running server."""
    address(2)
    return json.loads(subprocess.run(STATUS, capture_output=True, text=True, check=False, env=ENVIRONMENT).stdout)


@pytest.fixture
def corpus(tmp_path):
    return write_jsonl(tmp_path / "corpus.jsonl", [{"id": f"document {n}", "text": text(n)} for n in range(40)])


def run(*words, **variables):
    command = [sys.executable, "-m", "simhash_hbase", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**ENVIRONMENT, **variables})
    assert done.returncode == 0, done.stderr
    return done


def loaded(tmp_path, url, corpus, *options, **variables):
    """Load a corpus, check that everything is there, and return the line that was printed and what people were told."""
    run("create", url, "--analyzer", "shingle")
    done = run("load", url, corpus, "--work", tmp_path / "work", *options, **variables)
    there = run("export", url).stdout
    run("verify", url)
    beside = f"file:{tmp_path / 'index'}"
    run("create", beside, "--analyzer", "shingle")
    run("load", beside, corpus, "--work", tmp_path / "work")
    assert simhashes(there) == simhashes(run("export", beside).stdout)
    return json.loads(done.stdout), done.stderr


def simhashes(exported):
    return {record["id"]: record["simhash"] for record in map(json.loads, exported.splitlines())}


@pytest.fixture
def url():
    return f"hbase://{address(2)}/{tables().name()}"


def test_a_server_of_this_machine_is_found_alone(status, url, corpus, tmp_path):
    needs(status, "conf")

    record, _ = loaded(tmp_path, url, corpus, SIMHASH_HBASE_HOME=status["folder"])

    assert (record["documents"], record["way"]) == (40, "HFiles")


def test_configuration_and_staging_folder_are_taken_as_named(status, url, corpus, tmp_path):
    needs(status, "conf")
    staging = tmp_path / "staging"
    named = ["--hbase-conf", status["conf"], "--staging", staging, "--jars", status["jars"]]

    record, _ = loaded(tmp_path, url, corpus, *named, SIMHASH_HBASE_HOME=str(tmp_path / "nothing"))

    assert (record["documents"], record["way"]) == (40, "HFiles")
    assert list(staging.iterdir()) == []


def test_a_container_loads_files_by_itself(status, url, corpus, tmp_path):
    needs(status, "container")

    record, _ = loaded(tmp_path, url, corpus, "--container", status["container"])

    assert (record["documents"], record["way"]) == (40, "HFiles")


def test_behind_a_gateway_alone_rows_are_put(url, corpus, tmp_path):
    record, told = loaded(tmp_path, url, corpus, SIMHASH_HBASE_HOME=str(tmp_path / "nothing"))

    assert (record["documents"], record["way"]) == (40, "sorted puts")
    assert "a gateway alone cannot load files" in told


def needs(status, what):
    if not status["up"] or what not in status:
        pytest.skip(f"no server was started here that has a {what}")
