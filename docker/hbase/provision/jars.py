"""Jars by a lock file: coordinates and sha256, fetched from Maven's own registry with jgo.

A lock file has one jar a line, ``group:artifact:version[:classifier] sha256``; ``docker/hbase/lock``
makes ``jars.lock`` anew from ``pom.xml``. A fetched set lies in a folder named by its lock's digest
and appears there only when it is whole, so a folder that exists needs no second look.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from provision.errors import ProvisionError
from provision.locking import exclusive

_THREADS = 8
_ATTEMPTS = 3
_TIMEOUT_S = 60


@dataclass(frozen=True, kw_only=True)
class Jar:
    """One line of a lock file.

    Parameters
    ----------
    group, artifact, version, classifier : str
        Maven coordinates; the classifier may be empty.
    sha256 : str
        Lower-case hex digits.

    Examples
    --------
    >>> Jar(group="g", artifact="a", version="1", classifier="", sha256="00").file_name
    'a-1.jar'
    """

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Name as in a Maven repository."""
        words = (self.artifact, self.version, self.classifier)
        return "-".join(word for word in words if word) + ".jar"

    def __str__(self) -> str:
        words = (self.group, self.artifact, self.version, self.classifier)
        return ":".join(word for word in words if word)


def read_lock(lock: Path) -> list[Jar]:
    """Read a lock file.

    Parameters
    ----------
    lock : Path
        Lines that are empty or begin with ``#`` are passed over.

    Returns
    -------
    list[Jar]
        In the order of the file.

    Raises
    ------
    ProvisionError
        When a line is not of the form, with its number.
    """
    return [_parse(lock, number, line) for number, line in _lines(lock)]


def _lines(lock: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lock.read_text("utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def _parse(lock: Path, number: int, line: str) -> Jar:
    coordinates, _, sha256 = line.partition(" ")
    match coordinates.split(":"), len(sha256):
        case [group, artifact, version, *rest], 64 if len(rest) < 2:  # noqa: PLR2004
            classifier = rest[0] if rest else ""
            return Jar(group=group, artifact=artifact, version=version, classifier=classifier, sha256=sha256)
    raise ProvisionError(f"{lock}, line {number}: expected group:artifact:version[:classifier] sha256.")


def locked_folder(lock: Path, cache: Path) -> Path:
    """Tell where the jars of a lock file are once they are fetched.

    Parameters
    ----------
    lock, cache : Path
        As for :func:`fetch`.

    Returns
    -------
    Path
        The folder; it may not exist yet.
    """
    content = "\n".join(sorted(f"{jar} {jar.sha256}" for jar in read_lock(lock)))
    return cache / f"{lock.stem}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def fetch(lock: Path, cache: Path) -> Path:
    """Make sure of all jars of a lock file.

    Parameters
    ----------
    lock : Path
        The lock file.
    cache : Path
        Folder for fetched sets, shared by all servers of this machine's user.

    Returns
    -------
    Path
        A folder that holds exactly the locked jars.

    Raises
    ------
    ProvisionError
        When a jar cannot be had, or is not the locked one.
    """
    ready = locked_folder(lock, cache)
    if ready.is_dir():
        return ready
    cache.mkdir(parents=True, exist_ok=True)
    with exclusive(cache / "lock"), _scratch(cache) as scratch:
        if not ready.is_dir():
            _fetch_into(read_lock(lock), scratch)
            os.replace(scratch / "jars", ready)
    return ready


@contextmanager
def _scratch(cache: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="fetching-", dir=cache))
    try:
        (folder / "jars").mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fetch_into(jars: list[Jar], scratch: Path) -> None:
    started = time.monotonic()
    print(f"fetching {len(jars)} jars ...", file=sys.stderr)
    resolve = _resolver(scratch / "repository")
    with ThreadPoolExecutor(_THREADS) as threads:
        size = sum(threads.map(lambda jar: _fetch_one(resolve, jar, scratch / "jars"), jars))
    seconds = time.monotonic() - started
    print(f"fetched {size / 1e6:.0f} MB in {seconds:.0f} s, every sha256 is right", file=sys.stderr)


def _resolver(repository: Path) -> Callable[[Jar], Path]:
    try:
        truststore, maven = import_module("truststore"), import_module("jgo.maven")
    except ImportError as error:
        raise ProvisionError(
            f"{error.name} is missing: run ./scripts/hbase, or pip install -r docker/hbase/requirements.txt"
        ) from None
    # The certificate authorities of the system, as pip does: a company's proxy may have its own.
    truststore.inject_into_ssl()
    context = maven.MavenContext(repo_cache=repository, timeout=_TIMEOUT_S)

    def resolve(jar: Jar) -> Path:
        component = context.project(jar.group, jar.artifact).at_version(jar.version)
        return Path(component.artifact(jar.classifier).resolve())

    return resolve


def _fetch_one(resolve: Callable[[Jar], Path], jar: Jar, folder: Path) -> int:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            found = resolve(jar)
            break
        except Exception as error:  # jgo and requests have no common base for "not now"
            if attempt == _ATTEMPTS:
                raise ProvisionError(f"{jar} cannot be fetched: {error}") from error
            time.sleep(attempt)
    return check(jar, found, folder)


def check(jar: Jar, found: Path, folder: Path) -> int:
    """Compare a file with the lock, and put it where it belongs.

    Parameters
    ----------
    jar : Jar
        What it must be.
    found : Path
        The fetched file; it is moved.
    folder : Path
        Where it goes.

    Returns
    -------
    int
        Its size in bytes.

    Raises
    ------
    ProvisionError
        When its sha256 is another.
    """
    content = found.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != jar.sha256:
        raise ProvisionError(f"{jar} has the sha256 {digest}, but {jar.sha256} is locked: it is not used.")
    os.replace(found, folder / jar.file_name)
    return len(content)


if __name__ == "__main__":  # python -m provision.jars LOCK CACHE: for the image's build
    try:
        print(fetch(Path(sys.argv[1]), Path(sys.argv[2])))
    except ProvisionError as error:
        sys.exit(f"provision: {error}")
