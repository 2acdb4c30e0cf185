"""The unedited texts: docstrings and help topics of this Python, and Chinese texts written for this project."""

import ast
import sysconfig
import warnings
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import msgspec

LEAST_CHARACTERS = 200
SKIPPED = frozenset({"encodings", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tests", "turtledemo"})
"""Folders of the standard library with tests, tables and examples; ``site-packages`` is no module's name anyway."""

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Text(msgspec.Struct, frozen=True):
    """One document."""

    id: str
    lang: str  # ``en``, ``zh-Hans`` or ``zh-Hant``.
    text: str


def chinese() -> list[Text]:
    """Read the Chinese texts: news, articles of an encyclopedia, rules, diaries, in simplified and traditional script.

    Examples
    --------
    >>> chinese()[0].id
    '新闻-公交夜班线'
    """
    lines = files("simhash_hbase.demo").joinpath("chinese.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Text) for line in lines]


def topics() -> list[Text]:
    """Read the help topics of this Python; none where the distribution leaves them out."""
    spec = find_spec("pydoc_data")
    if spec is None or not spec.submodule_search_locations:
        return []
    source = Path(spec.submodule_search_locations[0], "topics.py")
    if not source.exists():
        return []
    tree = _parse(source)
    tables = [node.value for node in tree.body if isinstance(node, ast.Assign)] if tree else []
    held = {name: text for table in tables for name, text in ast.literal_eval(table).items()}
    return [Text(f"topics.{name}", "en", held[name]) for name in sorted(held)]


def docstrings(root: Path | None = None) -> Iterator[Text]:
    """Read the docstrings of at least 200 characters of a library's sources; nothing of it is executed."""
    root = root or Path(sysconfig.get_path("stdlib"))
    seen: set[str] = set()
    for path in sorted(_sources(root)):
        parts = path.relative_to(root).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        tree = _parse(path)
        for name, docstring in _docstrings(tree, module) if tree else ():
            # Of a name that is defined twice, such as by an if, the first one is kept.
            if len(docstring) >= LEAST_CHARACTERS and name not in seen:
                seen.add(name)
                yield Text(name, "en", docstring)


def _sources(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name.isidentifier() and entry.name not in SKIPPED:
            yield from _sources(entry)
        elif entry.suffix == ".py":
            yield entry


def _parse(path: Path) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            return None


def _docstrings(node: Documented, name: str) -> Iterator[tuple[str, str]]:
    docstring = ast.get_docstring(node)
    if docstring:
        yield name, docstring
    for child in node.body:
        if isinstance(child, Documented):
            yield from _docstrings(child, f"{name}.{child.name}")
