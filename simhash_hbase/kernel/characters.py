"""What the kernel knows of characters and bins: arrays that depend on Python's version of Unicode alone."""

import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.kernel.forms import FOREIGN, LIST, LISTED, MAPPED, MOST_LISTED, SLOW, UNUSUAL, WORD
from simhash_hbase.kernel.shingles import BINS
from simhash_hbase.words.marks import joining
from simhash_hbase.words.normal import is_kept, normal_character
from simhash_hbase.words.unicode import folded_character, foreign_characters, format_characters, unusual_characters

_BLOCK = 32
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def character_arrays() -> dict[str, NDArray[Any]]:
    """Return ``kinds`` (uint8) of all code points, and of the first 131,072 the forms (uint32, see `forms`).

    ``normal`` and ``normal_lists`` make normal forms, ``folded`` and ``folded_lists`` what is cut into words.
    """
    everything = np.arange(sys.maxunicode + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    kinds = np.zeros(len(everything), np.uint8)
    kinds[_numbers(re.sub(r"\W+", "", everything))] |= WORD
    kinds[MAPPED:] |= UNUSUAL | FOREIGN | SLOW
    first, plain = everything[:MAPPED], _plain_characters(everything[:MAPPED])
    foreign, formats = _numbers(foreign_characters(first)), _numbers(format_characters(first))
    kinds[foreign] |= UNUSUAL
    kinds[formats] |= UNUSUAL
    kinds[_numbers("".join(filter(_changes, unusual_characters(first))))] |= UNUSUAL
    same = np.arange(MAPPED, dtype=np.uint32)
    normal = np.where(plain & np.fromiter(map(is_kept, first), np.bool_, MAPPED), same, np.uint32(0))
    folded = np.where(plain, same, np.uint32(0))
    folded[formats] = 0
    kinds[foreign[plain[foreign]]] |= FOREIGN
    others = np.flatnonzero(~plain).tolist()
    return {
        "kinds": kinds,
        "normal": normal,
        "normal_lists": _add_forms(normal, normal_character, others, kinds, SLOW),
        "folded": folded,
        "folded_lists": _add_forms(folded, folded_character, others, kinds, FOREIGN),
    }


def _changes(character: str) -> bool:
    """Return whether Unicode's form NFC may change a character, or join it with one before it."""
    return character in joining() or not unicodedata.is_normalized("NFC", character)


def _plain_characters(characters: str) -> NDArray[np.bool_]:
    """Find the blocks of characters that have no other form, and join no character before them."""
    plain = np.zeros(len(characters), np.bool_)
    for start in range(0, len(characters), _BLOCK):
        block = characters[start : start + _BLOCK]
        is_plain = unicodedata.is_normalized("NFKC", block) and block == block.lower() and joining().isdisjoint(block)
        plain[start : start + _BLOCK] = is_plain
    plain[0] = False  # In a table 0 says that nothing is left: the null character goes into the list.
    return plain


def _add_forms(
    table: NDArray[np.uint32],
    form_of: Callable[[str], str | None],
    numbers: Sequence[int],
    kinds: NDArray[np.uint8],
    missing: int,
) -> NDArray[np.uint32]:
    """Write the forms of characters into a table and a list; those that have none by themselves get a kind."""
    listed: list[int] = []
    for number in numbers:
        form = form_of(chr(number))
        if form is None or len(form) > MOST_LISTED:
            kinds[number] |= missing
        elif len(form) == 1 and number:
            table[number] = ord(form)
        elif form:
            table[number] = LIST | len(listed)
            listed += [len(form), *map(ord, form)]
            kinds[number] |= LISTED
    return np.array(listed, np.uint32)


def _numbers(characters: str) -> NDArray[np.uint32]:
    return np.frombuffer(characters.encode("utf-32-le", "surrogatepass"), "<u4")


def bin_arrays() -> dict[str, NDArray[np.uint16]]:
    """Return ``orders``, for each bin the order in which it chooses another one, and ``groups``, the bins of bands."""
    keys = _mixed(np.arange(1, BINS * BINS + 1, dtype=np.uint64)).reshape(BINS, BINS)
    groups = np.argsort(_mixed(np.arange(1, BINS + 1, dtype=np.uint64)), kind="stable")
    return {"orders": np.argsort(keys, axis=1).astype(np.uint16).ravel(), "groups": groups.astype(np.uint16)}


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix as splitmix64's finaliser does: no two numbers become one."""
    values = numbers * _GOLDEN
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
