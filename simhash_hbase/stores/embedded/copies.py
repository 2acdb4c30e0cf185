"""Copies of a folder: each gets its name when it is whole."""

import glob
import os

_PARTIAL = ".partial-"


def new_partial(target: str) -> str:
    """Make the folder, beside the target, in which a copy grows."""
    folder, name = os.path.split(target)
    # It takes longer to import than a look-up.
    from tempfile import mkdtemp  # noqa: PLC0415

    return mkdtemp(prefix=name + _PARTIAL, dir=folder)


def copied_bytes(destination: str) -> int:
    """Count the bytes of a copy that is being made."""
    partial = f"{glob.escape(os.path.abspath(destination))}{_PARTIAL}*"
    found = 0
    for path in glob.glob(os.path.join(partial, "*")):
        try:
            found += os.stat(path).st_size
        except FileNotFoundError:
            # It was whole in between.
            continue
    return found
