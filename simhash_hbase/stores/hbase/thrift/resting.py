"""Which of several gateways are used: one at which something went wrong rests, and is then tried again."""

import time
from collections.abc import Callable, Sequence

from simhash_hbase.stores.hbase.options import Gateway

FIRST_REST_S = 5.0
LONGEST_REST_S = 60.0


class Resting:
    """Remembers gateways that failed; each failure in a row doubles the rest.

    The caller holds a lock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[Gateway, float] = {}
        self._rest_s: dict[Gateway, float] = {}

    def failed(self, gateway: Gateway) -> None:
        """Begin a rest; another failure during a rest does not prolong it."""
        if self._until.get(gateway, 0.0) > self._clock():
            return
        rest_s = min(2 * self._rest_s.get(gateway, FIRST_REST_S / 2), LONGEST_REST_S)
        self._rest_s[gateway] = rest_s
        self._until[gateway] = self._clock() + rest_s

    def answered(self, gateway: Gateway) -> None:
        """End the rest and forget earlier failures."""
        self._until.pop(gateway, None)
        self._rest_s.pop(gateway, None)

    def working(self, gateways: Sequence[Gateway]) -> list[Gateway]:
        """List those without a failure since their last answer."""
        return [gateway for gateway in gateways if gateway not in self._until]

    def take_due(self, gateways: Sequence[Gateway]) -> list[Gateway]:
        """List those whose rest is over, and let them rest again, so that only one caller tries each."""
        now = self._clock()
        due = [gateway for gateway in gateways if self._until.get(gateway, now) < now]
        for gateway in due:
            self.failed(gateway)
        return due
