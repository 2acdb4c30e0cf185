"""What the package offers: public names, one tree of errors, types that mean one thing, messages of a library."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import click
import pytest
from support.gates import absent

import simhash_hbase
from simhash_hbase import errors
from simhash_hbase.cli.app import COMMANDS, cli
from simhash_hbase.cli.exits import PARAMETERS, in_options

# Modules that need an optional dependency, or that run when they are imported.
LEFT_OUT = ("simhash_hbase.__main__",)
MODULES = [
    found.name
    for found in pkgutil.walk_packages(simhash_hbase.__path__, "simhash_hbase.")
    if found.name not in LEFT_OUT
]
PACKAGE = Path(simhash_hbase.__file__).parent
ERRORS = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("name", ["simhash_hbase", *MODULES])
def test_every_public_name_exists_and_is_listed_once(name):
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


def test_every_error_is_a_public_name():
    defined = {
        name for name, kind in vars(errors).items() if inspect.isclass(kind) and kind.__module__ == errors.__name__
    }

    assert defined == set(errors.__all__) <= set(simhash_hbase.__all__)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_has_one_base_and_is_worth_another_try_or_not(error):
    assert issubclass(error, errors.SimhashError)
    assert error.__doc__
    if error not in (errors.SimhashError, errors.Retryable, errors.Permanent):
        assert issubclass(error, errors.Retryable) != issubclass(error, errors.Permanent)


def test_the_tree_in_the_module_s_text_is_the_real_one():
    drawn = [line.split("──")[1].split()[0] for line in errors.__doc__.splitlines() if "──" in line]

    assert sorted(drawn) == sorted(set(errors.__all__) - {"SimhashError"})


def type_names():
    """Yield the name and place of every class of the package, and of every other name of a type that a module makes."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield node.name, f"{path}:{node.lineno}"
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
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


def options():
    context = click.Context(cli)
    waiting = [cli.get_command(context, name) for name in COMMANDS]
    found = set()
    while waiting:
        command = waiting.pop()
        found.update(word for item in command.params for word in item.opts if word.startswith("--"))
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


def test_no_message_of_the_library_names_an_option():
    known = options()
    named = [
        (name, line, word)
        for name, path in modules()
        for line, text in literals(path)
        for word in OPTION.findall(text)
        if word in known
    ]
    assert named == []


def test_every_parameter_of_a_message_is_an_option_of_the_command_line():
    assert {in_options(f"`{name}`") for name in PARAMETERS} <= options()


def test_every_parameter_that_a_message_names_is_known():
    texts = [text for _, path in modules() for _, text in literals(path)]
    named = {word for text in texts for word in re.findall(r"`([a-z_]+)(?:=|`)", text)}
    assert named - set(PARAMETERS) == {"object"}  # What msgspec writes of a type.
