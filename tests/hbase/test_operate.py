"""The recipe for another profile, side by side, runs as docker/README.md prints it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from support.corpus import near_copies, write_jsonl
from support.fresh_clone import blocks

from simhash_hbase import open_index

PROGRAMS = Path(sys.executable).parent


def recipe():
    return "\n".join(line.removeprefix("$ ") for line in blocks()["reindex"].splitlines())


def run(folder, script):
    environment = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_second_index_beside_the_first_knows_the_same_documents_and_what_is_missing_is_told(tmp_path):
    documents = near_copies(20, 3)
    write_jsonl(tmp_path / "old.jsonl", documents)
    # Three ids come again, as the last lines say; the document after them is in the old index only.
    write_jsonl(tmp_path / "corpus.jsonl", documents[:59])
    old = run(tmp_path, "simhash-hbase dedup file:docs.index --create --analyzer shingle old.jsonl > old.decisions")
    assert old.returncode == 0, old.stderr

    done = run(tmp_path, recipe())

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "missing").read_text() == f"{documents[59]['id']}\n"
    told = [json.loads(line) for line in (tmp_path / "new.decisions").read_text().splitlines()]
    assert [one["id"] for one in told] == [document["id"] for document in documents[:59]]
    with open_index(f"file:{tmp_path / 'new.index'}") as index:
        assert index.profile.analyzer == "learned"
        assert sorted(stored.id for stored in index.export()) == sorted(document["id"] for document in documents[:59])
        assert index.verify().wrong == 0
