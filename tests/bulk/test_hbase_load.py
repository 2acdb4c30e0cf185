"""``load`` into an HBase in a container, from the command line."""

import pytest
from support.corpus import text, write_jsonl
from support.hbase_server import address, launcher_status, tables
from support.results import run


@pytest.mark.hbase
def test_a_container_loads_files_by_itself(tmp_path):
    table = f"hbase://{address(2)}/{tables().name()}"
    if (container := launcher_status().get("container")) is None:
        pytest.skip("no server was started here that has a container")
    corpus = write_jsonl(tmp_path / "corpus.jsonl", [{"id": f"document {n}", "text": text(n)} for n in range(40)])
    inside = ("--container", container)

    ways, simhashes = [], []
    for url, options in ((f"file:{tmp_path / 'index'}", ()), (table, inside)):
        assert run("create", url, "--analyzer", "shingle").code == 0
        ways.append(run("load", url, corpus, "--work", tmp_path / "work", *options).record["way"])
        assert run("verify", url).code == 0
        simhashes.append({record["id"]: record["simhash"] for record in run("export", url).records})

    assert ways[1] == "HFiles"
    assert simhashes[0] == simhashes[1]
    assert len(simhashes[1]) == 40
