"""Standard input that has to be read twice."""

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs import source_files
from simhash_hbase.placed import open_placed


@contextmanager
def spooled(files: tuple[str, ...], *, wanted: bool) -> Iterator[str | None]:
    """Copy standard input to a temporary file where it is among the sources and will be read twice."""
    if wanted:
        _check_files(files)
    if not wanted or "-" not in files:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder:
        copy = Path(folder) / "stdin"
        with open_placed(copy, "wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        yield str(copy)


def _check_files(files: tuple[str, ...]) -> None:
    for path, _, _ in source_files([name for name in files if name != "-"]):
        mode = os.stat(path).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            raise InvalidArgument(f"{path} is a pipe and would be read twice: pass it as standard input, -")
