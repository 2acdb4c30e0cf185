"""Refused records in messages: the first ones each, and at the end how many there were for which reason."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from simhash_hbase.corpus.notes import where
from simhash_hbase.inputs import Reject, write_rejects

SHOWN_REJECTS = 20
SHOWN_OF_A_REASON = 3
SHOWN_REASONS = 4
_OTHER = "other reasons"
_KNOWN_REASONS = 1_000


class Refusals:
    """Counts, reports and keeps refused records."""

    def __init__(self, note: Callable[[str], None], keep: Callable[[Reject], None] | None, count: int) -> None:
        self.count = count
        self._note = note
        self._keep = keep
        self._shown = 0
        self._seen: Counter[str] = Counter()
        self._hidden: Counter[str] = Counter()

    @classmethod
    @contextmanager
    def open(cls, path: str | None, note: Callable[[str], None], *, count: int = 0) -> Iterator[Self]:
        """Open the file for them, with the records of an earlier run left in it."""
        if path is None:
            yield cls(note, None, count)
            return
        with write_rejects(path, keep=count) as keep:
            yield cls(note, keep, count)

    def add(self, reject: Reject) -> None:
        """Take a refused record; report it, unless there were many, or some for the same reason."""
        self.count += 1
        if self._keep is not None:
            self._keep(reject)
        # What follows a semicolon is advice, given once.
        reason = reject.reason.partition(";")[0]
        reason = reason if reason in self._seen or len(self._seen) < _KNOWN_REASONS else _OTHER
        self._seen[reason] += 1
        if self._shown < SHOWN_REJECTS and self._seen[reason] <= SHOWN_OF_A_REASON:
            self._shown += 1
            self._note(f"{where(reject.place)}: refused: {reject.reason}")
        else:
            self._hidden[reason] += 1

    def finish(self) -> None:
        """Report how many were not reported each."""
        total = self._hidden.total()
        if not total:
            return
        kinds = [f"{count:,} × {reason}" for reason, count in self._hidden.most_common(SHOWN_REASONS)]
        if len(self._hidden) > SHOWN_REASONS:
            kinds.append("and others")
        records = "record was" if total == 1 else "records were"
        self._note(f"{total:,} more {records} refused: {', '.join(kinds)}; --rejects FILE keeps them all")
