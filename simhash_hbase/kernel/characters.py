"""What the kernel knows of characters and bins: arrays that depend on Python's version of Unicode alone."""

import re
import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.kernel.forms import COMPOSED, FORMAT, KEPT, LIST, LISTED, MAPPED, MOST_LISTED, SLOW, WORD
from simhash_hbase.kernel.normal import joining
from simhash_hbase.kernel.shingles import BINS, mix

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


def character_arrays() -> dict[str, NDArray[Any]]:
    """Return ``kinds`` (uint16) of all code points, and of the first 131,072 the forms (uint32, see `forms`).

    ``normal`` and ``normal_lists`` make normal forms, ``folded`` and ``folded_lists`` what is cut into words.
    """
    everything = np.arange(sys.maxunicode + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    kinds = _kinds(everything)
    same = np.arange(MAPPED, dtype=np.uint32)
    tables = {
        "normal": np.where(kinds[:MAPPED] & KEPT, same, np.uint32(0)),
        "folded": np.where(kinds[:MAPPED] & FORMAT, np.uint32(0), same),
    }
    lists: dict[str, list[int]] = {name: [] for name in tables}
    for number, character in enumerate(everything[:MAPPED]):
        composed = unicodedata.normalize("NFKC", character)
        # In a table 0 says that nothing is left: the null character goes into the list.
        if number and composed.lower() == character and character not in joining():
            continue
        points = list(map(ord, composed.lower()))
        if not joining().isdisjoint(composed) or "Σ" in composed or len(points) > MOST_LISTED:
            kinds[number] |= SLOW
            continue
        kept = [point for point in points if kinds[point] & KEPT]
        for name, form in (("normal", kept), ("folded", points if tables["folded"][number] or not number else [])):
            tables[name][number] = 0
            if len(form) == 1 and number:
                tables[name][number] = form[0]
            elif form:
                tables[name][number] = LIST | len(lists[name])
                lists[name] += [len(form), *form]
                kinds[number] |= LISTED
    return {"kinds": kinds, **tables, **{f"{name}_lists": np.array(some, np.uint32) for name, some in lists.items()}}


def _kinds(everything: str) -> NDArray[np.uint16]:
    kinds = np.zeros(len(everything), np.uint16)
    # The last plane with assigned characters has formats and marks alone.
    marks = (c for c in everything[:MAPPED] + everything[0xE0000:0xF0000] if unicodedata.category(c)[0] == "M")
    kinds[_numbers("".join(marks))] = KEPT
    kinds[0xFE00:0xFE10] = 0  # Variation selectors.
    kinds[_numbers(re.sub(r"\W+", "", everything))] = WORD | KEPT
    kinds[ord("_")] = WORD
    kinds[ord("0") : ord("9") + 1] |= _DIGIT
    for block in Path(__file__).with_suffix(".txt").read_text("ascii").split("\n\n")[1:]:
        name, _, ranges = block.partition("\n")
        for first, _, last in (some.partition("-") for some in ranges.split()):
            kinds[int(first, 16) : int(last or first, 16) + 1] |= _CLASSES[name]
    composed = (c for c in everything[:MAPPED] if c in joining() or not unicodedata.is_normalized("NFC", c))
    kinds[_numbers("".join(composed))] |= COMPOSED
    kinds[MAPPED:] |= COMPOSED | SLOW
    return kinds


def _numbers(characters: str) -> NDArray[np.uint32]:
    return np.frombuffer(characters.encode("utf-32-le", "surrogatepass"), "<u4")


def bin_arrays() -> dict[str, NDArray[np.uint16]]:
    """Return ``orders``, for each bin the order in which it chooses another one, and ``groups``, the bins of bands."""
    keys = np.arange(1, BINS * BINS + 1, dtype=np.uint64)
    mix(keys.data)
    groups = np.argsort(keys[:BINS], kind="stable")
    orders = np.argsort(keys.reshape(BINS, BINS), axis=1)
    return {"orders": orders.astype(np.uint16).ravel(), "groups": groups.astype(np.uint16)}
