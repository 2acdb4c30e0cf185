"""``load`` from the command line."""

import json
import signal
import time
from types import SimpleNamespace

import pytest
from support.corpus import text, write_jsonl
from support.patience import END_S
from support.results import finish, run, start

from simhash_hbase import create_index
from simhash_hbase.bulk import Spool
from simhash_hbase.cli.commands.load import _writer
from simhash_hbase.cli.options import Choice

pytestmark = pytest.mark.slow


def _manifest(work):
    path = work / "manifest.json"
    return path.read_text() if path.exists() else ""


def test_load_fills_an_empty_index(cli, empty, tmp_path, corpus):
    file, rejects = write_jsonl(tmp_path / "twice.jsonl", [*corpus, corpus[2]]), tmp_path / "rejects.jsonl"

    done = cli("load", empty, file, "--work", tmp_path / "work", "--rejects", rejects)

    assert done.code == 3
    assert done.record == {"documents": 60, "known": 0, "with_another_text": 0, "refused": 1, "resumed": 0,
                           "way": "sorted puts"}  # fmt: skip
    assert "load: 60 documents" in done.err
    assert f"{file}:61: refused: the id 'group 0 copy 2' came before in this input" in done.err
    assert json.loads(json.loads(rejects.read_text())["raw"]) == corpus[2]
    assert not (tmp_path / "work").exists()
    assert cli("verify", empty).code == 0
    assert sorted(r["id"] for r in cli("export", empty).records) == sorted(document["id"] for document in corpus)


def test_load_refuses_a_filled_index_and_options_of_hbase_elsewhere(cli, filled, corpus_file, tmp_path):
    words = ("load", filled, corpus_file, "--work", tmp_path / "work")

    assert "--into-existing" in cli(*words).usage_error
    assert not (tmp_path / "work").exists()
    assert "leave out --staging" in cli(*words, "--into-existing", "--staging", "/somewhere").usage_error
    assert not (tmp_path / "work").exists()
    assert cli("vacuum", filled).code == 0


def test_a_load_that_was_killed_goes_on_where_it_was(cli, empty, tmp_path):
    many = [{"id": f"document {number}", "text": text(number, count=4)} for number in range(20_000)]
    file = write_jsonl(tmp_path / "many.jsonl", many)
    words = ("load", empty, file, "--work", tmp_path / "work", "--workers", 1)
    process = start(*words)
    end = time.monotonic() + END_S
    # The load stands still while it is looked at, or it might end between the look and the kill.
    process.send_signal(signal.SIGSTOP)
    while "part-000000" not in _manifest(tmp_path / "work"):
        process.send_signal(signal.SIGCONT)
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.005)
        process.send_signal(signal.SIGSTOP)
    process.send_signal(signal.SIGKILL)
    finish(process)

    done = run(*words)

    assert done.code == 0
    assert done.record["documents"] == len(many)
    assert done.record["resumed"] >= 16_000
    assert cli("verify", empty).code == 0


@pytest.mark.parametrize("scheme", ["hbase", "hbase+http", "hbase+https"])
def test_a_gateway_alone_gets_sorted_puts(monkeypatch, tmp_path, scheme):
    monkeypatch.setenv("SIMHASH_HBASE_HOME", str(tmp_path))
    monkeypatch.setenv("SIMHASH_HBASE_ACCESS_USER", "me")
    monkeypatch.setenv("SIMHASH_HBASE_ACCESS_KEY", "secret")
    url = f"{scheme}://one/t" + ("" if scheme == "hbase" else "?access=alibaba")
    chosen = Choice(hbase_conf=None, staging=None, jars=None, container=None)
    notes = []
    with create_index("memory:") as index:
        spool = Spool(tmp_path / "work", index.address, index.profile, index.collection)
        writer = _writer(url, index, spool, chosen, SimpleNamespace(note=notes.append))

    assert writer.way == "sorted puts"
    assert [note.partition(": ")[2][:31] for note in notes] == ["a gateway alone cannot load fil"]
