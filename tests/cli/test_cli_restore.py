"""A folder that is lost, and restored as the operations page says."""

import json
import shutil
import subprocess
import sys

import pytest
from support.corpus import near_copies
from support.fresh_clone import blocks, split
from support.serving import NDJSON, lines, ndjson, serving

from simhash_hbase import create_index, open_index


@pytest.mark.slow
def test_what_a_service_acknowledged_is_there_after_its_folder_was_lost(tmp_path):
    url = f"file:{tmp_path / 'news.index'}"
    create_index(url, analyzer="shingle").close()
    before, since = near_copies(20, 2), near_copies(30, 2)[40:]
    backup, *restore = split(blocks()["restore"])
    with serving(url, tmp_path) as server, server.client() as client:
        decided = lines(client.post("/v1/claims", content=ndjson(before), headers=NDJSON))[:-1]
        follow([backup], tmp_path)
        decided += lines(client.post("/v1/claims", content=ndjson(since), headers=NDJSON))[:-1]
        shutil.rmtree(tmp_path / "news.index")
    (tmp_path / "since.jsonl").write_bytes(ndjson(since))

    follow(restore, tmp_path)

    again = [json.loads(line) for line in (tmp_path / "since.decisions").read_text().splitlines()]
    assert [(each["id"], each["status"], each["of"]) for each in again] == [
        (each["id"], each["status"], each["of"]) for each in decided[len(before) :]
    ]
    with open_index(url) as index:
        assert all(index.get_many([each["id"] for each in decided]))
        assert index.verify().wrong == 0


def follow(commands, folder):
    """Run commands, each of which has to succeed."""
    script = "\n".join([f'simhash-hbase() {{ {sys.executable} -m simhash_hbase "$@"; }}', *commands])
    subprocess.run(["bash", "-ec", script], cwd=folder, check=True)
