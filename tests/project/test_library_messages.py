"""Messages of the library name parameters; the command line alone makes options of them."""

import ast
import re
from pathlib import Path

import click

import simhash_hbase
from simhash_hbase.cli.app import COMMANDS, cli
from simhash_hbase.cli.exits import PARAMETERS, in_options

PACKAGE = Path(simhash_hbase.__file__).parent
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
