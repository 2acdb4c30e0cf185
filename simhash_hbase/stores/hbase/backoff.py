"""Pauses between tries of calls to HBase that failed: how often and for how long they are tried again."""

import random
import time

from simhash_hbase.errors import Retryable

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0
# A gateway that answers only now and then may hold up a batch for this many deadlines.
DEADLINES_IN_ALL = 10


class Backoff:
    """Waits longer and longer between tries, until the time without any answer or the total time is too long.

    `deadline_s`: seconds that calls may go without an answer; in all, ten times as long.
    """

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._failed: float | None = None
        self._all_tries = 0
        self._begin()

    def wait(self, error: Retryable, *, progress: bool) -> None:
        """Sleep before the next try of calls that ended with an error, or raise the error when no time is left.

        `progress`: whether some calls were answered since the last pause; the time without an answer then begins again.
        """
        if progress:
            self._begin()
        now = time.monotonic()
        self._failed = now if self._failed is None else self._failed
        self._tries += 1
        self._all_tries += 1
        waited, in_all = now - self._started, now - self._failed
        # Random, so that clients that failed together do not retry together.
        pause = random.uniform(0.5, 1.0) * min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**self._tries)
        if waited + pause > self._deadline_s:
            raise after_tries(error, self._tries, waited) from error
        if in_all + pause > DEADLINES_IN_ALL * self._deadline_s:
            raise after_tries(error, self._all_tries, in_all) from error
        time.sleep(pause)

    def _begin(self) -> None:
        self._started = time.monotonic()
        self._tries = 0


def after_tries(error: Retryable, tries: int, seconds: float) -> Retryable:
    """Return an error with the number of tries and seconds in its text; after one try, the same error."""
    if tries == 1:
        return error
    return type(error)(f"{error} (tried {tries} times in {seconds:.1f} s)")
