"""What the kernel knows of characters and bins: arrays that depend on Python's version of Unicode alone."""

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.kernel.forms import FOREIGN, LIST, LISTED, MAPPED, MOST_LISTED, SLOW, UNUSUAL, WORD
from simhash_hbase.kernel.shingles import BINS
from simhash_hbase.words.normal import normal_character
from simhash_hbase.words.unicode import find_unusual, folded_character

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def character_arrays() -> dict[str, NDArray[Any]]:
    """Return ``kinds`` (uint8) of all code points, and of the first 131,072 the forms (uint32, see `forms`).

    ``normal`` and ``normal_lists`` make normal forms, ``folded`` and ``folded_lists`` what is cut into words.
    """
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    kinds = np.zeros(len(everything), np.uint8)
    unusual = find_unusual(everything)
    for kind, characters in ((WORD, re.findall(r"\w", everything)), (UNUSUAL, unusual)):
        kinds[np.frombuffer("".join(characters).encode("utf-32-le", "surrogatepass"), "<u4")] |= kind
    kinds[MAPPED:] |= FOREIGN | SLOW
    normal, normal_lists = _forms(normal_character, everything[:MAPPED], kinds, SLOW)
    folded, folded_lists = _forms(folded_character, everything[:MAPPED], kinds, FOREIGN)
    return {
        "kinds": kinds,
        "normal": normal,
        "normal_lists": normal_lists,
        "folded": folded,
        "folded_lists": folded_lists,
    }


def _forms(
    form_of: Callable[[str], str | None], characters: str, kinds: NDArray[np.uint8], missing: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Write the forms of characters into a table and a list; those that have none by themselves get a kind."""
    table = np.zeros(len(characters), np.uint32)
    listed: list[int] = []
    for number, character in enumerate(characters):
        form = form_of(character)
        if form is None or len(form) > MOST_LISTED:
            kinds[number] |= missing
        elif len(form) == 1:
            table[number] = ord(form)
        elif form:
            table[number] = LIST | len(listed)
            listed += [len(form), *map(ord, form)]
            kinds[number] |= LISTED
    return table, np.array(listed, np.uint32)


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
