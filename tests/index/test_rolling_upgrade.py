"""An upgrade under way: processes of 1.0.0 and of this version write into one index."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from contextlib import ExitStack
from io import BytesIO

import pytest
from support.corpus import near_copies, text, write_jsonl
from support.fresh_clone import ROOT
from support.hbase_server import address, region_server, tables
from support.released import FORMATS, SPECIAL

from simhash_hbase import open_index

RELEASED = "e6a90f8563ed6596e14f62a5146ba8e379aa58f0"
"""The commit of 1.0.0. Its kernel is not compiled here, and some hundred times slower."""
GROUPS = 8
CLAIMER = """
import json, sys
import simhash_hbase
print(json.dumps(simhash_hbase.__file__), flush=True)
with simhash_hbase.open_index(sys.argv[1]) as index:
    given = [tuple(document) for document in json.loads(sys.stdin.readline())]
    for start in range(0, len(given), 3):
        for name, decision in index.claim_many(given[start : start + 3], **json.loads(sys.argv[2])):
            print(json.dumps([name, decision.of]), flush=True)
"""
CALLS = ROOT / "tests" / "support" / "claim_calls.py"
CREATE = "import sys, simhash_hbase; simhash_hbase.create_index(sys.argv[1], analyzer='shingle').close()"
# `load` into HBase, up to the Java program that makes HFiles of what it is sent.
LOADER = """
import sys
from pathlib import Path
from simhash_hbase import bulk, inputs, open_index
from simhash_hbase.bulk import hfiles
url, corpus, out = sys.argv[1:]
def taken(command, pieces, table):
    Path(out).write_bytes(b"".join(pieces))
    sys.exit(0)
hfiles.run_loader = taken
Path(out + " work").mkdir()
with open_index(url) as index:
    spool = bulk.Spool(Path(out + " work"), url, index.profile, index.collection)
    bulk.begin(index, spool)
    list(spool.fill(inputs.scan(inputs.Sources([corpus]), inputs.InputOptions()), index.analysis))
    spool.manifest.stamp = 1_764_000_000_000
    bulk.load(index, spool, bulk.HFileWriter([], "table", "staging"))
"""


@pytest.fixture(scope="module")
def old_package(tmp_path_factory):
    """Return a folder that has the package of 1.0.0, from the history of the project."""
    words = ["git", "archive", "--format=tar", RELEASED, "simhash_hbase"]
    archive = subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip("the history here does not have 1.0.0: git fetch --unshallow")
    folder = tmp_path_factory.mktemp("released")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as package:
        package.extractall(folder, filter="data")
    return folder


def python(words, folder, package):
    """Start Python with the package in a folder, away from the one that the tests run in."""
    environment, pipes = (
        {**os.environ, "PYTHONPATH": str(package)},
        {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE},
    )
    return subprocess.Popen([sys.executable, *words], cwd=folder, env=environment, text=True, **pipes)


def exit_code(words, folder, package):
    with python(words, folder, package) as running:
        running.communicate()
    return running.returncode


def documents_of(writer):
    """Return a near copy of each group that only this writer has, and one document that all writers have."""
    own = [(f"group {group} of {writer}", text(group, count=120, changed=writer)) for group in range(GROUPS)]
    return [*own[writer:], *own[:writer], *((f"shared {group}", text(group, count=120)) for group in range(GROUPS))]


def folders(tmp_path):
    """Return the address of an index for each writer, all of one folder."""
    return [f"file:{tmp_path / 'some.index'}"] * 4


def tables_of_hbase(_):
    """Return the address of an index for each writer, all of one table: one of this version needs no gateway."""
    table = tables().name()
    gateway = f"hbase://{address(2)}/{table}"
    return [gateway, gateway, gateway, f"hbase+rpc://{region_server()}/{table}"]


@pytest.mark.slow
@pytest.mark.parametrize("places", [folders, pytest.param(tables_of_hbase, marks=pytest.mark.hbase)])
def test_of_near_copies_that_two_versions_claim_at_once_one_is_kept(places, old_package, tmp_path):
    urls = places(tmp_path)
    packages = [old_package, ROOT] * 2
    assert exit_code(["-c", CREATE, urls[0]], tmp_path, old_package) == 0

    with ExitStack() as stack:
        writers = []
        for url, package in zip(urls, packages, strict=True):
            batch = {"batch": "new"} if package is ROOT else {}
            claimer = python(["-c", CLAIMER, url, json.dumps(batch)], tmp_path, package)
            writers.append(stack.enter_context(claimer))
        for writer, package in zip(writers, packages, strict=True):
            assert json.loads(writer.stdout.readline()).startswith(str(package))
        # All have imported their version: from here on they claim at once.
        for number, writer in enumerate(writers):
            writer.stdin.write(json.dumps(documents_of(number)) + "\n")
            writer.stdin.flush()
        answers = [[json.loads(line) for line in writer.stdout] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * len(writers)

    decided = {}
    for name, of in (answer for some in answers for answer in some):
        assert decided.setdefault(name, of) == of
    assert len(decided) == (len(writers) + 1) * GROUPS
    kept = {name.split()[1] for name, of in decided.items() if of is None}
    assert len(kept) == GROUPS == sum(of is None for of in decided.values())
    assert all(decided[of] is None and of.split()[1] == name.split()[1] for name, of in decided.items() if of)
    with open_index(urls[-1]) as index:
        assert (index.verify().wrong, index.verify().incomplete) == (0, 0)
        assert {stored.id: stored.of for stored in index.export()} == decided
        # What was acknowledged is found, and beside an original no other one.
        for name, document in (each for number in range(len(writers)) for each in documents_of(number)):
            assert [match.id for match in index.query(document).matches] == [decided[name] or name]
    assert exit_code(["-m", "simhash_hbase", "verify", urls[0]], tmp_path, old_package) == 0


@pytest.mark.slow
def test_claims_make_the_calls_of_a_store_that_those_of_1_0_0_made(old_package, tmp_path):
    known = json.loads((FORMATS / "1.0.0" / "shingle.json").read_text("utf-8"))
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps(known["profile"]), "utf-8")

    printed = []
    for package in (old_package, ROOT):
        with python(["-P", CALLS, profile], tmp_path, package) as running:
            printed.append({tuple(schedule): calls for schedule, calls in map(json.loads, running.stdout)})
        assert running.returncode == 0
    old, new = printed

    assert old.keys() == new.keys()
    assert len(new) > 200
    # The protocol is one, so the simulator of claims need not mix two. In two schedules another writer decides a new id
    # between two looks at it: 1.0.0 takes the document for its own original, is refused, and begins anew.
    different = {schedule for schedule in new if old[schedule] != new[schedule]}
    assert different == {(writer, writer, 2, False) for writer in ("many", "one")}
    for schedule in different:
        answers = [[call for call in calls[schedule] if call[1] == "answers"] for calls in printed]
        assert answers[0] == answers[1]


@pytest.mark.slow
def test_load_sends_to_the_maker_of_hfiles_what_1_0_0_sent(old_package, tmp_path):
    corpus = write_jsonl(
        tmp_path / "corpus.jsonl", [*near_copies(2, 2), {"id": "special", "text": SPECIAL["full width"]}]
    )
    made = tmp_path / "made.index"
    assert exit_code(["-c", CREATE, f"file:{made}"], tmp_path, old_package) == 0

    streams = []
    for name, package in (("old", old_package), ("new", ROOT)):
        shutil.copytree(made, tmp_path / f"{name}.index")
        out = tmp_path / f"{name}.stream"
        words = ["-c", LOADER, f"file:{tmp_path / name}.index", str(corpus), str(out)]
        assert exit_code(words, tmp_path, package) == 0
        streams.append(out.read_bytes())

    assert streams[0].startswith(b"SHB1")
    assert streams[1] == streams[0]
