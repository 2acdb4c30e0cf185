"""jieba's dictionary and its hidden Markov model as arrays, from the files that jieba ships."""

from importlib.util import module_from_spec, spec_from_file_location
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidProfile
from simhash_hbase.kernel.segment import ENTRY_SHIFT, HAN_FIRST, HAN_LAST, LONGEST_WORD, MOST_NODES, insert_words
from simhash_hbase.words.installed import digest_of, jieba_file

_IMPOSSIBLE = -3.14e100  # jieba's logarithm of 0.
_STATES = "BEMS"
_TABLES = ("start", "trans", "emit")


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
        ``trie``, ``roots`` (uint64) and ``weights`` (float64) as `Cutter` takes them; ``unknown`` (float64, one value).

    Raises
    ------
    InvalidProfile
        The dictionary is larger than a trie holds.
    """
    columns = jieba_file("dict.txt").read_text("utf-8").split()
    # Of several lines about a word the last one counts, as in jieba; a frequency of 0 makes it no word.
    every = list(map(int, columns[1::3]))
    total, frequencies = sum(every), dict(zip(columns[::3], every, strict=True))
    words = [word for word, frequency in frequencies.items() if frequency]
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    ends = np.cumsum(lengths)
    points = np.frombuffer(bytearray("".join(words).encode("utf-32-le")), "<u4").astype(np.uint32, copy=False)
    if len(points) and lengths.max() > LONGEST_WORD:
        raise InvalidProfile(f"the dictionary has a word of more than {LONGEST_WORD} characters")
    trie = np.zeros(MOST_NODES, np.uint64)
    nodes = np.zeros(len(words), np.intc)
    count = insert_words(trie.data, points.data, ends.data, nodes.data)
    roots = np.zeros(1 << 16, np.uint64)
    first = trie[(trie > 0) & (trie < 1 << (16 + ENTRY_SHIFT))]
    roots[first >> np.uint64(ENTRY_SHIFT)] = first
    weights = np.zeros(count)
    unknown = log(1) - log(total)
    shares = {frequency: log(frequency) - log(total) for frequency in set(frequencies.values()) if frequency}
    weights[nodes] = [shares[frequencies[word]] for word in words]
    return {"trie": trie, "roots": roots, "weights": weights, "unknown": np.array([unknown])}


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
