"""jieba, imported for this package alone: what others do to their jieba changes nothing here.

``jieba.del_word`` and ``jieba.add_word`` with frequency 0 have every tokenizer of a process cut a word into its
characters, and programs replace jieba's expressions for a block to get words with blanks.

pkg_resources is left out: to import that takes a tenth of a second, and jieba opens its files without it, too.
"""

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from simhash_hbase.words.installed import jieba_file

OWN = "simhash_hbase.words.own_jieba"
"""The name under which jieba is imported: its own is that of everybody's jieba."""
_UNNEEDED = "pkg_resources"


@cache
def imported_jieba() -> ModuleType:
    """Import jieba when it is first needed."""
    file = jieba_file("__init__.py")
    spec = spec_from_file_location(OWN, file, submodule_search_locations=[str(file.parent)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be loaded")
    module = module_from_spec(spec)
    with warnings.catch_warnings(), _without_resources(), _registered(module):
        # jieba 0.42.1 has old escapes in its source.
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


@contextmanager
def _registered(module: ModuleType) -> Iterator[None]:
    """Let a package find its own modules; it is forgotten where its import fails."""
    sys.modules[module.__name__] = module
    try:
        yield
    except BaseException:
        del sys.modules[module.__name__]
        raise


class _Missing:
    """Says of one module, and to one thread, that it is not installed."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Refuse the module; others are left to other finders."""
        if name == _UNNEEDED and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{name} is not needed", name=name)


@contextmanager
def _without_resources() -> Iterator[None]:
    missing = _Missing()
    # New lists: threads that import at this moment go through the old one.
    sys.meta_path = [missing, *sys.meta_path]
    try:
        yield
    finally:
        sys.meta_path = [finder for finder in sys.meta_path if finder is not missing]
