"""The kept documents of a folder: a folder with the same files."""

import os
from pathlib import Path, PurePath

from simhash_hbase.corpus.kept.files import packer
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs import Place


class KeptFolder:
    """Writes documents as files under their ids, compressed as they came."""

    def __init__(self, path: str, *, resume: bool) -> None:
        self._folder = Path(path)
        self._waiting: list[Path] = []
        self._count = 0
        if self._folder.exists() and not self._folder.is_dir():
            raise InvalidArgument(f"--output {path} is a file, and the input's documents are files: name a folder")
        self._folder.mkdir(exist_ok=True)
        if not resume and next(self._folder.iterdir(), None) is not None:
            raise InvalidArgument(f"--output {path} exists already and is not empty: name another folder")

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Write one document."""
        check_id(name)
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(packer(target.suffix)(raw))
        self._waiting.append(target)

    def commit(self) -> int:
        """Bring what was written to the disk; return the number of files of this run."""
        for path in self._waiting:
            with path.open("rb") as file:
                os.fsync(file.fileno())
        self._count += len(self._waiting)
        self._waiting.clear()
        return self._count


def check_id(name: str) -> None:
    """Refuse the id of a file that was named by itself, if it leads out of any folder."""
    relative = PurePath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise InvalidArgument(f"--output keeps files under their ids, and {name} leads elsewhere: name its folder")
