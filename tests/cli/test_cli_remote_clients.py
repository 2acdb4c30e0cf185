"""Objects of Google Cloud Storage, read and written by gcsfs, and data sets of a Hugging Face hub by its own client."""

import json
import os
import subprocess
import sys
from functools import partial

import pytest
from support.remote_servers import RECORDS, WEB, buckets, hub
from support.results import run

pytestmark = pytest.mark.slow

pytest.importorskip("gcsfs")
pytest.importorskip("huggingface_hub")

DATA_SET = "hf://datasets/someone/news"
SERVICES = {"gs://corpora": buckets, DATA_SET: partial(hub, "someone/news")}
QUICKLY = ("--analyzer", "shingle", "--workers", 1)


@pytest.fixture
def home(tmp_path):
    """Return the variables of a user who never was at either, and has a token of the hub."""
    (tmp_path / "tmp").mkdir()
    folders = {"HOME": tmp_path, "HF_HOME": tmp_path / "hf", "TMPDIR": tmp_path / "tmp"}
    return {"HF_TOKEN": "hf_some", **{name: str(path) for name, path in folders.items()}}


@pytest.mark.parametrize(
    ("place", "name", "address"),
    [
        *(("gs://corpora", "news/a.jsonl", address) for address in ("news/a.jsonl", "news/", "news/*.jsonl")),
        *((DATA_SET, "corpus.jsonl", address) for address in ("corpus.jsonl", "", "*.jsonl")),
    ],
)
def test_objects_are_read_as_files_are(home, tmp_path, place, name, address):
    (tmp_path / "a.jsonl").write_bytes(WEB)
    objects = {name: WEB}
    output = ("--output", f"{place}/clean.jsonl") if address == name else ()
    with SERVICES[place](objects) as (variables, noted):
        there = run("dedup", f"{place}/{address}", *output, *QUICKLY, env=variables | home)
    here = run("dedup", tmp_path / "a.jsonl", *QUICKLY)

    assert (there.code, here.code) == (0, 0), there.err
    assert there.records == here.records
    assert [record["id"] for record in here.records] == [record["id"] for record in RECORDS]
    if output:
        assert [json.loads(line)["id"] for line in objects["clean.jsonl"].splitlines()] == here.originals
    if place == DATA_SET:
        assert output or [wanted[:8] for path, wanted in noted if "/resolve/" in path] == ["bytes=0-"]
    else:
        assert noted == {}  # No upload is unfinished.


def test_a_data_set_is_read_on_after_a_failure(home):
    with hub("someone/news", {"corpus.jsonl": WEB}, broken=1) as (variables, asked):
        done = run("fingerprint", f"{DATA_SET}/corpus.jsonl", *QUICKLY, env=variables | home)

    assert done.code == 0
    assert [record["id"] for record in done.records] == [record["id"] for record in RECORDS]
    assert len([path for path, _ in asked if "/resolve/" in path]) == 2


@pytest.mark.parametrize(
    ("place", "address"),
    [("gs://corpora", "gs://corpora/none.jsonl"), (DATA_SET, f"{DATA_SET}/none.jsonl"),
     (DATA_SET, "hf://datasets/someone/none/corpus.jsonl")],
)  # fmt: skip
def test_what_is_not_there_is_said(home, place, address):
    with SERVICES[place]({"corpus.jsonl": WEB}) as (variables, _):
        done = run("dedup", address, *QUICKLY, env=variables | home)

    assert done.failure == f"{address} does not exist"


WRITTEN = """
import sys
from simhash_hbase.files.remote import created
try:
    with created(sys.argv[1]) as file:
        file.write(bytes(int(sys.argv[2])))
        if sys.argv[3] == "stopped":
            raise RuntimeError
except RuntimeError:
    pass
"""


@pytest.mark.parametrize(
    ("place", "size", "end"),
    [("gs://corpora", 12 << 20, "finished"), ("gs://corpora", 12 << 20, "stopped"), (DATA_SET, 1000, "stopped"),
     (DATA_SET, 12 << 20, "stopped")],
)  # fmt: skip
def test_an_output_replaces_an_object_only_when_it_is_finished(home, place, size, end):
    objects = {"corpus.jsonl": b"before"}
    with SERVICES[place](objects) as (variables, uploads):
        program = [sys.executable, "-c", WRITTEN, f"{place}/corpus.jsonl", str(size), end]
        done = subprocess.run(program, env=os.environ | variables | home, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert objects == {"corpus.jsonl": bytes(size) if end == "finished" else b"before"}
    assert place == DATA_SET or uploads == {}
    assert os.listdir(home["TMPDIR"]) == []
