"""jieba's dictionary and its hidden Markov model as arrays, from the files that jieba ships."""

import re
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from math import log
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.digests import digest_of
from simhash_hbase.errors import InvalidProfile, MissingExtra
from simhash_hbase.kernel.segment import ENTRY_SHIFT, HAN_FIRST, HAN_LAST, SLOTS, read_dictionary

_ASCII = 128
_IMPOSSIBLE = -3.14e100  # jieba's logarithm of 0.
_STATES = "BEMS"
_TABLES = ("start", "trans", "emit")


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


def model_digest() -> str:
    """Digest jieba's hidden Markov model."""
    return digest_of(b"".join(_model_file(name).read_bytes() for name in _TABLES))


def dictionary_arrays() -> dict[str, NDArray[Any]]:
    """Read jieba's ``dict.txt`` into ``trie``, ``pairs`` and ``unknown``, as `Cutter` takes them."""
    text = jieba_file("dict.txt").read_text("utf-8")
    points = np.frombuffer(bytearray(text.encode("utf-32-le")), "<u4").astype(np.uint32, copy=False)
    trie = np.zeros((SLOTS + (1 << 16), 2), np.uint64)
    try:
        total = log(read_dictionary(points.data, trie.ravel().data))
    except ValueError as error:
        raise InvalidProfile(str(error)) from error
    first = trie[(trie[:, 0] > 0) & (trie[:, 0] < 1 << (16 + ENTRY_SHIFT))]
    trie[SLOTS + (first[:, 0] >> np.uint64(ENTRY_SHIFT)).astype(np.intp)] = first
    distinct, which = np.unique(trie[:, 1], return_inverse=True)
    # Logarithms are Python's, as jieba's are; those of no word are not looked at.
    trie.view(np.float64)[:, 1] = np.array([log(frequency or 1) - total for frequency in distinct.tolist()])[which]
    unknown = log(1) - total
    pairs = np.zeros((_ASCII, _ASCII), np.uint8)
    for pair in set(re.findall("^[!-~]{2}", text, re.MULTILINE)):
        pairs[ord(pair[0]), ord(pair[1])] = 1
    return {"trie": trie.ravel(), "pairs": pairs.ravel(), "unknown": np.array([unknown])}


def model_array() -> NDArray[np.float64]:
    """Read jieba's hidden Markov model as `Cutter` takes it."""
    start, step, emit = map(_table, _TABLES)
    characters = [chr(point) for point in range(HAN_FIRST, HAN_LAST + 1)]
    chances = [start[state] for state in _STATES]
    chances += [step[state].get(after, _IMPOSSIBLE) for state in _STATES for after in _STATES]
    chances += [emit[state].get(character, _IMPOSSIBLE) for character in characters for state in _STATES]
    return np.array(chances)


def _model_file(name: str) -> Path:
    return jieba_file("finalseg", f"prob_{name}.py")


def _table(name: str) -> Any:  # noqa: ANN401 - jieba has no types
    """Load one of jieba's tables without jieba, whose import takes longer."""
    module = ModuleType(name)
    SourceFileLoader(name, str(_model_file(name))).exec_module(module)
    return module.P
