"""Refused records on the terminal: the first ones each, and at the end how many there were for which reason."""

from collections import Counter

from simhash_hbase.cli.screen.output import Output
from simhash_hbase.inputs import Reject

SHOWN_REJECTS = 20
SHOWN_OF_A_REASON = 3
SHOWN_REASONS = 4
_OTHER = "other reasons"
_KNOWN_REASONS = 1_000


class Refusals:
    """Reports refused records."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._shown = 0
        self._seen: Counter[str] = Counter()
        self._hidden: Counter[str] = Counter()

    def tell(self, reject: Reject) -> None:
        """Report a refused record, unless there were many, or some for the same reason."""
        # What follows a semicolon is advice, given once.
        reason = reject.reason.partition(";")[0]
        reason = reason if reason in self._seen or len(self._seen) < _KNOWN_REASONS else _OTHER
        self._seen[reason] += 1
        if self._shown < SHOWN_REJECTS and self._seen[reason] <= SHOWN_OF_A_REASON:
            self._shown += 1
            self._output.warn(f"{reject.place}: refused: {reject.reason}")
        else:
            self._hidden[reason] += 1

    def finish(self) -> None:
        """Report how many were not."""
        if not self._hidden:
            return
        kinds = [f"{count:,} × {reason}" for reason, count in self._hidden.most_common(SHOWN_REASONS)]
        if len(self._hidden) > SHOWN_REASONS:
            kinds.append("and others")
        records = "record was" if self._hidden.total() == 1 else "records were"
        counted = f"{self._hidden.total():,} more {records} refused"
        self._output.warn(f"{counted}: {', '.join(kinds)}; --rejects FILE keeps them all")
