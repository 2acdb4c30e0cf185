"""Which connections stay when there are too many."""

from typing import Protocol


class Connection(Protocol):
    """A connection as `Connections` needs it."""

    address: str

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""

    def drop(self) -> None:
        """End it at once."""


class Connections:
    """All connections of a server.

    A client is a stranger on a connection until it has presented a key there. A full server drops the oldest stranger
    of the address that has most of them for each newcomer: whoever opens connections to keep others out loses its own.
    Where all have presented a key, the server drops one that waits for its next request.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        # Of each address, oldest first.
        self._strangers: dict[str, dict[Connection, None]] = {}
        self._known: dict[str, dict[Connection, None]] = {}

    def admit(self, newcomer: Connection) -> bool:
        """Take a connection in; return whether there was room, or some could be made."""
        if self._count >= self._most and not self._make_room():
            return False
        self._strangers.setdefault(newcomer.address, {})[newcomer] = None
        self._count += 1
        return True

    def vouch(self, connection: Connection, is_known: bool) -> None:
        """Note whether a connection's client has just presented a key."""
        if self._discard(connection):
            (self._known if is_known else self._strangers).setdefault(connection.address, {})[connection] = None
            self._count += 1

    def forget(self, connection: Connection) -> None:
        """Count a connection no more."""
        self._discard(connection)

    def _make_room(self) -> bool:
        victim = _oldest(self._strangers) or _oldest(self._known, idle=True)
        if victim is None:
            return False
        self._discard(victim)
        victim.drop()
        return True

    def _discard(self, connection: Connection) -> bool:
        for some in (self._strangers, self._known):
            of = some.get(connection.address, {})
            if connection in of:
                del of[connection]
                if not of:
                    del some[connection.address]
                self._count -= 1
                return True
        return False


def _oldest(some: dict[str, dict[Connection, None]], *, idle: bool = False) -> Connection | None:
    """Find the first connection of the address that has most of them."""
    for of in sorted(some.values(), key=len, reverse=True):
        for connection in of:
            if connection.is_idle or not idle:
                return connection
    return None
