"""What cannot be read below a folder is refused, and all else is read."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.imported import IMPORT_ALL

from simhash_hbase.inputs import Document, Sources, read, total_bytes

pytestmark = pytest.mark.slow
READ = f"""{IMPORT_ALL}
import json, os, sys
os.setgroups([]), os.setgid(65534), os.setuid(65534)
from simhash_hbase.inputs import read, total_bytes
total_bytes(sys.argv[1:])
print(json.dumps([[r.place.file, getattr(r, "reason", None)] for r in read(sys.argv[1:])]))
"""


def write_texts(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the text of {name}")


@pytest.fixture
def corpus(tmp_path):
    write_texts(tmp_path / "corpus", "a.txt", "b/c.txt", "z.txt")
    return tmp_path / "corpus"


def shown(folder, records):
    return [(os.path.relpath(r.place.file, folder), "" if isinstance(r, Document) else r.reason) for r in records]


@pytest.mark.parametrize(
    ("target", "reason"), [("loop.txt", "too many levels of symbolic links"), ("nowhere", "no such file or directory")]
)
@pytest.mark.parametrize("pattern", [False, True])
def test_a_link_that_leads_nowhere_is_refused_and_the_rest_is_read(corpus, target, reason, pattern):
    (corpus / "loop.txt").symlink_to(target)
    named = [str(corpus / "*.txt")] if pattern else [str(corpus)]
    got = shown(corpus, read(named))

    inner = [] if pattern else [("b/c.txt", "")]
    fault = f"the symbolic link leads nowhere: {reason}"
    assert got == [("a.txt", ""), *inner, ("loop.txt", fault), ("z.txt", "")]
    assert total_bytes(named) == sum(source.size for source in Sources(named).files())


def test_links_to_files_are_read_and_to_folders_passed_over(corpus):
    (corpus / "link.txt").symlink_to("a.txt")
    (corpus / "folder").symlink_to("b")
    assert [name for name, _ in shown(corpus, read([str(corpus)]))] == ["a.txt", "b/c.txt", "link.txt", "z.txt"]


def test_folders_are_read_however_deep_they_are(corpus):
    deep = corpus / "/".join("d" * 1_500)
    subprocess.run(["mkdir", "-p", deep], check=True)
    try:
        (deep / "deep.txt").write_text("a text far below")

        assert "a text far below" in {record.text for record in read([str(corpus)])}
    finally:
        # By a program that does not call itself for each folder.
        subprocess.run(["rm", "-rf", corpus / "d"], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="reads as another user, which only root may")
def test_a_folder_that_may_not_be_read_is_refused_and_the_rest_is_read():
    # Not below tmp_path, which nobody else may enter.
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_texts(folder, "a.txt", "b/c.txt", "closed/d.txt", "listed/e.txt", "f.txt", "z.txt")
        for name, mode in ((".", 0o755), ("closed", 0o000), ("listed", 0o744), ("f.txt", 0o000)):
            (folder / name).chmod(mode)
        done = subprocess.run([sys.executable, "-c", READ, folder], capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert [[os.path.relpath(name, folder), reason] for name, reason in json.loads(done.stdout)] == [
        ["a.txt", None],
        ["b/c.txt", None],
        ["closed", "the folder cannot be read: permission denied"],
        ["f.txt", "reading stopped: Permission denied"],
        ["listed/e.txt", "reading stopped: Permission denied"],
        ["z.txt", None],
    ]
