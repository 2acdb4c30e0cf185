"""API keys: shown once, kept as digests in a file, and looked up in a time that reveals nothing about a guess.

A key is 32 random bytes, so there is no dictionary to try: its plain SHA-256 can only be reversed by trying 2**255
keys. A slow hash is worth its price for passwords, which people choose; here it would only slow down every request.
"""

import hashlib
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.files.local import is_regular, placed, target_of
from simhash_hbase.rows.names import checked_name
from simhash_hbase.service.limits import SCOPES
from simhash_hbase.service.logs import logger

KEY_BYTES = 32
PREFIX = "shk_"
LOOK_S = 1.0  # Seconds between two looks at the file.
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FORM = "wanted: NAME SCOPE[,SCOPE] [COLLECTION[,COLLECTION]] SHA256"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key as its line in the file of keys describes it; of the key itself there is only a digest."""

    name: str
    scopes: frozenset[str]
    digest: bytes
    collections: frozenset[str] | None = None  # Collections that the key may use; None: all, and documents in none.


def make_key(path: str | Path, name: str, scopes: Iterable[str], collections: Iterable[str] = ()) -> str:
    """Make and return a new API key, and add its digest to a file.

    With `collections`, the key is for the documents of these collections only.
    """
    wanted = sorted(set(scopes))
    bound = [quote(checked_name(each), safe="") for each in sorted(set(collections))]
    if not _NAME.fullmatch(name):
        raise InvalidArgument(f"{name!r} is no name for a key: wanted 1 to 64 letters, digits, dots, dashes, _")
    if not wanted or not set(wanted) <= set(SCOPES):
        raise InvalidArgument(f"a key needs scopes, of {', '.join(SCOPES)}")
    file = Path(target_of(path))
    if not is_regular(str(file)):
        raise InvalidArgument(f"{path} is no file: keys are kept in one")
    held = _content(file) if file.exists() else b""
    keys, slips = _parsed(held, file)
    if slips:
        raise InvalidArgument(slips[0])
    if any(key.name == name for key in keys):
        raise InvalidArgument(f"{path} has a key called {name} already: remove its line first, or choose another name")
    key = PREFIX + secrets.token_urlsafe(KEY_BYTES)
    line = " ".join([name, ",".join(wanted), *([",".join(bound)] if bound else []), _digest(key).hex()]) + "\n"
    # The last line of a file that people edit may have no end.
    glue = "\n" if held and not held.endswith(b"\n") else ""
    number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with placed(path), os.fdopen(number, "ab", buffering=0) as stream:
        try:
            left = (glue + line).encode()
            while left:
                left = left[stream.write(left) :]
        except OSError:
            stream.truncate(len(held))  # Half a line would stand in the way of every other key.
            raise
    return key


class Keyring:
    """The API keys in a file, which is read again when a key is looked up, at most once a second.

    Threads may share it. A line of another form is reported in the log and ignored. A file that is missing, cannot be
    read or can be written by others has no keys until it is repaired, so that no mistake keeps a removed key alive.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._content: bytes | None = None
        self._keys: list[ApiKey] = []
        slips = self._take(_content(self._path))
        if slips and not self._keys:
            raise InvalidArgument(slips[0])
        self._looked = time.monotonic()

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, presented: str) -> ApiKey | None:
        """Return the entry of the key that a client presents, None if it is unknown.

        The key is compared with all entries, so the time that this takes reveals nothing about them.
        """
        self._look_again()
        return self._find(_digest(presented))

    def holds(self, key: ApiKey, scope: str) -> bool:
        """Return whether a key that was found before is still in the file, with this scope and the same collections."""
        self._look_again()
        held = self._find(key.digest)
        return held is not None and scope in held.scopes and held.collections == key.collections

    def grants(self, scope: str) -> bool:
        """Return whether any key in the file has a scope, such as ``write``."""
        self._look_again()
        return any(scope in key.scopes for key in self._keys)

    def _find(self, digest: bytes) -> ApiKey | None:
        found = None
        for key in self._keys:
            if secrets.compare_digest(key.digest, digest):
                found = key
        return found

    def _look_again(self) -> None:
        with self._lock:
            if time.monotonic() - self._looked < LOOK_S:
                return
            self._looked = time.monotonic()
            try:
                content = _content(self._path)
            except InvalidArgument as error:
                if self._content is not None:
                    logger.warning("no key counts", extra={"fields": {"reason": str(error)}})
                self._content, self._keys = None, []
                return
            if content != self._content:
                self._take(content)
                logger.info("keys read", extra={"fields": {"keys": len(self._keys)}})

    def _take(self, content: bytes) -> list[str]:
        """Replace the keys by those in the content of a file; log and return a sentence for each line that is none."""
        self._content = content
        self._keys, slips = _parsed(content, self._path)
        for slip in slips:
            logger.warning("line of keys ignored", extra={"fields": {"reason": slip}})
        return slips


def _content(path: Path) -> bytes:
    """Return the content of a file of keys; raise `InvalidArgument` if it cannot be read or others may write to it.

    All of it is read each time: its time and size would not show every change, and it is small.
    """
    try:
        with path.open("rb") as stream:
            if os.fstat(stream.fileno()).st_mode & OTHERS_WRITE:
                raise InvalidArgument(f"{path} can be written by others, so its keys are ignored: chmod go-w {path}")
            return stream.read()
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read as a file of keys: {error.strerror}") from error


def _parsed(content: bytes, path: Path) -> tuple[list[ApiKey], list[str]]:
    """Return the keys in the content of a file of keys, and a sentence for each line that is none."""
    keys, slips = [], []
    for number, raw in enumerate(content.splitlines(), 1):
        line = raw.decode("ascii", "replace")
        if not line.strip() or line.startswith("#"):
            continue
        match line.split():
            case [name, scopes, *bound, digest] if (
                _NAME.fullmatch(name)
                and set(scopes.split(",")) <= set(SCOPES)
                and len(bound) <= 1
                and _DIGEST.fullmatch(digest)
            ):
                collections = frozenset(map(unquote, bound[0].split(","))) if bound else None
                keys.append(ApiKey(name, frozenset(scopes.split(",")), bytes.fromhex(digest), collections))
            case _:
                # The line itself is not shown: somebody may have put a key there.
                slips.append(f"{path}:{number} is no line of a file of keys; {_FORM}")
    return keys, slips


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
