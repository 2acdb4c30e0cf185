"""One process at a time in a folder."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a lock file; others wait, and the system frees it when this process ends, however it ends.

    Parameters
    ----------
    path : Path
        The file; it is made when absent, and stays.

    Yields
    ------
    None
        While the lock is held.
    """
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
