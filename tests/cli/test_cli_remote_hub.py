"""Data sets of a Hugging Face hub, read and written by its own client."""

import json
import os
import subprocess
import sys

import pytest
from support.remote_servers import RECORDS, WEB, hub
from support.results import run

pytestmark = pytest.mark.slow


pytest.importorskip("huggingface_hub")

DATA_SET = "hf://datasets/someone/news"
QUICKLY = ("--analyzer", "shingle", "--workers", 1)


def ids(records):
    return [record["id"] for record in records]


@pytest.fixture
def home(tmp_path):
    """Return the variables of a user who never was at a hub."""
    (tmp_path / "tmp").mkdir()
    return {"HOME": str(tmp_path), "HF_HOME": str(tmp_path / "hf"), "TMPDIR": str(tmp_path / "tmp")}


@pytest.mark.parametrize("address", ["corpus.jsonl", "", "*.jsonl"])
def test_a_data_set_is_read_as_a_file_is(home, tmp_path, address):
    (tmp_path / "corpus.jsonl").write_bytes(WEB)
    with hub("someone/news", {"corpus.jsonl": WEB}) as (variables, asked):
        there = run("dedup", f"{DATA_SET}/{address}", *QUICKLY, env=home | variables)
    here = run("dedup", tmp_path / "corpus.jsonl", *QUICKLY)

    assert (there.code, here.code) == (0, 0)
    assert there.records == here.records
    assert ids(there.records) == ids(RECORDS)
    assert [wanted[:8] for path, wanted in asked if "/resolve/" in path] == ["bytes=0-"]


def test_a_data_set_is_read_on_after_a_failure(home):
    with hub("someone/news", {"corpus.jsonl": WEB}, broken=1) as (variables, asked):
        done = run("fingerprint", f"{DATA_SET}/corpus.jsonl", *QUICKLY, env=home | variables)

    assert done.code == 0
    assert ids(done.records) == ids(RECORDS)
    assert len([path for path, _ in asked if "/resolve/" in path]) == 2


@pytest.mark.parametrize("address", [f"{DATA_SET}/none.jsonl", "hf://datasets/someone/none/corpus.jsonl"])
def test_what_a_hub_has_not_is_said(home, address):
    with hub("someone/news", {"corpus.jsonl": WEB}) as (variables, _):
        done = run("dedup", address, *QUICKLY, env=home | variables)

    assert (done.code, done.sentence) == (1, f"{address} does not exist")


def test_what_is_kept_is_committed_to_a_data_set(home):
    files = {"corpus.jsonl": WEB}
    with hub("someone/news", files) as (variables, _):
        words = (f"{DATA_SET}/corpus.jsonl", "--output", f"{DATA_SET}/clean.jsonl", *QUICKLY)
        done = run("dedup", *words, env=home | variables | {"HF_TOKEN": "hf_some"})

    assert done.code == 0, done.err
    assert ids(map(json.loads, files["clean.jsonl"].splitlines())) == done.originals
    assert len(done.originals) < len(RECORDS)


STOPPED = """
import sys
from simhash_hbase.files.remote import created
try:
    with created("hf://datasets/someone/news/corpus.jsonl") as file:
        file.write(bytes(int(sys.argv[1])))
        raise RuntimeError
except RuntimeError:
    print("stopped")
"""


@pytest.mark.parametrize("size", [1000, 12 << 20])
def test_an_output_that_is_not_finished_changes_no_data_set(home, size):
    files = {"corpus.jsonl": WEB}
    with hub("someone/news", files) as (variables, _):
        environment = os.environ | home | variables | {"HF_TOKEN": "hf_some"}
        program = [sys.executable, "-c", STOPPED, str(size)]
        done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("stopped\n", "")
    assert files == {"corpus.jsonl": WEB}
    assert os.listdir(home["TMPDIR"]) == []
