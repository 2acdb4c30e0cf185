"""Files of object stores and web servers, by the library fsspec: listing, reading with retries, and writing."""

import glob
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from simhash_hbase.errors import InvalidArgument, InvalidInput, MissingExtra, missing_extra

PARTIAL, NOT_FOUND = 206, 404
ATTEMPTS = 5  # In a row without a byte.
PAUSE_S = 0.5  # Before the second attempt; then twice as long each time.
_PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "hf": "huggingface_hub", "http": "aiohttp", "https": "aiohttp"}
_REMOTE = re.compile(rf"({'|'.join(_PACKAGES)})://")
# Marks of the content that a store sends: they change with it.
_VERSIONS = ("ETag", "etag", "LastModified", "Last-Modified", "mtime", "updated", "blob_id")
_LENGTH = "length"  # Length of the whole file, a mark where the store sends no other.
# To the next space, without closing signs at the end: a query may have any of these signs within.
_ADDRESS = re.compile(r"""\b[a-z0-9]+://\S+?(?=[])>"',.;:]*(?:\s|$))""", re.IGNORECASE)


class RemoteFile(NamedTuple):
    """A file of an object store or a web server, with the facts that a listing gives."""

    url: str
    name: str  # The path below the folder that was named, else the address up to the end of its path.
    size: int | None
    version: int  # Another number after a change, where the store says so.


def is_remote(name: str) -> bool:
    """Return whether a name is an address, such as ``s3://corpora/news.jsonl``, not a path."""
    return _REMOTE.match(name) is not None


def is_folder(url: str) -> bool:
    """Return whether a name is a remote address that ends with ``/``, and so stands for all files below it."""
    return is_remote(url) and url.endswith("/")


def remote_files(url: str) -> Iterator[RemoteFile]:
    """Yield the files that a remote address stands for: one file, those of a pattern, or those of a folder.

    They are sorted; hidden files of a folder, whose names begin with a dot, are left out.
    """
    address = _Address(url)
    with address.sentences():
        system, path = address.system()
        if address.is_web:
            yield _file(url, shown(url), system.info(path))
            return
        if is_folder(url):
            listed = system.find(path, detail=True)
        else:
            listed = system.glob(path, detail=True) if glob.has_magic(path) else {path: system.info(path)}
        kept = {name: info for name, info in sorted(listed.items()) if info.get("type") == "file"}
    if not kept:
        raise InvalidInput(f"{shown(url)}: there is no such file")
    for name, info in kept.items():
        below = name.removeprefix(path).lstrip("/") if is_folder(url) else str(system.unstrip_protocol(name))
        if not (is_folder(url) and any(part.startswith(".") for part in below.split("/"))):
            yield _file(system.unstrip_protocol(name), below, info)


def shown(name: str) -> str:
    """Return an address without query, user and password, which may be secrets; a path as it is.

    Examples
    --------
    >>> shown("https://me:word@example.org/a.jsonl?key=secret"), shown("s3://news/day-?.jsonl"), shown("what?.jsonl")
    ('https://example.org/a.jsonl', 's3://news/day-?.jsonl', 'what?.jsonl')
    """
    return _cut(name) if is_remote(name) else name


def without_secrets(text: str) -> str:
    """Return a message of a library in which the addresses have no query, user and password, which may be secrets."""
    return _ADDRESS.sub(lambda address: _cut(address[0]), text)


def _cut(url: str) -> str:
    scheme, _, rest = url.partition("://")
    is_web = scheme.startswith("http")
    host, path = re.fullmatch(r"([^/?#]*)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr] # fits any text
    if ":" in host and "@" in path and not host.startswith("arn:"):
        # A password may hold signs that should have been percent-encoded: all before the last @ may belong to it, and
        # what follows a ? to the secrets of a query.
        before, _, last = path.rpartition("@")
        host, path = ("…", "") if is_web and re.search("[?#]", before) else ("", f"…@{last}")
    # In an object store these signs are part of a pattern or a name.
    path = path if scheme in _PACKAGES and not is_web else re.split("[?#]", path, maxsplit=1)[0]
    return f"{scheme}://{host.rpartition('@')[2]}{path}"


def _file(url: str, name: str, info: dict[str, Any]) -> RemoteFile:
    says = next((str(info[key]) for key in _VERSIONS if info.get(key)), "")
    return RemoteFile(url, name, info.get("size"), int.from_bytes(blake2b(says.encode(), digest_size=7).digest()))


class _Address:
    """The address of a file or folder in an object store or on a web server, and the ways to read from it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_web = url.startswith("http")  # Unlike an object store it lists nothing and is not written to.

    def system(self) -> tuple[Any, str]:
        """Return fsspec's file system object for the address, and the path of the file in it."""
        scheme, _, rest = self.url.partition("://")
        host = re.split("[/?#]", rest, maxsplit=1)[0] if not self.is_web else ""
        # A password with a slash ends at it here; the one name with colons is that of an access point.
        if "@" in host or (":" in host and not host.startswith("arn:")):
            raise InvalidArgument(
                f"a {scheme}:// address has no user and password: give them in the environment or the store's own "
                "settings"
            )
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra

            system, path = url_to_fs(self.url)
        except ImportError as error:
            others = [] if _PACKAGES[scheme] in ("s3fs", "aiohttp") else [_PACKAGES[scheme]]
            raise missing_extra(f"{scheme}:// needs packages more", "remote", *others) from error
        return system, path

    def read(self, size: int, at: int, stop: int | None, version: dict[str, str]) -> Iterator[bytes]:
        """Yield the bytes of the file from `at` to `stop`, or if that is None to the end, in chunks of up to `size`.

        After a failure it tries again from there, up to 5 times in a row. `version` holds marks of the content, such as
        an ETag, by which a file that changes meanwhile is noticed; it is filled at the first read.
        """
        failures = 0
        while True:
            try:
                with self.open_at(at, stop, size, version) as file:
                    self.compare(file, at or stop, version)
                    while chunk := file.read(size if stop is None else min(size, stop - at)):
                        at, failures = at + len(chunk), 0
                        yield chunk
            except Exception as error:
                failures += 1
                if failures == ATTEMPTS or isinstance(error, FileNotFoundError | PermissionError | ValueError):
                    raise OSError(0, f"{self.said(error)} (after {at:,} bytes)") from error
                time.sleep(PAUSE_S * 2 ** (failures - 1))
                system, path = self.system()
                system.invalidate_cache(path)  # The cache may hold the version before.
            else:
                return

    def open_at(self, at: int, stop: int | None, size: int, version: dict[str, str]) -> Any:  # noqa: ANN401 - untyped
        """Return the file, opened for reading from the byte `at` to `stop`.

        If `version` has an ETag of bytes that were read before, a web server sends a range only of that version.
        """
        if not self.is_web:
            file = open_remote(self.url, size)
            file.seek(at)
            return file
        system, path = self.system()
        # All after the place at once: many a web server has no ranges, and is asked for one after a failure only.
        last = "" if stop is None else str(stop - 1)
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={at}-{last}"} if at or stop else {})
        if at and (tag := version.get("ETag", "")).startswith('"'):  # A weak one must not be sent.
            headers["If-Range"] = tag
        return system.open(path, "rb", block_size=0, headers=headers)

    def compare(self, file: Any, ranged: int | None, version: dict[str, str]) -> None:  # noqa: ANN401 - untyped
        """Add the marks of the opened file's content, such as its ETag, to `version`.

        Raises `ValueError` if a mark in `version` differs, so that the file has changed. If `ranged` is neither 0 nor
        None, a range of bytes was asked for; a web server that sent the whole file instead is an error, too.
        """
        answer = file.r if self.is_web else None
        facts = answer.headers if answer else file.details
        now = {key: str(facts[key]) for key in _VERSIONS if facts.get(key)}
        length = facts.get("Content-Range", facts.get("Content-Length", "*")).rpartition("/")[2] if answer else "*"
        if length != "*":
            now[_LENGTH] = length
        known = next((key for key in (*_VERSIONS, _LENGTH) if key in now and key in version), None)
        if known and now[known] != version[known]:
            raise ValueError("the file has changed while it was read")
        if answer and ranged and answer.status != PARTIAL:
            raise ValueError("the server has no ranges, so reading cannot continue")
        version.update(now)

    @contextmanager
    def sentences(self) -> Iterator[None]:
        """Turn errors of the store's client library in the block into errors of this package that name the address."""
        name = shown(self.url)
        try:
            yield
        except FileNotFoundError as error:
            cause = error.__cause__
            # fsspec calls any failure of a web server so.
            if self.is_web and isinstance(cause, Exception) and getattr(cause, "status", None) != NOT_FOUND:
                raise InvalidInput(f"{name} cannot be reached: {self.said(cause)}") from error
            raise InvalidInput(f"{name} does not exist") from error
        except PermissionError as error:
            raise InvalidInput(f"{name} cannot be used: permission denied") from error
        except (InvalidArgument, InvalidInput, MissingExtra):
            raise
        except Exception as error:
            # Each store's client has errors of its own, without a common base.
            raise InvalidInput(f"{name} cannot be reached: {self.said(error)}") from error

    def said(self, error: Exception) -> str:
        """Return the message of an error of the client library, without secrets that addresses in it may have."""
        text = str(error).replace(self.url, shown(self.url))
        return " ".join(without_secrets(text).split()) or type(error).__name__


def chunks(url: str, size: int) -> Iterator[bytes]:
    """Yield the content of a remote file in chunks of up to `size` bytes.

    After a failure reading goes on at the same byte; `OSError` is raised if the server cannot send a range of bytes.
    """
    return _Address(url).read(size, 0, None, {})


def open_remote(url: str, block_bytes: int = 1 << 20) -> BinaryIO:
    """Open a remote file for reading with `seek`, if the server can send a range of bytes; it reads in blocks."""
    address = _Address(url)
    system, path = address.system()
    file = system.open(path, "rb", block_size=block_bytes, cache_type="readahead")
    if address.is_web and hasattr(file, "cache"):
        version = {_LENGTH: str(file.size)}
        # fsspec's own does not compare the server's marks of one part with those of another.
        file.cache.fetcher = lambda start, stop: b"".join(address.read(block_bytes, start, stop, version))
    return cast("BinaryIO", file)


@contextmanager
def created(url: str) -> Iterator[BinaryIO]:
    """Yield a new file of an object store for writing; it exists only after the block, and not after an error."""
    address = _Address(url)
    if address.is_web:
        raise InvalidArgument(f"{_cut(url)} cannot be written: name a file, s3://, gs:// or hf://")
    if is_folder(url):
        raise InvalidArgument(f"{_cut(url)} is a folder: name a file in it")
    with address.sentences():
        system, path = address.system()
        # The hub's client keeps a file on this machine until it is closed, and refuses this option.
        file = system.open(path, "wb", **({} if url.startswith("hf:") else {"autocommit": False}))
    file.name = url
    write = file.write

    def write_told(data: bytes) -> int:
        with address.sentences():
            return cast("int", write(data))

    file.write = write_told
    try:
        yield file
        with address.sentences():
            file.close()
    except BaseException:
        # A store that is gone cannot be told to forget the parts, either.
        with suppress(Exception):
            file.discard()
        # An open file is closed when it is freed, and the hub's client would upload its beginning then.
        file.closed = True
        if own := getattr(file, "temp_file", None):
            Path(own.name).unlink(missing_ok=True)
        raise
    with address.sentences():
        file.commit()
