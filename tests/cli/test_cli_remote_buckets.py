"""Objects of Google Cloud Storage, read and written by gcsfs."""

import json
import os
import subprocess
import sys

import pytest
from support.remote_servers import RECORDS, WEB, buckets
from support.results import run

pytestmark = pytest.mark.slow


pytest.importorskip("gcsfs")

QUICKLY = ("--analyzer", "shingle", "--workers", 1)


@pytest.mark.parametrize("address", ["news/a.jsonl", "news/", "news/*.jsonl"])
def test_objects_are_read_as_files_are_and_what_is_kept_is_written(tmp_path, address):
    (tmp_path / "a.jsonl").write_bytes(WEB)
    objects = {"news/a.jsonl": WEB}
    with buckets(objects) as (variables, uploads):
        words = (f"gs://corpora/{address}", "--output", "gs://corpora/clean.jsonl", *QUICKLY)
        there = run("dedup", *words, env=variables | {"HOME": str(tmp_path)})
    here = run("dedup", tmp_path / "a.jsonl", *QUICKLY)

    assert (there.code, here.code) == (0, 0), there.err
    assert there.records == here.records
    assert [json.loads(line)["id"] for line in objects["clean.jsonl"].splitlines()] == here.originals
    assert 0 < len(here.originals) < len(RECORDS)
    assert uploads == {}


def test_what_a_bucket_has_not_is_said(tmp_path):
    with buckets({}) as (variables, _):
        done = run("dedup", "gs://corpora/none.jsonl", *QUICKLY, env=variables | {"HOME": str(tmp_path)})

    assert (done.code, done.sentence) == (1, "gs://corpora/none.jsonl does not exist")


WRITTEN = """
import sys
from simhash_hbase.files.remote import created
try:
    with created("gs://corpora/a") as file:
        file.write(bytes(12 << 20) + b"end")
        if sys.argv[1] == "stopped":
            raise RuntimeError
except RuntimeError:
    pass
"""


@pytest.mark.parametrize(("end", "expected"), [("finished", bytes(12 << 20) + b"end"), ("stopped", b"before")])
def test_a_large_output_replaces_an_object_when_it_is_finished(end, expected):
    objects = {"a": b"before"}
    with buckets(objects) as (variables, uploads):
        program = [sys.executable, "-c", WRITTEN, end]
        done = subprocess.run(program, env=os.environ | variables, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert objects == {"a": expected}
    assert uploads == {}
