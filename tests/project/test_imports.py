"""The imports of the package: no module imports itself by way of others, those for type checkers included."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "simhash_hbase"


def module_of(file):
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(source, modules):
    """Return the modules of `modules` that a source names in an import, at its head or within a function."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            names.update(below & modules or {node.module})
    return names & modules


def imports():
    files = {module_of(file): file for file in PACKAGE.rglob("*.py")}
    return {name: imported(file.read_text("utf-8"), files.keys()) - {name} for name, file in files.items()}


def circle(graph):
    """Return the modules of a circle, or None."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_no_module_imports_itself_by_way_of_others():
    graph = imports()

    # The front door hands on what it does not import when it is imported itself.
    graph["simhash_hbase"] = set()

    assert circle(graph) is None
    assert sum(map(len, graph.values())) > 500


@pytest.mark.parametrize("source", ["import a.b", "from a import b", "def f():\n    from a.b import c"])
def test_an_import_is_seen_wherever_it_stands(source):
    assert imported(source, {"a", "a.b"}) == {"a.b"}
    assert circle({"a.b": {"c"}, "c": {"a.b"}}) is not None
