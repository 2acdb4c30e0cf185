"""A worker process that is killed while the command runs."""

import multiprocessing
from itertools import count

import pytest

from simhash_hbase import Profile
from simhash_hbase.corpus import documents
from simhash_hbase.errors import Retryable, WorkerLost
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.inputs import Document, Place
from simhash_hbase.pipeline.analyse import analyse


def _forever(*_):
    """Yield documents; whenever there are workers, kill one, even while the next one starts."""
    for number in count():
        yield Document(str(number), None, number + 1, None, None, Place("made", number), None)
        if number % 1_000 == 0 and (workers := multiprocessing.active_children()):
            workers[0].kill()


def test_a_killed_worker_is_told_from_a_fault_of_the_input():
    analysis = Analysis(Profile.resolve(analyzer="shingle"))

    with pytest.raises(WorkerLost, match="ended from outside") as raised:
        list(analyse(_forever(), analysis, workers=2))

    assert isinstance(raised.value, Retryable)
    assert multiprocessing.active_children() == []


def test_a_killed_worker_is_a_failure_in_a_sentence(cli, empty, corpus_file, monkeypatch):
    monkeypatch.setattr(documents, "scan", _forever)

    failed = cli("add", empty, corpus_file, "--workers", 2)

    assert failed.code == 1
    assert failed.sentence == "a worker process was ended from outside; fewer --workers need less memory"
