"""Several writers at once, as processes or threads; one that was killed comes back and claims the rest again."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from claim_search.faults import Trouble
from claim_search.plan import Document
from claim_search.writers import Answer, Writer, work
from simhash_hbase.stores.base import Store

PATIENCE_S = 300.0
LAST_WORDS_S = 5.0
AHEAD_MS = 60_000
# Not a fork of this process: it has an index open, and threads.
_processes = get_context("forkserver")
_processes.set_forkserver_preload(["claim_search.writers", "simhash_hbase.opening", "simhash_hbase.stores.embedded"])

Task = list[list[Document]]


class Broken(Exception):
    """A writer ended with an error that is none of the package's, or never answered."""


@dataclass(kw_only=True)
class Crew:
    """The writers of one index."""

    open_store: Callable[[], Store]
    seed: str
    writers: int
    trouble: Trouble
    are_threads: bool
    """They share the store."""
    hides_transactions: bool
    """They claim by compare-and-set, whatever else the store can do."""
    mutation: str | None = None
    """The part of the protocol that is taken out."""
    lives: int = 0
    _lines: list[Any] = field(default_factory=list)

    def __enter__(self) -> "Crew":
        self._lines = [self._start(number) for number in range(self.writers)]
        return self

    def __exit__(self, *_: object) -> None:
        for line, writer in self._lines:
            with suppress(OSError):
                line.send(None)
            writer.join(LAST_WORDS_S)
            if isinstance(writer, BaseProcess):
                writer.kill()
            line.close()

    @property
    def kills(self) -> int:
        """Writers that were killed by now."""
        return self.lives - self.writers

    def claim(self, tasks: list[Task]) -> list[Answer]:
        """Let every writer claim its batches; return all answers.

        Raises
        ------
        Broken
            When a writer does not answer, or ends with an error that has no type of ours.
        """
        answers: list[Answer] = []
        left = {number: list(task) for number, task in enumerate(tasks)}
        for number, task in left.items():
            self._send(number, task)
        busy = set(left)
        while busy:
            lines = {self._lines[number][0]: number for number in busy}
            ready = wait(list(lines), PATIENCE_S)
            if not ready:
                raise Broken(f"writers {sorted(busy)} did not answer for {PATIENCE_S:g} s")
            for line in ready:
                number = lines[line]
                if self._hear(number, line, left, answers):
                    busy.discard(number)
        return answers

    def _send(self, number: int, task: Task) -> None:
        # One that was killed as it opened its store hears nothing any more; that its line is at an end is seen next.
        with suppress(OSError):
            self._lines[number][0].send(task)

    def _hear(self, number: int, line: Connection, left: dict[int, Task], answers: list[Answer]) -> bool:
        """Take one message; tell whether the writer is done with its task."""
        try:
            message = line.recv()
        except (EOFError, ConnectionResetError):
            # What it was at is claimed again, by its next life.
            line.close()
            self._lines[number][1].join(PATIENCE_S)
            self._lines[number] = self._start(number)
            self._send(number, left[number])
            return False
        if isinstance(message, str):
            raise Broken(message)
        if message is not None:
            answers += message
            left[number] = left[number][1:]
        return message is None

    def _start(self, number: int) -> tuple[Connection, Any]:
        mine, its = Pipe()
        seed = f"{self.seed}/{number}/{self.lives}"
        writer = Writer(
            self.open_store,
            seed,
            number * AHEAD_MS,
            self.trouble,
            self.are_threads,
            self.hides_transactions,
            self.mutation,
        )
        self.lives += 1
        if self.are_threads:
            started: Any = threading.Thread(target=work, args=(writer, its), daemon=True)
            started.start()
        else:
            started = _processes.Process(target=work, args=(writer, its), daemon=True)
            started.start()
            # An end of its own in this process would keep the line open after its death.
            its.close()
        return mine, started
