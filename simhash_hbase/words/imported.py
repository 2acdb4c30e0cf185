"""jieba, imported without pkg_resources: that takes a tenth of a second, and jieba opens its files without it, too."""

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

_UNNEEDED = "pkg_resources"


@cache
def imported_jieba() -> ModuleType:
    """Import jieba when it is first needed."""
    with warnings.catch_warnings(), _without_resources():
        # jieba 0.42.1 has old escapes in its source.
        warnings.simplefilter("ignore")
        import jieba  # noqa: PLC0415 - not every index needs it
    module: ModuleType = jieba
    return module


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
