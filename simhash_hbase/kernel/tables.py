"""The arrays from which the kernel works: jieba's dictionary and model, tables of characters, orders of sketch bins.

They depend on the files that jieba ships, on the package's own tables and on Python's version of Unicode alone. They
are made once and kept in one file of the user's cache, which is memory-mapped, so that all processes share their
memory. A file is used only if this user alone can have written it and its digest is right. Where no such file can be
kept the arrays are in this process's own memory.
"""

import mmap
import os
import re
import stat
import sys
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import mmh3
import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidProfile, MissingExtra
from simhash_hbase.kernel.dictionary import make_dictionary
from simhash_hbase.kernel.forms import LIST, MAPPED, MOST_LISTED
from simhash_hbase.kernel.kinds import (
    COMPOSED,
    DIGIT,
    EXTENDS,
    FORMAT,
    HAN_FIRST,
    HAN_LAST,
    HEBREW,
    HIRAGANA,
    IGNORABLE,
    KATAKANA,
    KEPT,
    MARK,
    MID_LETTER,
    MID_NUMBER,
    PART,
    SLOW,
    UNSPACED,
    WORD,
)
from simhash_hbase.kernel.normal import joining, varying
from simhash_hbase.kernel.segment import read_words
from simhash_hbase.kernel.shingles import BINS, mix
from simhash_hbase.rows.digests import digest_of

Tables = dict[str, NDArray[Any]]

VERSION = 15  # Version of the cached tables: raised whenever the same files of jieba would make others.

_IMPOSSIBLE = -3.14e100  # jieba's logarithm of 0.
_STATES = "BEMS"
_MODEL = ("prob_start.py", "prob_trans.py", "prob_emit.py")

_CLASSES = {  # In characters.txt.
    "LETTERS": PART,
    "DIGITS": PART | DIGIT,
    "MARKS": PART | MARK,
    "UNSPACED": UNSPACED,
    "UNSPACED_MARKS": EXTENDS,
    "HIRAGANA": HIRAGANA,
    "KATAKANA": KATAKANA,
    "VOICED": HIRAGANA | KATAKANA | EXTENDS,
    "FORMATS": FORMAT | COMPOSED,
    "IGNORABLES": IGNORABLE,
    "MID_LETTER": MID_LETTER,
    "MID_NUMBER": MID_NUMBER,
    "HEBREW": HEBREW,
}


@cache
def kernel_tables() -> Tables:
    """Return all arrays of the kernel by name, from the user's cache if they are in it; else make them."""
    model = digest_of(b"".join(jieba_file("finalseg", name).read_bytes() for name in _MODEL))
    digests = (dictionary_digest(), model, unicodedata.unidata_version, fold_digest(), str(VERSION))
    return cached_tables(f"kernel-{digest_of(' '.join(digests).encode())}", make_tables)


def make_tables() -> Tables:
    """Compute all arrays of the kernel, by name.

    Those of `make_dictionary` hold jieba's ``dict.txt``, and ``model`` its hidden Markov model, as `Cutter` takes them.
    ``orders`` has for each bin of a sketch the order in which it chooses another one if it is empty, and ``groups`` the
    bins of the bands. The others are tables of characters.
    """
    try:
        words = words_of(jieba_file("dict.txt").read_bytes())
    except ValueError as error:
        raise InvalidProfile(str(error)) from error

    def model_part(name: str) -> Any:  # noqa: ANN401 - jieba has no types
        # Without jieba, whose import takes longer.
        module = ModuleType(name)
        SourceFileLoader(name, str(jieba_file("finalseg", name))).exec_module(module)
        return module.P

    start, step, emit = map(model_part, _MODEL)
    characters = list(map(chr, range(HAN_FIRST, HAN_LAST + 1)))
    chances = [start[state] for state in _STATES]
    chances += [step[state].get(after, _IMPOSSIBLE) for state in _STATES for after in _STATES]
    emitted = [[emit[state].get(character, _IMPOSSIBLE) for character in characters] for state in _STATES]
    keys = np.arange(1, BINS * BINS + 1, dtype=np.uint64)
    mix(keys.data)
    return {
        **make_dictionary(*words),
        "model": np.concatenate([chances, np.transpose(emitted).ravel()]),
        **_characters(),
        "orders": np.argsort(keys.reshape(BINS, BINS), axis=1).astype(np.uint16).ravel(),
        "groups": np.argsort(keys[:BINS], kind="stable").astype(np.uint16),
    }


def jieba_file(*names: str) -> Path:
    """Return the path of a file of the installed package jieba, without importing jieba, which takes longer.

    `names` are its folders and its name within the package.
    """
    package = find_spec("jieba")
    if package is None or package.origin is None:
        raise MissingExtra("jieba is not installed: pip install jieba")
    return Path(package.origin).parent.joinpath(*names)


@cache
def dictionary_digest() -> str:
    """Return the digest of jieba's dictionary, which a profile keeps: another version cuts words differently."""
    return digest_of(jieba_file("dict.txt").read_bytes())


@cache
def fold_digest() -> str:
    """Return the digest of the table from traditional to simplified characters, which a profile keeps."""
    return digest_of(_fold_file().read_bytes())


@cache
def simplified() -> dict[int, str]:
    """Return the table from traditional to simplified Chinese characters, for `str.translate`."""
    groups = _fold_file().read_text("utf-8").split("\n\n")[-1].split()
    return {ord(character): group[0] for group in groups for character in group[1:]}


def _fold_file() -> Path:
    return Path(__file__).with_name("hans.txt")


def words_of(file: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]:
    """Return the words and numbers in a file such as jieba's dictionary, a word a line, as four arrays.

    These are the code points of all words, where each word starts and stops in them, and its number.
    """
    octets = np.frombuffer(bytearray(file), np.uint8)
    lines = file.count(b"\n") + (not file.endswith(b"\n"))
    # np.empty: pages of these arrays that are never written take no memory.
    points, numbers = np.empty(len(octets), np.uint32), np.empty(lines)
    starts, stops = np.empty(lines, np.uint32), np.empty(lines, np.uint32)
    read_words(octets.data, points.data, starts.data, stops.data, numbers.data)
    return points, starts, stops, numbers


def _characters() -> Tables:
    """Return the tables of characters: their kinds, and the forms into which the kernel converts them.

    ``kinds`` (uint16) is for all code points, the forms (uint32, see `simhash_hbase.kernel.forms`) are for the first
    131,072. ``normal`` and ``normal_lists`` make normal forms, ``folded`` and ``folded_lists`` the forms that are cut
    into words. Those with ``hans`` in their names do the same with simplified characters.
    """
    everything = np.arange(sys.maxunicode + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    kinds, joined = _kinds(everything), joining()
    same = np.arange(MAPPED, dtype=np.uint32)
    forms = {
        "normal": np.where(kinds[:MAPPED] & KEPT, same, np.uint32(0)),
        "folded": np.where(kinds[:MAPPED] & FORMAT, np.uint32(0), same),
    }
    lists: dict[str, list[int]] = {name: [] for name in forms}
    # In a table 0 says that nothing is left: the null character goes into the list.
    changing = (c for c in varying() if c == "\0" or c.lower() != c or unicodedata.decomposition(c))
    for character in sorted(joined.union(changing)):
        number, composed = ord(character), unicodedata.normalize("NFKC", character)
        if character in joined or not unicodedata.is_normalized("NFC", character):
            kinds[number] |= COMPOSED
        points = list(map(ord, composed.lower()))
        if not joined.isdisjoint(composed) or "Σ" in composed or len(points) > MOST_LISTED:
            kinds[number] |= SLOW
            continue
        kept = [point for point in points if kinds[point] & KEPT]
        for name, form in (("normal", kept), ("folded", points if forms["folded"][number] or not number else [])):
            forms[name][number] = 0
            if len(form) == 1 and number:
                forms[name][number] = form[0]
            elif form:
                forms[name][number] = LIST | len(lists[name])
                lists[name] += [len(form), *form]
    forms |= {f"{name}_lists": np.array(some, np.uint32) for name, some in lists.items()}
    return {"kinds": kinds, **forms, **{_hans(name): _simplified(points) for name, points in forms.items()}}


def _hans(name: str) -> str:
    form, _, lists = name.partition("_")
    return f"{form}_hans_{lists}" if lists else f"{form}_hans"


def _simplified(points: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return a table of forms, or its list, with traditional Chinese characters replaced by simplified ones.

    Numbers in it that are positions or lengths stay as they are: none is the code point of a traditional character.
    """
    same = np.arange(MAPPED, dtype=np.uint32)
    same[list(simplified())] = list(map(ord, simplified().values()))
    return np.where(points < MAPPED, same[np.minimum(points, MAPPED - 1)], points)


def _kinds(everything: str) -> NDArray[np.uint16]:
    def numbers(characters: str) -> NDArray[np.uint32]:
        return np.frombuffer(characters.encode("utf-32-le", "surrogatepass"), "<u4")

    kinds = np.zeros(len(everything), np.uint16)
    # Planes 4 to 13 are free, 14 has formats and marks alone, 15 and 16 are private. No mark is a word character.
    others = re.findall(r"\W", everything[:MAPPED] + everything[0xE0000:0xE1000])
    kinds[numbers("".join(c for c in others if unicodedata.category(c)[0] == "M"))] = KEPT
    kinds[0xFE00:0xFE10] = 0  # Variation selectors.
    kinds[numbers(re.sub(r"\W+", "", everything[:0x40000]))] = WORD | KEPT
    kinds[ord("_")] = WORD
    kinds[ord("0") : ord("9") + 1] |= DIGIT
    for block in Path(__file__).with_name("characters.txt").read_text("ascii").split("\n\n")[1:]:
        name, _, ranges = block.partition("\n")
        for first, _, last in (some.partition("-") for some in ranges.split()):
            kinds[int(first, 16) : int(last or first, 16) + 1] |= _CLASSES[name]
    kinds[MAPPED:] |= COMPOSED | SLOW
    return kinds


_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_DIGEST_BYTES = 16  # Length of the digest of all that follows.
_LENGTH_BYTES = 8  # Length of the number that is the length of the header.
_ALIGNMENT = 64
_RANDOM_BYTES = 8  # Random part of the name of a file that is being written.
_NOBODY_ELSE = LOCK_EX | LOCK_NB


def cached_tables(name: str, make: Callable[[], Tables]) -> Tables:
    """Return the arrays kept under a name in the user's cache; if they are not in it, call `make` and keep its result.

    The name must tell all that the arrays depend on. Changes that this process makes in an array are not written to the
    cache.
    """
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # There is no home folder.
        folder = Path()
    # A relative path would be another folder in each working directory.
    file = folder / "simhash-hbase" / "tables" / name if folder.is_absolute() else None
    arrays = _mapped(file) if file else None
    if arrays is None:
        arrays = make()
        if file:
            with suppress(OSError):
                _write(file, arrays)
                return _mapped(file) or arrays
    return arrays


def _mapped(file: Path) -> Tables | None:
    """Return the arrays in a file, memory-mapped.

    None means that there is no such file, that it is damaged, or that another user may have written it.
    """
    try:
        # The folder first: a file in another user's folder may be a pipe, on which opening waits.
        if not _is_own(file.parent.stat()):
            return None
        with file.open("rb") as opened:
            if not _is_own(os.fstat(opened.fileno())):
                return None
            # Pages are shared until they are written, which typed memoryviews ask to be allowed.
            content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):  # An empty file cannot be mapped.
        return None
    view = memoryview(content)
    start = _DIGEST_BYTES + _LENGTH_BYTES
    if len(view) < start or mmh3.mmh3_x64_128_digest(view[_DIGEST_BYTES:]) != view[:_DIGEST_BYTES]:
        return None
    stop = start + int.from_bytes(view[_DIGEST_BYTES:start], "little")
    places = msgspec.msgpack.decode(view[start:stop], type=dict[str, tuple[str, tuple[int, ...], int]])
    first = -(-stop // _ALIGNMENT) * _ALIGNMENT
    return {name: np.ndarray(shape, kind, content, first + at) for name, (kind, shape, at) in places.items()}


def _write(file: Path, arrays: Tables) -> None:
    """Write arrays to a file under another name and rename it, so that other processes see a whole file or none."""
    places, end = {}, 0  # For each array its type, its shape, and where it begins.
    for name, array in arrays.items():
        places[name] = (array.dtype.str, array.shape, end)
        end += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    header = msgspec.msgpack.encode(places)
    head = len(header).to_bytes(_LENGTH_BYTES, "little") + header
    parts: list[bytes | memoryview] = [head, bytes(-(_DIGEST_BYTES + len(head)) % _ALIGNMENT)]
    for array in arrays.values():
        parts += [array.data, bytes(-array.nbytes % _ALIGNMENT)]
    digest = mmh3.mmh3_x64_128()
    for part in parts:
        digest.update(part)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(file.parent.stat()):
        raise PermissionError(file.parent)
    _remove_leftovers(file)
    # As ``tempfile`` does, which takes longer to import than to find a file that is there.
    beside = file.with_name(f"{file.name}-{os.urandom(_RANDOM_BYTES).hex()}")
    number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with open(number, "wb") as opened:
            flock(opened, _NOBODY_ELSE)
            opened.writelines([digest.digest(), *parts])
            opened.flush()
            os.replace(beside, file)
    except BaseException:
        os.unlink(beside)
        raise


def _remove_leftovers(file: Path) -> None:
    """Remove the unfinished files that killed writers have left beside a file; one still being written is locked."""
    for leftover in file.parent.glob(f"{file.name}-{'[0-9a-f]' * 2 * _RANDOM_BYTES}"):
        with suppress(OSError), leftover.open("rb") as opened:
            flock(opened, _NOBODY_ELSE)
            leftover.unlink()


def _is_own(status: os.stat_result) -> bool:
    """Return whether only this user can have written the file, or into the folder, that has this status."""
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
