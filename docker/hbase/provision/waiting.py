"""Waiting for a server that starts."""

import os
import sys
import time
from collections.abc import Callable

from provision import probe
from provision.errors import ProvisionError
from provision.gateways import Gateways

_PAUSE_S = 0.2


def await_answers(
    gateways: Gateways,
    started: float,
    *,
    trouble: Callable[[], str | None],
    log_end: Callable[[], str],
    is_prepared: Callable[[], bool] = lambda: True,
) -> None:
    """Wait until both gateways answer a real call, and say how long it took.

    ``START_TIMEOUT`` says for how many seconds at most; 180 by default.

    Parameters
    ----------
    gateways : Gateways
        Where they will answer.
    started : float
        When the start began, by the monotonic clock.
    trouble : callable
        Says why it will never be ready; None while it may.
    log_end : callable
        Returns the last of what the server logged.
    is_prepared : callable
        Tells whether the gateways may be asked yet.

    Raises
    ------
    ProvisionError
        When there is trouble, or the time is over.
    """
    end = started + float(os.environ.get("START_TIMEOUT", "180"))
    while (missing := probe.failure(gateways) if is_prepared() else "it is still starting") is not None:
        why = trouble()
        if why is not None:
            raise ProvisionError(f"HBase did not start: {why}")
        if time.monotonic() > end:
            raise ProvisionError(f"HBase was not ready in time ({missing}):\n{log_end()}")
        time.sleep(_PAUSE_S)
    print(f"ready after {time.monotonic() - started:.1f} s", file=sys.stderr)
