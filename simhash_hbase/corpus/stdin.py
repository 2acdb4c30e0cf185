"""Standard input that has to be read twice."""

import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.files.local import open_placed
from simhash_hbase.inputs import Sources


@contextmanager
def spooled(sources: Sources, *, wanted: bool) -> Iterator[str | None]:
    """Copy standard input to a temporary file where it is among the sources and will be read twice."""
    if wanted:
        for source in sources.files():
            if stat.S_ISFIFO(source.mode) or stat.S_ISCHR(source.mode):
                raise InvalidArgument(f"{source.name} is a pipe and would be read twice: pass it as standard input, -")
    if not wanted or "-" not in sources:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder:
        copy = Path(folder) / "stdin"
        with open_placed(copy, "wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        yield str(copy)
