"""API keys: made once, kept as digests in a file, looked up without telling how much of a guess was right.

A key is 32 random bytes, so there is no dictionary to try: the plain SHA-256 of one can be turned back only by trying
2**255 keys. What makes a slow hash worth its price is that people choose passwords; here it would slow down every
request and nobody else.
"""

import hashlib
import hmac
import os
import re
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.service.logs import logger

__all__ = ["SCOPES", "Key", "Keyring", "make_key"]

SCOPES = ("read", "write", "metrics")
"""What a key may allow: queries and look-ups; changes and claims; the metrics."""

KEY_BYTES = 32
PREFIX = "shk_"
LOOK_S = 1.0
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FORM = "wanted: NAME SCOPE[,SCOPE] SHA256"


@dataclass(frozen=True, slots=True)
class Key:
    """One line of a file of keys."""

    name: str
    """Who uses it; this is what logs show."""
    scopes: frozenset[str]
    digest: bytes
    """SHA-256 of the key."""


def make_key(path: str | Path, name: str, scopes: Iterable[str]) -> str:
    """Make a key and add its digest to a file.

    Parameters
    ----------
    path : str or Path
        The file; made, for its owner alone, if it is not there.
    name : str
        Who will use it: letters, digits, dots, dashes, underscores.
    scopes : iterable of str
        Of `SCOPES`, at least one.

    Returns
    -------
    str
        The key. It is kept nowhere else.

    Raises
    ------
    InvalidArgument
        When the name is taken or of another form, a scope unknown, or the file no file of keys.
    """
    wanted = sorted(set(scopes))
    if not _NAME.fullmatch(name):
        raise InvalidArgument(f"{name!r} is no name for a key: wanted 1 to 64 letters, digits, dots, dashes, _")
    if not wanted or not set(wanted) <= set(SCOPES):
        raise InvalidArgument(f"a key needs scopes, of {', '.join(SCOPES)}")
    file = Path(path)
    if file.exists() and any(key.name == name for key in _read(file)):
        raise InvalidArgument(f"{path} has a key called {name} already: remove its line first, or choose another name")
    key = PREFIX + secrets.token_urlsafe(KEY_BYTES)
    line = f"{name} {','.join(wanted)} {_digest(key).hex()}\n"
    # Of a file that people edit, the last line may have no end.
    held = file.read_bytes() if file.exists() else b""
    glue = "\n" if held and not held.endswith(b"\n") else ""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="ascii") as stream:
        stream.write(glue + line)
    return key


class Keyring:
    """The keys of a file, read again when it has changed.

    Parameters
    ----------
    path : str or Path
        As `make_key` writes it; empty lines and lines that begin with # are passed over.

    Raises
    ------
    InvalidArgument
        When the file cannot be read, or a line has another form.

    Notes
    -----
    Threads may share it. A file that cannot be read any more, or has a line of another form, changes nothing: the
    keys before it stay, and the log says why.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._version = _version(self._path)
        self._keys = list(_read(self._path))
        self._looked = time.monotonic()

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, presented: str) -> Key | None:
        """Find the key that a client presents; all are compared, so that the time tells nothing."""
        self._look_again()
        digest = _digest(presented)
        found = None
        for key in self._keys:
            if hmac.compare_digest(key.digest, digest):
                found = key
        return found

    def _look_again(self) -> None:
        with self._lock:
            if time.monotonic() - self._looked < LOOK_S:
                return
            self._looked = time.monotonic()
            version = _version(self._path)
            if version == self._version:
                return
            try:
                self._keys = list(_read(self._path))
                logger.info("keys read", extra={"fields": {"keys": len(self._keys)}})
            except InvalidArgument as error:
                logger.warning("keys not read, those before stay", extra={"fields": {"reason": str(error)}})
            self._version = version


def _read(path: Path) -> Iterator[Key]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{path} cannot be read as a file of keys: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            yield _parse(line, f"{path}:{number}")


def _parse(line: str, place: str) -> Key:
    match line.split():
        case [name, scopes, digest] if _NAME.fullmatch(name) and _DIGEST.fullmatch(digest):
            allowed = frozenset(scopes.split(","))
            if allowed <= set(SCOPES):
                return Key(name, allowed, bytes.fromhex(digest))
    # The line itself is not shown: somebody may have put a key there.
    raise InvalidArgument(f"{place} is no line of a file of keys; {_FORM}")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
