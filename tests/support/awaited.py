"""An index of an event loop in the hands of tests that have none: the event loop is in another thread."""

from contextlib import ExitStack
from functools import partial
from inspect import iscoroutinefunction

from anyio.from_thread import start_blocking_portal

from simhash_hbase.client import AsyncIndex


class AwaitedIndex:
    """Has the methods of `AsyncIndex`, each awaited to its end."""

    def __init__(self, url, *, backend="asyncio", **options):
        self._stack = ExitStack()
        self.portal = self._stack.enter_context(start_blocking_portal(backend))
        try:
            self.index = self.portal.call(partial(AsyncIndex.open, url, **options))
        except BaseException:
            self._stack.close()
            raise

    def __getattr__(self, name):
        method = getattr(self.index, name)
        if not callable(method) or name == "rule":
            return method
        if iscoroutinefunction(getattr(method, "__func__", method)):
            return lambda *words, **named: self.portal.call(partial(method, *words, **named))
        return lambda *words, **named: iter(self.portal.call(_read, partial(method, *words, **named)))

    def in_collection(self, name):
        view = object.__new__(type(self))
        view.portal, view.index = self.portal, self.index.in_collection(name)
        return view

    def __contains__(self, name):
        return self.get(name) is not None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self._stack:
            self.close()


async def _read(method):
    return [result async for result in method()]
