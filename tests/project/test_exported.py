"""The package's offer: public names, one tree of errors, types that mean one thing, messages of a library."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import click
import pytest
from support.gates import absent

import simhash_hbase
from simhash_hbase import errors
from simhash_hbase.cli.app import COMMANDS, cli
from simhash_hbase.cli.exits import in_options

# One runs when it is imported.
MODULES = {module.name for module in pkgutil.walk_packages(simhash_hbase.__path__, "simhash_hbase.")} - {
    "simhash_hbase.__main__"
}
PACKAGE = Path(simhash_hbase.__file__).parent


@pytest.mark.parametrize("name", ["simhash_hbase", *sorted(MODULES)])
def test_every_public_name_that_is_listed_exists(name):
    try:
        module = importlib.import_module(name)
    except errors.MissingExtra as error:
        absent(str(error))

    public = getattr(module, "__all__", [])

    assert len(set(public)) == len(public)
    assert [listed for listed in public if not hasattr(module, listed)] == []


@pytest.mark.parametrize("first", ["s.create_index('memory:')", "exec('from simhash_hbase import *')", "s.errors"])
def test_no_public_name_is_covered_by_a_module(first):
    code = (
        f"import inspect, simhash_hbase as s; {first}; "
        "print([n for n in s.__all__ if inspect.ismodule(getattr(s, n))], "
        "s.hamming(1, 2), s.fingerprint([('a', 1)]) > 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[] 2 True\n"


def test_completion_shows_the_public_names_alone():
    assert dir(simhash_hbase) == sorted([*simhash_hbase.__all__, "__all__", "__doc__"])
    with pytest.raises(AttributeError, match="module 'simhash_hbase' has no attribute 'nothing'"):
        simhash_hbase.nothing  # noqa: B018


def test_every_public_error_is_drawn_in_the_tree_of_its_module():
    defined = {kind for kind in vars(errors).values() if inspect.isclass(kind) and kind.__module__ == errors.__name__}
    drawn = [line.split("──")[1].split()[0] for line in errors.__doc__.splitlines() if "──" in line]

    assert {error.__name__ for error in defined} == set(errors.__all__) <= set(simhash_hbase.__all__)
    assert sorted([*drawn, "SimhashError"]) == sorted(errors.__all__)
    assert [error for error in defined if not (issubclass(error, errors.SimhashError) and error.__doc__)] == []
    half = drawn.index("Permanent")
    for base, names in ((errors.Retryable, drawn[:half]), (errors.Permanent, drawn[half:])):
        assert {error.__name__ for error in defined if issubclass(error, base)} == set(names)


def type_names():
    """Yield the name and place of every class of the package, and of every other name of a type that a module makes."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield node.name, f"{path}:{node.lineno}"
        for node in tree.body:
            for target in getattr(node, "targets", [getattr(node, "target", None)]):
                # One letter alone is a type variable.
                if isinstance(target, ast.Name) and re.fullmatch(r"_*[A-Z][A-Za-z]*[a-z][A-Za-z]*", target.id):
                    yield target.id, f"{path}:{node.lineno}"


def test_a_type_name_means_one_thing_in_the_package():
    places = defaultdict(list)
    for name, place in type_names():
        places[name].append(place)

    assert {name: where for name, where in places.items() if len(where) > 1} == {}


# The command line itself, and the launcher, which is a program of its own: scripts/hbase.
PROGRAMS = ("cli", "stores/hbase/launcher")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
COMMAND = re.compile(rf"(?<!`)simhash-hbase ({'|'.join(COMMANDS)})\b")


@cache
def options():
    """Return the options of all commands, with the names of their parameters."""
    context = click.Context(cli)
    waiting = [cli.get_command(context, name) for name in COMMANDS]
    found = defaultdict(set)
    while waiting:
        command = waiting.pop()
        for item in command.params:
            for word in item.opts:
                if word.startswith("--"):
                    found[word].add(item.name)
        waiting += getattr(command, "commands", {}).values()
    return found


def literals(path):
    """Yield the strings of a module with their lines, except docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.lineno, node.value


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(PROGRAMS):
            yield name, path


def test_no_message_of_the_library_names_an_option_or_a_command():
    texts = [(f"{name}:{line}", text) for name, path in modules() for line, text in literals(path)]
    assert [(place, text) for place, text in texts if options().keys() & OPTION.findall(text)] == []
    # What names a command in backticks describes the service's own pages.
    assert [(place, text) for place, text in texts if COMMAND.search(text)] == []


def test_every_parameter_in_a_message_is_an_option_of_the_command_line():
    texts = [text for _, path in modules() for _, text in literals(path)]
    named = {word for text in texts for word in re.findall(r"`([a-z_]+)(?:=|`)", text)} - {"object"}  # msgspec's.

    assert {"results", "staging", "format"} <= named
    written = {name: in_options(f"`{name}`", click.Context(cli)) for name in named}
    assert {name: option for name, option in written.items() if options().get(option) != {name}} == {}
    assert in_options("`object`", click.Context(cli)) == "`object`"


@pytest.mark.parametrize("sentence", ["no field 'a `format` b'", "/data/`format`.jsonl: no such file", "x`format`"])
def test_a_word_in_backticks_that_is_a_users_stays(sentence):
    assert in_options(sentence, click.Context(cli)) == sentence


def test_every_parameter_of_an_error_is_an_option_of_the_command_line():
    named = defaultdict(set)
    for _, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for each in getattr(node, "keywords", []):
                if each.arg == "parameter" and isinstance(each.value, ast.Constant):
                    named[each.value.value].add(path.name)

    parameters = set().union(*options().values())
    assert {"limit", "encoding"} <= named.keys()
    assert {name: places for name, places in named.items() if name not in parameters} == {}
