"""A writer that seems to wait for its turn in a folder, so that each batch of another one is committed by itself."""

import fcntl
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def seen_to_wait(folder):
    """Hold the lock that a waiting writer holds; the folder has an index."""
    with (Path(folder) / "data.mdb").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield
