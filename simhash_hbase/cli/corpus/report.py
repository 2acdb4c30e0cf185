"""``dedup --report``: the file, and what the report needs to know."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from simhash_hbase.cli.screen.controls import secretless
from simhash_hbase.cli.screen.output import Output
from simhash_hbase.placed import open_placed, to_disk
from simhash_hbase.report import Corpus, Run, write_report


def partial_report(path: str) -> str:
    """Name the file that becomes the report when it is whole."""
    return path + ".partial"


@contextmanager
def open_report(path: str | None) -> Iterator[BinaryIO | None]:
    """Open the file for a report, before the work that it is about: a folder that is missing is seen at once."""
    if path is None:
        yield None
        return
    # A link stays a link, and what is no file is not replaced by one.
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with open_placed(target, "wb") as device:
            yield device
        return
    partial = Path(partial_report(str(target)))
    try:
        with open_placed(partial, "wb") as file:
            yield file
            to_disk(file, partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def tell_report(stream: BinaryIO, corpus: Corpus, url: str, options: dict[str, Any], output: Output) -> None:
    """Write the report of a run that is done."""
    run = Run(index=secretless(url), time=datetime.now(UTC), keep=options["keep"], dry=options["dry_run"])
    write_report(stream, corpus, run, meter=output.meter)
