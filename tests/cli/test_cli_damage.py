"""Commands over damaged folders: a truncated one is refused by all, and `verify` finds a damaged page."""

import json
import subprocess
import sys

import pytest
from support.corpus import near_copies, write_jsonl

from simhash_hbase import create_index

pytestmark = pytest.mark.slow

PAGE = 4096
FIRST = "group 0 copy 0"
COMMANDS = {
    **{name: ["CORPUS"] for name in ("query", "add", "claim", "dedup", "load")},
    **{name: [FIRST] for name in ("get", "copies", "remove")},
    **{name: [] for name in ("export", "verify", "vacuum")},
    "stats": ["--exact"],
    "explain": [FIRST, "group 1 copy 0"],
    "backup": ["COPY"],
    "serve": ["--no-auth", "--port", "0"],
}
# Runs each command in a process of its own, which a signal may end, without starting Python each time.
EACH = """
import json, os, shutil, sys
import numpy, lmdb
import simhash_hbase.cli.app
from simhash_hbase.__main__ import main
folder, log = sys.argv[1:3]
for data, words in json.load(sys.stdin):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    shutil.copyfile(data, os.path.join(folder, "data.mdb"))
    child = os.fork()
    if not child:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv = ["simhash-hbase", *words]
        try:
            main()
        except SystemExit as end:
            os._exit(end.code or 0)
        os._exit(99)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with open(log, errors="replace") as file:
        print(json.dumps([code, file.read()]))
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_jsonl(tmp_path_factory.mktemp("corpus") / "corpus.jsonl", near_copies(20, 3))


@pytest.fixture(scope="module")
def sound(tmp_path_factory, corpus):
    """Return the bytes of an index, whose pages have all been written."""
    folder = tmp_path_factory.mktemp("sound") / "index"
    with create_index(f"file:{folder}", analyzer="shingle") as index:
        for line in corpus.read_text().splitlines():
            record = json.loads(line)
            index.claim(record["id"], record["text"])
    return (folder / "data.mdb").read_bytes()


def ended(copies, tmp_path, corpus, names=tuple(COMMANDS)):
    """Run commands, each over fresh folders with that data; return exit code and messages of each by its name."""
    asked = []
    for number, data in enumerate(copies):
        (tmp_path / f"data {number}").write_bytes(data)
        named = {"CORPUS": str(corpus), "COPY": str(tmp_path / f"copy {number}")}
        for name in names:
            words = [name, f"file:{tmp_path / 'index'}", *(named.get(word, word) for word in COMMANDS[name])]
            asked.append([str(tmp_path / f"data {number}"), words + ["--quiet"] * (name != "serve")])
    words = [sys.executable, "-c", EACH, tmp_path / "index", tmp_path / "log"]
    done = subprocess.run(words, input=json.dumps(asked), capture_output=True, text=True, check=True)
    found = list(map(json.loads, done.stdout.splitlines()))
    return [dict(zip(names, found[at : at + len(names)], strict=True)) for at in range(0, len(asked), len(names))]


def check(name, code, said):
    """A failure is a sentence of ours; LMDB may print a line of its own before it."""
    assert "Traceback" not in said, (name, said)
    if code:
        lines = said.splitlines()
        assert code in {1, 2}, (name, code, said)
        assert lines[-1].startswith("simhash-hbase: "), (name, said)
        assert all("mdb.c" in line for line in lines[:-1]), (name, said)


@pytest.mark.parametrize("length", ["nothing", "one page", "two pages", "half", "half and a bit", "all but a page"])
def test_no_command_uses_a_truncated_folder(sound, corpus, tmp_path, length):
    pages = len(sound) // PAGE
    kept = {"nothing": 0, "one page": PAGE, "two pages": 2 * PAGE, "half": pages // 2 * PAGE,
            "half and a bit": pages // 2 * PAGE + 100, "all but a page": (pages - 1) * PAGE}[length]  # fmt: skip
    [done] = ended([sound[:kept]], tmp_path, corpus)

    for name, (code, said) in done.items():
        check(name, code, said)
        assert code, name
    assert (tmp_path / "index" / "data.mdb").stat().st_size == kept


def test_verify_finds_a_damaged_page_in_the_list_of_free_ones(sound, corpus, tmp_path):
    pages = range(2 * PAGE, len(sound), PAGE)
    copies = [sound[:at] + bytes(PAGE) + sound[at + PAGE :] for at in pages]
    done = ended(copies, tmp_path, corpus, ["verify", "backup"])

    assert any("list of free pages" in found["verify"][1] for found in done)
    assert all(found["verify"][0] == 1 for found in done if found["backup"][0])
