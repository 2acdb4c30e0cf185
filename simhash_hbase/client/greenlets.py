"""A way for plain functions to await within an event loop, so that one client serves threads and event loops.

The coroutine `carried_out` runs a plain function in a greenlet of its own. Where the function calls `wait_for`, the
greenlet hands the awaitable to that coroutine, which awaits it and hands the result back. SQLAlchemy does the same for
its drivers.
"""

import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from simhash_hbase import errors

try:
    from greenlet import getcurrent, greenlet
except ImportError as error:
    raise errors.missing_extra("an index in an event loop needs greenlet", "client") from error

T = TypeVar("T")


async def carried_out(function: Callable[[], T]) -> T:
    """Run a plain function that may call `wait_for`, and return its result; the event loop goes on while it waits."""
    inner = greenlet(function)
    # The function sees the context variables of the task.
    inner.gr_context = getcurrent().gr_context
    result: Any = inner.switch()
    while not inner.dead:
        try:
            value = await result
        except BaseException:
            # A cancellation, too, ends the function where it waits.
            result = inner.throw(*sys.exc_info())
        else:
            result = inner.switch(value)
    returned: T = result
    return returned


def wait_for(awaitable: Awaitable[T]) -> T:
    """Return the result of an awaitable, as ``await`` does; for plain functions that `carried_out` runs."""
    outer = getcurrent().parent
    assert outer is not None, "only `carried_out` runs what waits"
    result: T = outer.switch(awaitable)
    return result
