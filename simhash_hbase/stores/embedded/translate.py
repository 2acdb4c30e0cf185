"""The one place where errors of LMDB and of the file system become errors of this package."""

import errno
import os
import struct

import lmdb

from simhash_hbase import errors

# The number of an `lmdb.Error` without a class of its own is known only by the text of `strerror`.
# LMDB reports EIO for a write whose last part found no room, and for a failing disk, so the sentence names both.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_NO_PERMISSION = (errno.EACCES, errno.EPERM)
_PASSING = (errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ETIMEDOUT)
_NO_FOLDER = {
    errno.ENAMETOOLONG: "its name is too long",
    errno.ENOENT: "it is missing, or a folder above it is",
    errno.EEXIST: "a file or a broken link of this name is there",
    errno.ENOTDIR: "a file is where a folder should be",
    errno.ELOOP: "links lead in a circle",
}

_SENTENCES: tuple[tuple[type[lmdb.Error], type[errors.SimhashError], str], ...] = (
    (lmdb.InvalidError, errors.NotAnIndex, "data.mdb is no LMDB file"),
    (lmdb.VersionMismatchError, errors.NotAnIndex, "data.mdb was written by another version of LMDB"),
    (lmdb.IncompatibleError, errors.NotAnIndex, "the databases in it have another form"),
    (lmdb.CorruptedError, errors.CorruptIndex, "a page is damaged"),
    (lmdb.NotFoundError, errors.CorruptIndex, "one of its databases is missing"),
    (lmdb.PageNotFoundError, errors.CorruptIndex, "a page is missing"),
    (lmdb.DiskError, errors.StoreFull, "the disk is full"),
    (lmdb.MemoryError, errors.StoreFull, "the system grants no more address space"),
    (lmdb.MapFullError, errors.StoreFull, "the memory map is full"),
    (lmdb.ReadersFullError, errors.StoreBusy, "more reads are under way than max_readers allows"),
    (lmdb.BadValsizeError, errors.InvalidArgument, "a row key with its qualifier has 1 to 511 bytes"),
    (lmdb.ReadonlyError, errors.StoreReadonly, "it may not be written to"),
    (lmdb.BadTxnError, errors.CorruptIndex, "an earlier error has undone the transaction: verify looks for damage"),
    (lmdb.PanicError, errors.StoreUnavailable, "an earlier write failed half-way: open the folder again"),
)


# Not `contextlib.contextmanager`: a generator costs a microsecond a call, and a query makes a call of four.
class lmdb_errors:
    """A ``with`` block that raises errors of this package in place of errors of LMDB and of the file system."""

    __slots__ = ("_path", "_target")

    def __init__(self, path: str, target: str = "") -> None:
        """Take the folder that errors name.

        `target` is the folder that is written to, if that is another one, as in a copy.
        """
        self._path = path
        self._target = target

    def __enter__(self) -> None:
        """Do nothing: errors are replaced at the end of the block."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise the package's own error in place of a driver's."""
        if isinstance(error, lmdb.Error):
            ours = _of_lmdb(error, self._path)
            if self._target and isinstance(ours, errors.StoreFull | errors.StoreRefused):
                ours = _of_lmdb(error, self._target)
            raise ours from error
        if isinstance(error, struct.error):
            raise errors.CorruptIndex(f"{self._path}: a cell is damaged ({error})") from error
        if isinstance(error, OSError):
            raise _of_system(error.errno or 0, str(error.strerror), self._path) from error


def _of_lmdb(error: lmdb.Error, path: str) -> errors.SimhashError:
    if isinstance(error, lmdb.ReadonlyError) and not os.access(os.path.join(path, "data.mdb"), os.R_OK):
        return errors.StoreRefused(f"{path}: it may not be read ({error})")
    for kind, ours, sentence in _SENTENCES:
        if isinstance(error, kind):
            return ours(f"{path}: {sentence} ({error})")
    if "closed/deleted/dropped" in str(error):
        return errors.IndexClosed(f"{path}: this index was closed ({error})")
    if "data format" in str(error):
        return errors.NotAnIndex(f"{path}: data.mdb was written by another version of LMDB ({error})")
    known = (*_NO_ROOM, *_NO_PERMISSION, errno.EROFS, *_PASSING, *_NO_FOLDER)
    numbers = (code for code in known if os.strerror(code) in str(error))
    return _of_system(next(numbers, 0), str(error), path)


def _of_system(code: int, text: str, path: str) -> errors.SimhashError:
    if code in _NO_ROOM:
        return errors.StoreFull(f"{path}: no room left, or the disk fails ({text})")
    if code in _NO_PERMISSION:
        why = "" if text == os.strerror(errno.EACCES) else f" ({text})"
        return errors.StoreRefused(f"{path}: permission denied{why}")
    if code == errno.EROFS:
        return errors.StoreReadonly(f"{path}: its file system is for reading only")
    if code in _PASSING:
        return errors.StoreUnavailable(f"{path}: the folder cannot be used now ({text})")
    return errors.StoreRefused(f"{path}: the folder cannot be used: {_NO_FOLDER.get(code, text)}")
