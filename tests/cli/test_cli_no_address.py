"""`dedup` and `claim` without an address: a temporary index that decides as one that stays, and is gone afterwards."""

import json
import os
import re
import signal
import time

import pytest
from support.corpus import near_copies
from support.results import finish, start

from simhash_hbase.api import IN_MEMORY_BYTES, temporary_index
from simhash_hbase.stores.embedded import EmbeddedStore
from simhash_hbase.stores.memory import MemoryStore

GONE = "the index was temporary and is gone; an address, such as file:docs.index, names one that stays"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return the folder for temporary files, an empty one."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dedup", "claim"])
def test_the_decisions_are_those_of_an_index_that_stays(cli, tmp_path, temporary, corpus_file, command):
    wanted = cli("dedup", f"file:{tmp_path / 'a'}", "--create", corpus_file)

    done = cli(command, corpus_file)

    assert (done.code, done.out) == (0, wanted.out)
    assert done.err.splitlines()[-1] == GONE
    assert GONE not in wanted.err
    assert list(temporary.iterdir()) == []


def test_options_of_an_index_count(cli, corpus_file, tmp_path):
    report = tmp_path / "report.html"
    done = cli("dedup", "--analyzer", "shingle", "--short", "100000", corpus_file, "--quiet", "--report", report)

    assert (done.code, done.err) == (0, "")
    assert {record["short"] for record in done.records} == {True}
    assert "a temporary index" in report.read_text()


def test_an_address_may_come_after_the_files_and_a_name_that_is_neither_is_reported_as_a_file(cli, corpus_file, empty):
    assert cli("dedup", corpus_file, empty).code == 0
    assert len(cli("export", empty).records) == 60
    assert cli("dedup", "news.index").sentence == "news.index does not exist"


@pytest.mark.parametrize("words", [["dedup"], ["claim"], ["dedup", "--analyzer", "learned", "--similarity", "0.9"]])
def test_an_input_without_a_text_to_learn_from_has_its_result(cli, tmp_path, words):
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "bad.jsonl").write_text('{"id": "a"}\nwords\n')
    output = ["--output", tmp_path / "kept.jsonl"] if words[0] == "dedup" else []

    empty, bad = (cli(*words, tmp_path / f"{name}.jsonl", *output) for name in ("empty", "bad"))

    assert (empty.code, empty.out) == (0, b"")
    assert (bad.code, bad.out) == (3, b"")
    assert re.findall(r"jsonl:(\d): refused: ", bad.err) == ["1", "2"]
    assert not output or (tmp_path / "kept.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("dedup file:a {corpus} memory:", "file:a and memory: are two addresses: name one index"),
        ("dedup file:a", "missing argument 'FILE…'; see simhash-hbase dedup --help"),
        ("claim", "missing argument '[URL] FILE…'; see simhash-hbase claim --help"),
        ("claim {index} {corpus}", "{index} is an index, not documents: wanted file:{index}"),
        ("dedup {corpus} --resume --results r", "--resume needs the index of the earlier run, which is gone if it was"),
        ("dedup {corpus} --create", "--create needs an address, such as file:docs.index"),
        ("dedup {corpus} --regions 3", "--regions and --compression are for tables in HBase: name the address of one"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(cli, filled, corpus_file, line, sentence):
    names = {"corpus": corpus_file, "index": filled.removeprefix("file:")}

    assert cli(*line.format(**names).split()).usage_error.startswith(sentence.format(**names))


@pytest.mark.parametrize(
    ("size", "kind"), [(IN_MEMORY_BYTES, MemoryStore), (IN_MEMORY_BYTES + 1, EmbeddedStore), (None, EmbeddedStore)]
)
def test_a_small_input_is_decided_in_memory_and_a_larger_one_in_a_folder(temporary, size, kind):
    with temporary_index(size, analyzer="shingle") as index:
        assert isinstance(index.store, kind)
        assert bool(list(temporary.iterdir())) == (kind is EmbeddedStore)

    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_of_the_index(tmp_path, number):
    folder, pipe = tmp_path / "temporary", tmp_path / "pipe"
    folder.mkdir()
    os.mkfifo(pipe)
    # It waits for a reader of the clusters, with its index still there; of standard input no size is known.
    words = ["dedup", "-", "--analyzer", "shingle", "--clusters", str(pipe), "--quiet"]
    process = start(*words, stdin=-1, env={**os.environ, "TMPDIR": str(folder)})
    process.stdin.write("".join(json.dumps(record) + "\n" for record in near_copies(2, 2)).encode())
    process.stdin.close()
    process.stdin = None
    assert process.stdout.readline()
    while not list(folder.glob("*/duplicates")):
        assert process.poll() is None
        time.sleep(0.02)
    assert list(folder.glob("*/index/data.mdb"))

    process.send_signal(number)
    ended = finish(process)

    assert ended.code == 128 + number
    assert list(folder.iterdir()) == []
