"""Rows about the index itself, in family ``m``: profile, learned idf table, secret, open bulk load, last backup."""

from os import urandom
from typing import TypeVar

import msgspec

from simhash_hbase.errors import CorruptIndex, IndexMissing, InvalidProfile, StoreBusy
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.profile import Profile
from simhash_hbase.rows.digests import blake2b, digest_of
from simhash_hbase.rows.keys import index_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FAMILY_INDEX, VALUE_QUALIFIER
from simhash_hbase.stores.base import Cell, Store

T = TypeVar("T")

_PROFILE_ROW = index_row("profile")
_LOAD_ROW = index_row("load")
_BACKUP_ROW = index_row("backup")
_SECRET_ROW = index_row("secret")
_DIGEST_ROW = index_row("digest")
SECRET_BYTES = 32
# HBase refuses cells above 10 MB by default; pieces of this size also keep a gateway's buffers small.
PIECE_BYTES = 256 * 1024


def find_profile(store: Store) -> Profile | None:
    """Return the profile (the options) of the index in a store; None if the store is empty.

    Raises `CorruptIndex` if there are documents without a profile.
    """
    cell = _read(store, _PROFILE_ROW)
    if cell is None:
        _check_no_documents(store)
        return None
    return Profile.decode(cell.value)


def has_documents(store: Store) -> bool:
    """Return whether a store has any cell of family ``d`` (a document, one of its copies or a left-over one)."""
    return next(iter(store.scan_cells(FAMILY_DOCUMENTS, b"", None, page=1)), None) is not None


def _check_no_documents(store: Store) -> None:
    """Raise `CorruptIndex` if a store has documents, though its profile is missing: the profile was lost."""
    if has_documents(store):
        raise CorruptIndex(
            f"the profile at {store.url} is missing, and there are documents: restore a backup, since no other profile "
            "finds them"
        )


def read_profile(store: Store) -> Profile:
    """Return the profile (the options) of the index in a store, or raise `IndexMissing`."""
    return Profile.decode(_profile_cell(store).value)


def identity(store: Store, collection: str | None = None) -> str:
    """Return a hex digest that identifies an index and one collection in it: no two indexes or collections share it.

    It is made of the profile, the time at which the profile was written, and the collection's name.
    """
    cell = _profile_cell(store)
    named = "" if collection is None else f"\0{collection}"
    return blake2b(f"{cell.timestamp} ".encode() + cell.value + named.encode(), digest_size=16).hexdigest()


def _profile_cell(store: Store) -> Cell:
    """Return the cell with the profile of the index, the options that never change.

    Raises `CorruptIndex` if it is not the one that the index was made with.
    """
    cell, digest = store.get(FAMILY_INDEX, [(_PROFILE_ROW, VALUE_QUALIFIER), (_DIGEST_ROW, VALUE_QUALIFIER)])
    if cell is None:
        _check_no_documents(store)
        raise IndexMissing(f"there is no index at {store.url}")
    # An index of 1.0.0 has no digest.
    if digest is not None and digest.value != digest_of(cell.value).encode():
        raise CorruptIndex(f"the profile at {store.url} is not the one that the index was made with: restore a backup")
    return cell


def _read(store: Store, row: bytes) -> Cell | None:
    return store.get(FAMILY_INDEX, [(row, VALUE_QUALIFIER)])[0]


def write_own_rows(store: Store, profile: Profile, idf: IdfTable | None) -> None:
    """Write the rows about a new index: idf table, secret, and last the profile, which makes the store an index."""
    if (profile.idf if profile.analyzer == "learned" else None) != (idf and idf.digest()):
        raise InvalidProfile("the profile names another idf table than the one given")
    encoded = idf.encode() if idf is not None else b""
    pieces = [encoded[i : i + PIECE_BYTES] for i in range(0, len(encoded), PIECE_BYTES)]
    for number, piece in enumerate(pieces):
        store.put(FAMILY_INDEX, [Cell(_piece_row(number), VALUE_QUALIFIER, piece)])
    secret = urandom(SECRET_BYTES)
    store.put(FAMILY_INDEX, [Cell(_SECRET_ROW, VALUE_QUALIFIER, secret)])
    encoded_profile = profile.replace(secret=digest_of(secret)).encode()
    store.put(FAMILY_INDEX, [Cell(_DIGEST_ROW, VALUE_QUALIFIER, digest_of(encoded_profile).encode())])
    store.put(FAMILY_INDEX, [Cell(_PROFILE_ROW, VALUE_QUALIFIER, encoded_profile)])


def check_own_rows(store: Store) -> None:
    """Raise `CorruptIndex` if one of the rows about the index itself is missing, damaged or from another index.

    Checked are profile, idf table, secret, and the notes of the open load and the last backup. An index of version
    1.0.0 has no digest of its profile, so a changed profile is noticed only if it cannot be decoded.
    """
    profile = read_profile(store)
    if profile.secret is not None and _read(store, _DIGEST_ROW) is None:
        raise CorruptIndex(f"the digest of the profile at {store.url} is missing")
    read_idf(store, profile)
    read_secret(store, profile)
    read_open_load(store)
    read_last_backup(store)


def read_secret(store: Store, profile: Profile) -> bytes | None:
    """Return the random key that hides the fingerprints of named collections; None in an index of version 1.0.

    Raises `CorruptIndex` if it is not the one that the profile names.
    """
    if profile.secret is None:
        return None
    cell = _read(store, _SECRET_ROW)
    if cell is None or digest_of(cell.value) != profile.secret:
        raise CorruptIndex(
            f"the secret at {store.url} is not the one that its profile names: restore a backup; documents of no "
            "collection are read as before"
        )
    return cell.value


def read_idf(store: Store, profile: Profile) -> IdfTable | None:
    """Return the learned table of word weights (idf); None unless the analyzer is ``learned``."""
    if profile.analyzer != "learned":
        return None
    pieces: list[bytes] = []
    while cell := _read(store, _piece_row(len(pieces))):
        pieces.append(cell.value)
    try:
        table = IdfTable.decode(b"".join(pieces))
    except CorruptIndex as error:
        raise CorruptIndex(f"the idf table at {store.url} is damaged: restore a backup") from error
    if table.digest() != profile.idf:
        raise CorruptIndex(f"the idf table at {store.url} is not the one that its profile names: restore a backup")
    return table


def _piece_row(number: int) -> bytes:
    return index_row(f"idf/{number:06d}")


def _read_json(store: Store, row: bytes, form: type[T], name: str, way_out: str) -> T | None:
    cell = _read(store, row)
    try:
        return cell and msgspec.json.decode(cell.value, type=form)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptIndex(f"the row of {name} at {store.url} is damaged: {way_out}") from error


class OpenLoad(msgspec.Struct, frozen=True):
    """The value of the cell that records the last bulk load: its token, and whether it is still open.

    A bulk load writes files for HBase past the store.
    """

    token: str  # Identifies the load.
    is_open: bool  # Whether it is still to be finished.


def read_open_load(store: Store) -> OpenLoad | None:
    """Return the bulk load that was begun and not finished; None if there is none."""
    load = _read_json(store, _LOAD_ROW, OpenLoad, "loads", "a load with `take_over` writes it anew")
    return load if load and load.is_open else None


def begin_load(store: Store, token: str, *, take_over: bool = False) -> int:
    """Record that the bulk load with this token has begun; return the server's time in ms since 1970.

    A bulk load writes files for HBase past the store; its cells get timestamps below that time. Raises `StoreBusy` if
    another load is not finished, unless `take_over`.
    """
    found = None if take_over else read_open_load(store)
    if found is not None and found.token != token:
        raise StoreBusy(
            f"another load into {store.url} was not finished: repeat its command where it ran, or add `take_over`"
        )
    _write_load(store, OpenLoad(token, is_open=True))
    cell = _read(store, _LOAD_ROW)
    if cell is None or cell.timestamp is None:
        raise CorruptIndex(f"the row of loads at {store.url} was written and is not there")
    return cell.timestamp


def end_load(store: Store, token: str) -> None:
    """Record that the bulk load with this token is finished."""
    _write_load(store, OpenLoad(token, is_open=False))


def _write_load(store: Store, load: OpenLoad) -> None:
    store.put(FAMILY_INDEX, [Cell(_LOAD_ROW, VALUE_QUALIFIER, msgspec.json.encode(load))])


class NotedBackup(msgspec.Struct, frozen=True):
    """The value of the cell that records when the last backup began."""

    time: int  # When the last backup began, in ms since 1970.


def read_last_backup(store: Store) -> int | None:
    """Return when the last backup began, in ms since 1970; None if no backup was recorded."""
    way_out = "a note of the latest backup writes it anew"
    backup = _read_json(store, _BACKUP_ROW, NotedBackup, "backups", way_out)
    return None if backup is None else backup.time


def write_last_backup(store: Store, time: int) -> None:
    """Record when the last backup began, in ms since 1970."""
    store.put(FAMILY_INDEX, [Cell(_BACKUP_ROW, VALUE_QUALIFIER, msgspec.json.encode(NotedBackup(time)))])
