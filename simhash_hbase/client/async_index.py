"""An index behind the HTTP service, for programs with an event loop: the methods of `Index`, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from copy import copy
from functools import partial, wraps
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from simhash_hbase.client.async_connections import AsyncConnections
from simhash_hbase.client.greenlets import carried_out, wait_for
from simhash_hbase.client.index import PATIENCE_S, RemoteIndex
from simhash_hbase.profile import MatchRule, Profile
from simhash_hbase.rows.collections import Collection
from simhash_hbase.stores.addresses import Address

D = TypeVar("D")
P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    method: Callable[Concatenate[RemoteIndex, P], T],
) -> Callable[Concatenate[AsyncIndex, P], Coroutine[Any, Any, T]]:
    """Return a coroutine method for `AsyncIndex` that calls a method of `RemoteIndex` and returns its result."""

    @wraps(method)
    async def call(self: AsyncIndex, /, *words: P.args, **named: P.kwargs) -> T:
        return await carried_out(partial(method, self._remote, *words, **named))

    return call


def _iterated(
    method: Callable[Concatenate[RemoteIndex, P], Iterator[T]],
) -> Callable[Concatenate[AsyncIndex, P], AsyncIterator[T]]:
    """Return a method for `AsyncIndex` that yields, by ``async for``, the items that a `RemoteIndex` method yields."""

    @wraps(method)
    def call(self: AsyncIndex, /, *words: P.args, **named: P.kwargs) -> AsyncIterator[T]:
        return _results(partial(method, self._remote, *words, **named))

    return call


def _streamed(
    method: Callable[Concatenate[RemoteIndex, Iterable[D], P], Iterator[T]],
) -> Callable[Concatenate[AsyncIndex, Iterable[D] | AsyncIterable[D], P], AsyncIterator[T]]:
    """Return a method for `AsyncIndex` as `_iterated` does; its documents may come from an asynchronous iterable, too.

    The method checks its arguments when it is called, not when the first result is read.
    """

    @wraps(method)
    def call(
        self: AsyncIndex, given: Iterable[D] | AsyncIterable[D], /, *words: P.args, **named: P.kwargs
    ) -> AsyncIterator[T]:
        items = _drawn(given) if isinstance(given, AsyncIterable) else given
        results = method(self._remote, items, *words, **named)
        return _results(lambda: results)

    return call


class AsyncIndex:
    """An index behind the HTTP service, for programs with an event loop of asyncio.

    `open_async_index` opens one, and ``async with`` closes it.

    Notes
    -----
    Each method has the parameters, answers, errors, limits and repetitions of the method of `RemoteIndex` with the same
    name. `remove_batch` and the methods with ``_many`` in their names, except `get_many`, yield their results by
    ``async for``; their documents may come from an iterable or an asynchronous one. All other methods that send
    requests are awaited. A task that is cancelled gives its request up; a write may have been applied by then, as after
    a `StoreTimeout`.

    Any number of tasks of one event loop may share an index. They have 16 connections; further calls wait for one.
    """

    def __init__(self, remote: RemoteIndex) -> None:
        self._remote = remote

    @classmethod
    async def open(cls, url: Address, *, key: str | None = None, patience_s: float = PATIENCE_S) -> Self:
        """Open an index; parameters and errors are those of `RemoteIndex`."""
        return cls(
            await carried_out(partial(RemoteIndex, url, key=key, patience_s=patience_s, transport=AsyncConnections))
        )

    @property
    def address(self) -> str:
        """The address of the service; for a view of one collection, with the collection's name."""
        return self._remote.address

    @property
    def profile(self) -> Profile:
        """The options that the index was made with."""
        return self._remote.profile

    @property
    def collection(self) -> Collection:
        """The collection whose documents are read and written."""
        return self._remote.collection

    def in_collection(self, name: str | None) -> Self:
        """Return a view of one collection; see `Index.in_collection`."""
        view = copy(self)
        view._remote = self._remote.in_collection(name)
        return view

    def rule(
        self, *, match: str | None = None, distance: int | None = None, similarity: float | None = None
    ) -> MatchRule:
        """Return the match rule of a query; see `Index.rule`."""
        return self._remote.rule(match=match, distance=distance, similarity=similarity)

    add = _awaited(RemoteIndex.add)
    batches = _awaited(RemoteIndex.batches)
    claim = _awaited(RemoteIndex.claim)
    close = _awaited(RemoteIndex.close)
    copies = _awaited(RemoteIndex.copies)
    count_items = _awaited(RemoteIndex.count_items)
    find = _awaited(RemoteIndex.find)
    get = _awaited(RemoteIndex.get)
    get_many = _awaited(RemoteIndex.get_many)
    items = _awaited(RemoteIndex.items)
    passages = _awaited(RemoteIndex.passages)
    query = _awaited(RemoteIndex.query)
    query_id = _awaited(RemoteIndex.query_id)
    query_simhash = _awaited(RemoteIndex.query_simhash)
    remove = _awaited(RemoteIndex.remove)
    stats = _awaited(RemoteIndex.stats)

    add_many = _streamed(RemoteIndex.add_many)
    claim_many = _streamed(RemoteIndex.claim_many)
    find_many = _streamed(RemoteIndex.find_many)
    items_many = _streamed(RemoteIndex.items_many)
    passages_many = _streamed(RemoteIndex.passages_many)
    query_many = _streamed(RemoteIndex.query_many)
    remove_many = _streamed(RemoteIndex.remove_many)
    remove_batch = _iterated(RemoteIndex.remove_batch)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._remote).replace("RemoteIndex", "AsyncIndex", 1)


_END: Final = object()


async def _results(begin: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
    """Yield the items of the iterator that `begin` returns, without blocking the event loop while one is awaited."""
    results = await carried_out(begin)
    while (result := await carried_out(partial(next, results, _END))) is not _END:
        yield result


def _drawn(given: AsyncIterable[D]) -> Iterator[D]:
    """Yield the items of an asynchronous iterable to a plain loop, within a function that `carried_out` runs."""
    items = aiter(given)
    while True:
        try:
            item = wait_for(anext(items))
        except StopAsyncIteration:
            return
        yield item
