"""jieba itself: loaded when first needed, and the files that it ships.

Only jieba's default dictionary is supported, in a tokenizer of this package's own: words added to
``jieba.dt`` by others change nothing here. The tokenizer is filled from ``dict.txt`` on every start. jieba's own
loading takes a file of fixed name in the system's temporary folder instead, where any user can leave one with other
words; reading that file is not even faster.
"""

import threading
import warnings
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from simhash_hbase.errors import MissingExtra


@cache
def _jieba() -> ModuleType:
    with warnings.catch_warnings():
        # jieba 0.42.1 asks pkg_resources for its files and has old escapes in its source.
        warnings.simplefilter("ignore")
        import jieba  # noqa: PLC0415 - loading it takes a second, and not every index needs it
    module: ModuleType = jieba
    return module


_loading = threading.Lock()


@cache
def _loaded_tokenizer() -> Any:  # noqa: ANN401 - jieba has no types
    tokenizer = _jieba().Tokenizer()
    tokenizer.FREQ, tokenizer.total = _dictionary(tokenizer)
    # jieba reads its dictionary, through the temporary folder, only where this is not said.
    tokenizer.initialized = True
    return tokenizer


def _dictionary(tokenizer: Any) -> tuple[dict[str, int], int]:  # noqa: ANN401 - jieba has no types
    """Read the words with their frequencies, and the beginnings of words with 0."""
    text = dictionary_bytes().decode()
    # A line is word, frequency and part of speech; no word holds a blank.
    fields = text.split()
    if len(fields) != 3 * text.count("\n"):
        with jieba_file("dict.txt").open("rb") as file:
            pairs: tuple[dict[str, int], int] = tokenizer.gen_pfdict(file)
        return pairs
    words, numbers = fields[::3], list(map(int, fields[1::3]))
    frequencies = dict(zip(words, numbers, strict=True))
    for word in words:
        for stop in range(len(word) - 1, 0, -1):
            if word[:stop] in frequencies:
                break
            frequencies[word[:stop]] = 0
    return frequencies, sum(numbers)


def jieba_tokenizer() -> Any:  # noqa: ANN401 - jieba has no types
    """Return this process's tokenizer, loaded on first use."""
    with _loading:
        return _loaded_tokenizer()


def jieba_file(*names: str) -> Path:
    """Return the path of a file of jieba's package, such as its dictionary."""
    # Found, not imported: an index is opened for its digests, and jieba takes a tenth of a second to load.
    found = find_spec("jieba")
    if found is None or found.origin is None:
        raise MissingExtra("jieba is not installed: pip install jieba")
    return Path(found.origin).parent.joinpath(*names)


def dictionary_bytes() -> bytes:
    """Read jieba's dictionary."""
    return jieba_file("dict.txt").read_bytes()


@cache
def dictionary_digest() -> str:
    """Digest jieba's dictionary, to notice when another version cuts differently."""
    return blake2b(dictionary_bytes(), digest_size=16).hexdigest()


def jieba_cut(text: str) -> list[str]:
    """Cut a text by jieba itself."""
    tokens: list[str] = jieba_tokenizer().lcut(text)
    return tokens


def jieba_model() -> Any:  # noqa: ANN401 - jieba has no types
    """Return the module with the tables of jieba's hidden Markov model."""
    return _jieba().finalseg
