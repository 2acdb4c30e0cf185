"""What only some stores can do beside keeping rows: copy and check themselves, count, and describe where they are."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class RegionPlace(NamedTuple):
    """One region: a range of rows that one server serves."""

    start: bytes  # Its first row key; empty for the first region.
    server: str  # ``host:port``; empty while no server serves it.


class Traffic(NamedTuple):
    """Connections and retries of a store that is reached over a network."""

    connections: int  # Open connections, in use or idle.
    in_use: int  # Connections that calls hold at this moment.
    most: int  # The largest number of connections allowed.
    retries: int  # Calls that were repeated since the store was opened.


@runtime_checkable
class Backup(Protocol):
    """A store that can copy itself while it is in use."""

    def backup(self, destination: str) -> None:
        """Write a consistent copy.

        Parameters
        ----------
        destination : str
            A path that does not exist yet.

        Raises
        ------
        InvalidArgument
            When the destination exists.
        """


@runtime_checkable
class SelfChecked(Protocol):
    """A store that can look for damage which would crash a process that reads it."""

    def check_readable(self) -> None:
        """Read everything in a place where a crash does no harm.

        Raises
        ------
        CorruptIndex
            When reading crashed.
        """


@runtime_checkable
class Networked(Protocol):
    """A store that is reached over a network and counts connections and retries."""

    def traffic(self) -> Traffic:
        """Count connections and retries."""


class DiskSpace(NamedTuple):
    """Room on the disk of a store in a folder."""

    used: int  # Bytes of the store.
    free: int  # Bytes that may still be written.


@runtime_checkable
class OnDisk(Protocol):
    """A store in a folder of this machine."""

    def space(self) -> DiskSpace:
        """Measure the room on its disk; the store is not read."""


@runtime_checkable
class Regional(Protocol):
    """A store whose rows are spread over regions."""

    def regions(self) -> list[RegionPlace]:
        """List the regions as they are now, in the order of their keys."""


@runtime_checkable
class Shortfalls(Protocol):
    """A store whose place may lack settings that were asked for."""

    @property
    def shortfalls(self) -> Sequence[str]:
        """One clause for each setting that is missing or different; empty unless this object made the place."""


@runtime_checkable
class CellCounts(Protocol):
    """A store without ranges that still counts its cells by the kind of their rows."""

    def count_cells(self, family: str, flag: int) -> int:
        """Count the cells of a family's rows of one flag, the fifth byte of their keys."""
