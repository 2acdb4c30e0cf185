"""The arrays that the kernel works by: jieba's dictionary and its hidden Markov model, characters, and bins.

They depend on the files that jieba ships and on Python's version of Unicode alone.
"""

import re
import sys
import unicodedata
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.digests import digest_of
from simhash_hbase.errors import InvalidProfile, MissingExtra
from simhash_hbase.kernel.cache import Tables, tables
from simhash_hbase.kernel.forms import COMPOSED, FORMAT, KEPT, LIST, MAPPED, MOST_LISTED, SLOW, WORD
from simhash_hbase.kernel.normal import joining, varying
from simhash_hbase.kernel.segment import HAN_FIRST, HAN_LAST, SLOTS, read_dictionary, read_words
from simhash_hbase.kernel.shingles import BINS, mix

VERSION = 10  # Of tables in the cache: changes whenever the same files of jieba would make others.

_IMPOSSIBLE = -3.14e100  # jieba's logarithm of 0.
_STATES = "BEMS"
_MODEL = ("prob_start.py", "prob_trans.py", "prob_emit.py")

# Kinds of characters in words that jieba does not know, as `segment` has them:
_PART = 64  # A letter, a digit or a mark of a script that puts blanks between words.
_DIGIT = 128  # ASCII's digits are of this kind, too.
_HIRAGANA, _KATAKANA = 512, 1024
EXTENDS = 4096  # It stays with the character before it, of a script without blanks.
_CLASSES = {  # In characters.txt.
    "LETTERS": _PART,
    "DIGITS": _PART | _DIGIT,
    "MARKS": _PART | 256,
    "UNSPACED": 2048,
    "UNSPACED_MARKS": EXTENDS,
    "HIRAGANA": _HIRAGANA,
    "KATAKANA": _KATAKANA,
    "VOICED": _HIRAGANA | _KATAKANA | EXTENDS,
    "FORMATS": FORMAT | COMPOSED,
    "MID_LETTER": 8192,
    "MID_NUMBER": 16384,
    "HEBREW": 32768,
}


@cache
def kernel_tables() -> Tables:
    """Return all arrays, from the user's cache if they are in it."""
    model = digest_of(b"".join(jieba_file("finalseg", name).read_bytes() for name in _MODEL))
    digests = (dictionary_digest(), model, unicodedata.unidata_version, str(VERSION))
    return tables(f"kernel-{digest_of(' '.join(digests).encode())}", make_tables)


def make_tables() -> Tables:
    """Make all arrays."""
    return {**_dictionary(), "model": _model(), **_characters(), **_bins()}


def jieba_file(*names: str) -> Path:
    """Return the path of a file of jieba's package, which is found, not imported: that takes longer."""
    package = find_spec("jieba")
    if package is None or package.origin is None:
        raise MissingExtra("jieba is not installed: pip install jieba")
    return Path(package.origin).parent.joinpath(*names)


@cache
def dictionary_digest() -> str:
    """Digest jieba's dictionary, to notice when another version cuts differently."""
    return digest_of(jieba_file("dict.txt").read_bytes())


def _dictionary() -> Tables:
    """Read jieba's ``dict.txt`` into ``trie``, ``pairs`` and ``unknown``, as `Cutter` takes them."""
    trie, pairs = np.zeros(2 * (SLOTS + (1 << 16)), np.uint64), np.zeros(1 << 14, np.uint8)
    try:
        points, starts, stops, counts = (array.data for array in words_of(jieba_file("dict.txt").read_bytes()))
        unknown = read_dictionary(points, starts, stops, counts, trie.data, trie.view(np.float64).data, pairs.data)
    except ValueError as error:
        raise InvalidProfile(str(error)) from error
    return {"trie": trie, "pairs": pairs, "unknown": np.array([unknown])}


def words_of(file: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]:
    """Read a file of words and numbers: return their code points, where each starts and stops, and its number."""
    octets = np.frombuffer(bytearray(file), np.uint8)
    lines = file.count(b"\n") + (not file.endswith(b"\n"))
    # Memory that is not written is none.
    points, numbers = np.empty(len(octets), np.uint32), np.empty(lines)
    starts, stops = np.empty(lines, np.uint32), np.empty(lines, np.uint32)
    read_words(octets.data, points.data, starts.data, stops.data, numbers.data)
    return points, starts, stops, numbers


def _model() -> NDArray[np.float64]:
    """Read jieba's hidden Markov model as `Cutter` takes it."""

    def table(name: str) -> Any:  # noqa: ANN401 - jieba has no types
        # Without jieba, whose import takes longer.
        module = ModuleType(name)
        SourceFileLoader(name, str(jieba_file("finalseg", name))).exec_module(module)
        return module.P

    start, step, emit = map(table, _MODEL)
    characters = list(map(chr, range(HAN_FIRST, HAN_LAST + 1)))
    chances = [start[state] for state in _STATES]
    chances += [step[state].get(after, _IMPOSSIBLE) for state in _STATES for after in _STATES]
    emitted = [list(map(emit[state].get, characters, repeat(_IMPOSSIBLE))) for state in _STATES]
    return np.concatenate([chances, np.transpose(emitted).ravel()])


def _characters() -> Tables:
    """Return ``kinds`` (uint16) of all code points, and of the first 131,072 the forms (uint32, see `forms`).

    ``normal`` and ``normal_lists`` make normal forms, ``folded`` and ``folded_lists`` what is cut into words.
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
    return {"kinds": kinds, **forms, **{f"{name}_lists": np.array(some, np.uint32) for name, some in lists.items()}}


def _kinds(everything: str) -> NDArray[np.uint16]:
    kinds = np.zeros(len(everything), np.uint16)
    # Planes 4 to 13 are free, 14 has formats and marks alone, 15 and 16 are private. No mark is a word character.
    others = re.findall(r"\W", everything[:MAPPED] + everything[0xE0000:0xE1000])
    kinds[_numbers("".join(c for c in others if unicodedata.category(c)[0] == "M"))] = KEPT
    kinds[0xFE00:0xFE10] = 0  # Variation selectors.
    kinds[_numbers(re.sub(r"\W+", "", everything[:0x40000]))] = WORD | KEPT
    kinds[ord("_")] = WORD
    kinds[ord("0") : ord("9") + 1] |= _DIGIT
    for block in Path(__file__).with_name("characters.txt").read_text("ascii").split("\n\n")[1:]:
        name, _, ranges = block.partition("\n")
        for first, _, last in (some.partition("-") for some in ranges.split()):
            kinds[int(first, 16) : int(last or first, 16) + 1] |= _CLASSES[name]
    kinds[MAPPED:] |= COMPOSED | SLOW
    return kinds


def _numbers(characters: str) -> NDArray[np.uint32]:
    return np.frombuffer(characters.encode("utf-32-le", "surrogatepass"), "<u4")


def _bins() -> Tables:
    """Return ``orders``, for each bin the order in which it chooses another one, and ``groups``, the bins of bands."""
    keys = np.arange(1, BINS * BINS + 1, dtype=np.uint64)
    mix(keys.data)
    groups = np.argsort(keys[:BINS], kind="stable")
    orders = np.argsort(keys.reshape(BINS, BINS), axis=1)
    return {"orders": orders.astype(np.uint16).ravel(), "groups": groups.astype(np.uint16)}
