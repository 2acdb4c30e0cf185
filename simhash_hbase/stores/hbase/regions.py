"""Where the regions of a table begin, remembered."""

import time
from collections.abc import Callable

REMEMBER_S = 300.0


class Regions:
    """Remembers the regions' first keys, and asks again after a while or after an error."""

    def __init__(self, ask: Callable[[], list[bytes]]) -> None:
        self._ask = ask
        self._known: list[bytes] | None = None
        self._asked = 0.0

    def starts(self) -> list[bytes]:
        """Return the first keys, sorted."""
        # Threads share it: another one may forget at any time.
        known = self._known
        if known is None or time.monotonic() - self._asked > REMEMBER_S:
            known = self._ask()
            self._known, self._asked = known, time.monotonic()
        return known

    def forget(self) -> None:
        """Ask again next time: a region may have been split or moved."""
        self._known = None
