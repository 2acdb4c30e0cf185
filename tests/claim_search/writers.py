"""Writers: each claims the batches that it is sent, and says after each one what it was answered."""

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from random import Random
from typing import NamedTuple

from claim_search.faults import FaultyStore, FaultyTransactions, Trouble
from claim_search.mutations import take_out
from claim_search.plan import Document, as_entries
from simhash_hbase.errors import Retryable
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.index import Index
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.stores.base import Store, Transactional

TRIES = 20
PAUSE_S = 0.02
DEADLINE_S = 30.0
LOOKS_S = 1.0


class Killed(BaseException):
    """Ends a writer that is a thread."""


class Answer(NamedTuple):
    """What one claim was told."""

    id: str
    said: str
    """``original``, ``duplicate``, or the name of a typed error."""
    of: str | None = None
    distance: int | None = None
    similarity: float | None = None


class Writer(NamedTuple):
    """One life of a writer."""

    open_store: Callable[[], Store]
    seed: str
    ahead_ms: int
    """How far its clock is ahead."""
    trouble: Trouble
    is_thread: bool
    hides_transactions: bool
    mutation: str | None
    """The part of the protocol that is taken out."""


def work(writer: Writer, connection: Connection) -> None:
    """Claim what comes, until None does."""
    parent = os.getppid()
    if writer.mutation:
        take_out(writer.mutation)
    try:
        index = _open(writer)
        while True:
            while not connection.poll(LOOKS_S):
                if os.getppid() != parent:
                    return
            task = connection.recv()
            if task is None:
                return
            for batch in task:
                connection.send(_claim(index, batch))
            connection.send(None)
    except (EOFError, OSError, Killed):
        pass
    except BaseException:
        connection.send(traceback.format_exc())
    finally:
        connection.close()


def _open(writer: Writer) -> Index:
    chosen = Random(writer.seed)
    for _ in range(TRIES):
        try:
            return Index(_faulty(writer, chosen), clock=lambda: now_ms() + writer.ahead_ms)
        except Retryable:
            time.sleep(PAUSE_S)
    raise AssertionError("the index cannot be opened")


def _faulty(writer: Writer, chosen: Random) -> Store:
    store = writer.open_store()
    hides = writer.hides_transactions or not isinstance(store, Transactional)
    faulty = FaultyStore if hides else FaultyTransactions
    kill, kill_within = (_end_thread, None) if writer.is_thread else (_end_process, _end_process_within)
    return faulty(store, writer.trouble, chosen, kill, kill_within)


def _end_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _end_process_within(seconds: float) -> None:
    timer = threading.Timer(seconds, _end_process)
    timer.daemon = True
    timer.start()


def _end_thread() -> None:
    raise Killed


def _claim(index: Index, batch: Sequence[Document]) -> list[Answer]:
    """Claim a batch, and claim again what was not decided; list everything that was answered."""
    answers: list[Answer] = []
    for _ in range(TRIES):
        told = _try(index, batch)
        answers += told
        batch = [document for document, answer in zip(batch, told, strict=True) if answer.said not in DECIDED]
        if not batch:
            break
    return answers


DECIDED = ("original", "duplicate")


def _try(index: Index, batch: Sequence[Document]) -> list[Answer]:
    try:
        claimed = index.claim_entries(as_entries(batch), deadline_s=DEADLINE_S)
    except Retryable as error:
        time.sleep(PAUSE_S)
        return [Answer(document.id, type(error).__name__) for document in batch]
    return [_told(document, each) for document, each in zip(batch, claimed, strict=True)]


def _told(document: Document, claimed: Decision | Exception) -> Answer:
    if not isinstance(claimed, Decision):
        return Answer(document.id, type(claimed).__name__)
    said = "original" if claimed.is_original else "duplicate"
    return Answer(document.id, said, claimed.of, claimed.distance, claimed.similarity)
