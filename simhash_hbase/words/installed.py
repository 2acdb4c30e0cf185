"""What is installed of jieba and rjieba: found, not imported, since an index is opened for less than texts, too."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from simhash_hbase.errors import MissingExtra


@cache
def fast_available() -> bool:
    """Return whether rjieba is installed, so that ``fast`` is faster than jieba."""
    return find_spec("rjieba") is not None


def jieba_file(*names: str) -> Path:
    """Return the path of a file of jieba's package, such as its dictionary."""
    found = find_spec("jieba")
    if found is None or found.origin is None:
        raise MissingExtra("jieba is not installed: pip install jieba")
    return Path(found.origin).parent.joinpath(*names)
