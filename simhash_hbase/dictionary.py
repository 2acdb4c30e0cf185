"""jieba itself: loaded when first needed, without its messages, and the files that it ships.

Only jieba's default dictionary is supported, in a tokenizer of this package's own: words added to
``jieba.dt`` by others change nothing here.
"""

import logging
import threading
import warnings
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["dictionary_digest", "jieba_cut", "jieba_file", "jieba_model", "jieba_tokenizer"]


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
    logger = logging.getLogger("jieba")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        tokenizer.initialize()
    finally:
        logger.setLevel(level)
    return tokenizer


def jieba_tokenizer() -> Any:  # noqa: ANN401 - jieba has no types
    """Give this process's tokenizer, loaded when first asked for.

    Returns
    -------
    jieba.Tokenizer
        With the default dictionary; not to be changed.
    """
    with _loading:
        return _loaded_tokenizer()


def jieba_file(*names: str) -> Path:
    """Give the path of a file that jieba ships, such as its dictionary.

    Parameters
    ----------
    *names : str
        Folders and file below jieba's own folder.

    Returns
    -------
    Path
        Where the file lies.
    """
    return Path(str(_jieba().__file__)).parent.joinpath(*names)


@cache
def dictionary_digest() -> str:
    """Digest jieba's dictionary, to notice when another version cuts differently.

    Returns
    -------
    str
        BLAKE2b, 16 bytes, of ``dict.txt``, in hexadecimal digits.
    """
    return blake2b(jieba_file("dict.txt").read_bytes(), digest_size=16).hexdigest()


def jieba_cut(text: str) -> list[str]:
    """Cut a text by jieba itself.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of str
        Its tokens.
    """
    tokens: list[str] = jieba_tokenizer().lcut(text)
    return tokens


def jieba_model(word: str) -> list[str]:
    """Cut a run of characters by jieba's hidden Markov model alone.

    Parameters
    ----------
    word : str
        A run that the dictionary does not decide.

    Returns
    -------
    list of str
        Its tokens.
    """
    return list(_jieba().finalseg.cut(word))
