"""Download of the jars of a lock file, which has coordinates and sha256, from Maven's registry with jgo.

This file is also a script that needs nothing else of this package: ``python maven.py LOCK FOLDER``, in an environment
with the packages of ``files/requirements.txt``.
"""

import hashlib
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

THREADS = 8
ATTEMPTS = 3
TIMEOUT_S = 60
SHA256_DIGITS = 64


class FetchError(Exception):
    """A jar cannot be fetched, or has another sha256 than the lock file says."""


class Jar(NamedTuple):
    """One line of a lock file: a jar's Maven coordinates, of which the classifier may be empty, and its sha256."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Name of the jar's file, as in a Maven repository."""
        return "-".join(word for word in self[1:4] if word) + ".jar"

    def __str__(self) -> str:
        return ":".join(word for word in self[:4] if word)


def read_lock(lock: Path) -> list[Jar]:
    """Return the jars of a lock file, which has ``group:artifact:version[:classifier] sha256`` lines and comments."""
    jars = []
    for number, line in enumerate(lock.read_text("utf-8").splitlines(), 1):
        coordinates, _, sha256 = line.partition(" ")
        match coordinates.split(":"):
            case _ if not line.strip() or line.startswith("#"):
                continue
            case [group, artifact, version, *rest] if len(rest) <= 1 and len(sha256) == SHA256_DIGITS:
                jars.append(Jar(group, artifact, version, "".join(rest), sha256))
            case _:
                raise FetchError(f"{lock}, line {number}: expected group:artifact:version[:classifier] sha256")
    return jars


def download(lock: Path, folder: Path) -> str:
    """Fetch all jars of a lock file into a new folder, and return a sentence with their size and the time it took."""
    started = time.monotonic()
    folder.mkdir(parents=True)
    with TemporaryDirectory(dir=folder.parent) as repository, ThreadPoolExecutor(THREADS) as threads:
        resolve = _resolver(Path(repository))

        def fetch(jar: Jar) -> int:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    found = resolve(jar)
                    break
                except Exception as error:  # jgo and requests have no common base for "not now"
                    if attempt == ATTEMPTS:
                        raise FetchError(f"{jar} cannot be fetched: {error}") from error
                    time.sleep(attempt)
            content = found.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            if digest != jar.sha256:
                raise FetchError(f"{jar} has the sha256 {digest}, but {jar.sha256} is locked: it is not used")
            os.replace(found, folder / jar.file_name)
            return len(content)

        size = sum(threads.map(fetch, read_lock(lock)))
    return f"fetched {size / 1e6:.0f} MB in {time.monotonic() - started:.0f} s, every sha256 is right"


def _resolver(repository: Path) -> Callable[[Jar], Path]:
    truststore, maven = import_module("truststore"), import_module("jgo.maven")
    # The certificate authorities of the system, as pip does: a company's proxy may have its own.
    truststore.inject_into_ssl()
    context = maven.MavenContext(repo_cache=repository, timeout=TIMEOUT_S)

    def resolve(jar: Jar) -> Path:
        component = context.project(jar.group, jar.artifact).at_version(jar.version)
        return Path(component.artifact(jar.classifier).resolve())

    return resolve


if __name__ == "__main__":
    try:
        print(download(Path(sys.argv[1]), Path(sys.argv[2])))
    except (FetchError, ImportError, OSError) as failure:
        sys.exit(str(failure))
