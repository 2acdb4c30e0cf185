"""The command line, called in this process: arguments in; exit code, records and messages out."""

import io
import json
import os
import sys
from contextlib import contextmanager

import pytest
from support.corpus import near_copies, write_jsonl

from simhash_hbase.corpus.checkpoint import FileDecisions


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    """Keep the caller's own settings out of the tests."""
    for name in list(os.environ):
        if name.startswith("SIMHASH_HBASE_") and name != "SIMHASH_HBASE_DATA":
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def standard_input(monkeypatch):
    """Return what gives bytes to the next command as its standard input."""
    return lambda data: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.fixture
def corpus():
    """Return 60 documents of which every third starts a group of three near copies."""
    return near_copies(20, 3)


@pytest.fixture
def corpus_file(tmp_path, corpus):
    return write_jsonl(tmp_path / "corpus.jsonl", corpus)


@pytest.fixture
def url(tmp_path):
    """Return an address where no index is."""
    return f"file:{tmp_path / 'new.index'}"


@pytest.fixture
def empty(tmp_path, cli):
    """Return the address of an empty index that cuts no words, so that tests start fast."""
    url = f"file:{tmp_path / 'some.index'}"
    assert cli("create", url, "--analyzer", "shingle").code == 0
    return url


@pytest.fixture
def filled(empty, cli, corpus_file):
    """Return the address of an index with the corpus."""
    assert cli("add", empty, corpus_file).code == 0
    return empty


@pytest.fixture
def simhash_file(tmp_path):
    """Return what writes a file of ready fingerprints, for ``--simhash-field simhash``."""

    def write(name, documents):
        path = tmp_path / name
        lines = [json.dumps({"id": key, "simhash": f"{value:016x}"}) for key, value in documents.items()]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    return write


@pytest.fixture
def stopped(monkeypatch):
    """Return a context in which a run of `dedup` fails at its first commit behind so many records."""
    commit = FileDecisions.commit

    @contextmanager
    def stopped_behind(records):
        def stop(self, progress):
            if progress.records > records:
                # The lines have reached the file, the checkpoint has not.
                self._file.write(self._waiting)
                self._waiting = bytearray()
                raise OSError("stopped by the test")
            commit(self, progress)

        with monkeypatch.context() as patch:
            patch.setattr(FileDecisions, "commit", stop)
            yield

    return stopped_behind
