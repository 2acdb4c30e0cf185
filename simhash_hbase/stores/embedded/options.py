"""How a folder is opened."""

from dataclasses import dataclass

from simhash_hbase.errors import InvalidArgument

# Address space, not disk and not memory: the file grows with what is written. Room for a hundred million documents
# before the map must grow the first time; little enough that a laptop, a container and a debugger grant it.
DEFAULT_MAP_BYTES = 1 << 36
# LMDB itself needs a few pages; below this nothing useful fits.
LEAST_MAP_BYTES = 1 << 18
MOST_READERS = 1 << 16


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddedOptions:
    """Choices for one folder, the same for all who use it in one process."""

    map_bytes: int = DEFAULT_MAP_BYTES
    """Address space to start with; it grows when half of it is used. Where the system grants less, less is taken."""
    durable: bool = True
    """Wait for the disk at each commit. Without, a crash of this process alone still loses nothing, but a power
    failure or a crash of the system may lose the last commits or make the whole folder unreadable."""
    max_readers: int = 512
    """Reads under way at one time, over all processes; only the process that opens a folder first decides."""

    def __post_init__(self) -> None:
        if self.map_bytes < LEAST_MAP_BYTES:
            raise InvalidArgument(f"map_bytes is {self.map_bytes:,}: wanted at least {LEAST_MAP_BYTES:,}")
        if not 1 <= self.max_readers <= MOST_READERS:
            raise InvalidArgument(f"max_readers is {self.max_readers:,}: wanted 1 to {MOST_READERS:,}")
