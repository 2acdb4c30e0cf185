"""What is installed of jieba: found, not imported, since an index is opened for less than texts, too."""

import os
import re
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from simhash_hbase.digests import blake2b
from simhash_hbase.errors import MissingExtra

_DIGEST_BYTES = 16


def jieba_file(*names: str) -> Path:
    """Return the path of a file of jieba's package, such as its dictionary."""
    found = find_spec("jieba")
    if found is None or found.origin is None:
        raise MissingExtra("jieba is not installed: pip install jieba")
    return Path(found.origin).parent.joinpath(*names)


_find_version = re.compile(r"^Version:[ \t]*(.+?)\s*$", re.MULTILINE).search


def version_of(name: str) -> str | None:
    """Return the version of a library whose package has the same name; None if it is not installed.

    It is read from the folder beside the package, where installers put it. ``importlib.metadata`` finds it elsewhere,
    too; to import that takes a hundredth of a second.
    """
    try:
        found = find_spec(name)
    except ValueError:  # Something stands in the module's place.
        return _version_elsewhere(name)
    if found is None:
        return None
    beside = None if found.origin is None else _version_beside(name, Path(found.origin).parent.parent)
    return beside or _version_elsewhere(name)


def _version_beside(name: str, libraries: Path) -> str | None:
    with suppress(OSError):
        notes = [note for note in os.listdir(libraries) if note.startswith(f"{name}-") and note.endswith(".dist-info")]
        if len(notes) == 1:
            written = _find_version(libraries.joinpath(*notes, "METADATA").read_text("utf-8", "replace"))
            return written[1] if written else None
    return None


def _version_elsewhere(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def digest_of(content: bytes) -> str:
    """Digest some content, to notice when it is another one."""
    return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()
