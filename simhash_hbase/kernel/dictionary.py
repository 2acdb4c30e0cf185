"""jieba's dictionary and its hidden Markov model as arrays, from the files that jieba ships."""

from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from math import log
from pathlib import Path
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
    """Digest the files of jieba's hidden Markov model."""
    return digest_of(b"".join(_model_file(name).read_bytes() for name in _TABLES))


def dictionary_arrays() -> dict[str, NDArray[Any]]:
    """Read jieba's ``dict.txt``, which has a word, its frequency and a tag a line, into a trie.

    Returns
    -------
    dict
        ``trie`` (uint64), ``pairs`` (uint8) and ``unknown`` (float64, one value), as `Cutter` takes them.

    Raises
    ------
    InvalidProfile
        The dictionary is larger than a trie holds.
    """
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
    nodes, characters = np.divmod(trie[:SLOTS, 0] >> np.uint64(ENTRY_SHIFT), np.uint64(1 << 21))
    pairs = np.zeros((_ASCII, _ASCII), np.uint8)
    for number, entry in enumerate(trie[SLOTS : SLOTS + _ASCII, 0].tolist()):
        if entry:
            pairs[number, characters[(nodes == entry >> 2 & 0xFFFFF) & (characters < _ASCII)].astype(np.intp)] = 1
    return {"trie": trie.ravel(), "pairs": pairs.ravel(), "unknown": np.array([unknown])}


def model_array() -> NDArray[np.float64]:
    """Read jieba's hidden Markov model as `Cutter` takes it."""
    start, step, emit = map(_table, _TABLES)
    width = HAN_LAST - HAN_FIRST + 1
    model = np.full(20 + 4 * width, _IMPOSSIBLE)
    for number, state in enumerate(_STATES):
        model[number] = start[state]
        for other, after in enumerate(_STATES):
            model[4 + 4 * number + other] = step[state].get(after, _IMPOSSIBLE)
        for character, chance in emit[state].items():
            if HAN_FIRST <= ord(character) <= HAN_LAST:
                model[20 + number * width + ord(character) - HAN_FIRST] = chance
    return model


def _model_file(name: str) -> Path:
    return jieba_file("finalseg", f"prob_{name}.py")


def _table(name: str) -> Any:  # noqa: ANN401 - jieba has no types
    """Load one of jieba's tables without jieba, whose import takes longer."""
    file = _model_file(name)
    spec = spec_from_file_location(f"jieba.finalseg.{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be loaded")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.P
