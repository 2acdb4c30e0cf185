"""Scripts sent to one server, many in one round trip."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from simhash_hbase.errors import IndexClosed
from simhash_hbase.stores.redis.options import RedisOptions
from simhash_hbase.stores.redis.translate import translated

Argument = bytes | str | int
# Scripts sent before their answers are read: enough to hide the round trip, few enough to bound memory.
PIPELINED = 8


class Connection:
    """A pool of connections to one database; threads may share it, and after a fork the child makes its own.

    A broken connection is replaced, and its scripts are sent once more: every script may run twice. A call without an
    answer in time is not repeated.
    """

    def __init__(self, options: RedisOptions) -> None:
        self.url = options.url
        self._client: redis.Redis | None = redis.Redis(
            host=options.host,
            port=options.port,
            db=options.database,
            username=options.user,
            password=options.password,
            ssl=options.tls,
            socket_connect_timeout=options.connect_timeout_s,
            socket_timeout=options.timeout_s,
            health_check_interval=options.idle_check_s,
            retry=Retry(NoBackoff(), 1, supported_errors=(redis.exceptions.ConnectionError,)),
            # The older protocol: servers before Redis 6 have no other, and the answers of scripts are the same.
            protocol=2,
        )

    def ask(self, *command: Argument) -> Any:  # noqa: ANN401
        """Send one command and return its answer as the client decodes it."""
        with translated(self.url):
            return self._open().execute_command(*command)  # type: ignore[no-untyped-call]

    def run(self, script: str, calls: Iterable[Sequence[Argument]]) -> Iterator[Any]:
        """Run a script once for each list of arguments."""
        waiting = iter(calls)
        while window := list(islice(waiting, PIPELINED)):
            with translated(self.url):
                answers = self._pipelined(script, window)
            yield from answers

    def close(self) -> None:
        """Close all connections; a second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _pipelined(self, script: str, window: Sequence[Sequence[Argument]]) -> list[Any]:
        with self._open().pipeline(transaction=False) as pipeline:
            for arguments in window:
                pipeline.execute_command("EVAL", script, 0, *arguments)  # type: ignore[no-untyped-call]
            answers: list[Any] = pipeline.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def _open(self) -> redis.Redis:
        if self._client is None:
            raise IndexClosed(f"{self.url}: this index was closed")
        return self._client
