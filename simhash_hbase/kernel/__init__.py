"""The kernel, which turns text into numbers: modules that the installation compiles with Cython.

Interpreted, they give the same results, many times more slowly. A compiled module holds the digest of its source. If a
source has changed since, all modules are interpreted.
"""

import os
import sys
import warnings
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path

from simhash_hbase.rows.digests import blake2b

_pure = bool(os.environ.get("SIMHASH_HBASE_PURE"))
_modules = sorted(Path(__file__).parent.glob(f"*{EXTENSION_SUFFIXES[0]}"))
_sources = {module.with_name(f"{module.name.partition('.')[0]}.py"): module.read_bytes() for module in _modules}
_changed = [
    source.name
    for source, module in _sources.items()
    # A module that Cython makes for all the others has no source.
    if source.exists() and blake2b(source.read_bytes(), digest_size=16).hexdigest().encode() not in module
]

COMPILED = bool(_modules) and not _changed and not _pure
"""Whether the kernel runs compiled."""

if _modules and not COMPILED:
    # Python prefers a compiled module to its source; in this folder it finds sources alone.
    _folder = __path__[0]
    sys.path_importer_cache[_folder] = FileFinder(_folder, (SourceFileLoader, SOURCE_SUFFIXES))


class KernelInterpreted(RuntimeWarning):
    """Warns that the kernel is not compiled, so that analysing texts takes some hundred times as long."""


def description() -> str:
    """Return, as text, whether the kernel is compiled or interpreted; then also why, and how to have it compiled."""
    if COMPILED:
        return "compiled"
    if _pure:
        return "interpreted, since SIMHASH_HBASE_PURE is set"
    if _changed:
        return f"interpreted, since {', '.join(_changed)} changed after it was compiled: install simhash-hbase again"
    return (
        "interpreted and some hundred times slower: install Python's headers (python3-dev, python3-devel), then"
        " simhash-hbase again"
    )


if not (COMPILED or _pure):
    warnings.warn(f"the kernel is {description()}", KernelInterpreted, stacklevel=2)
