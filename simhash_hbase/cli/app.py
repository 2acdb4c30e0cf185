"""The command group: settings, errors and exit codes."""

import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click

from simhash_hbase.config import load_settings
from simhash_hbase.errors import InvalidArgument, InvalidProfile, SimhashError

__all__ = ["COMMANDS", "cli", "main"]

FAILED = 1
WRONG_USAGE = 2
SOME_REFUSED = 3
INTERRUPTED = 130
SHOWN_CHARACTERS = 200

COMMANDS = {
    "add": "Write documents, duplicates or not.",
    "backup": "Copy a file: index while it is in use.",
    "claim": "Decide documents beside other writers who do the same.",
    "create": "Make an index; the profile is frozen here.",
    "dedup": "Decide a corpus against the index and itself.",
    "explain": "Show why two documents are near or not.",
    "export": "Print all documents; no text is kept.",
    "fingerprint": "Print ids and fingerprints, without an index.",
    "get": "Print stored documents.",
    "key": "Make a key for the service.",
    "load": "Write a corpus at once: the fastest way into an empty index.",
    "plan": "Compare schemes for a number of documents.",
    "query": "Find the near-duplicates of documents.",
    "remove": "Remove documents by id.",
    "schema": "Print the table of an index in HBase.",
    "serve": "Serve an index over HTTP.",
    "stats": "Count documents, rows and bytes.",
    "vacuum": "Delete what no answer needs any more.",
    "verify": "Check that the rows agree with each other.",
}


class _Group(click.Group):
    """Imports the module of a command when it is called, so that ``--help`` does not wait for all of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"simhash_hbase.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", type=click.Path(dir_okay=False), help="Settings in TOML; the command line wins.")
@click.version_option(package_name="simhash-hbase")
@click.pass_context
def cli(ctx: click.Context, config: str | None) -> None:
    """Find near-duplicate documents with an index in one folder or in HBase."""
    if ctx.invoked_subcommand:
        path = config or os.environ.get("SIMHASH_HBASE_CONFIG")
        # Only a file can name options of other commands, so only then are they all imported.
        wanted = list(COMMANDS) if path else [ctx.invoked_subcommand]
        settings = load_settings(path, {name: _options(ctx, name) for name in wanted})
        ctx.default_map = {name: _as_lists(ctx, name, given) for name, given in settings.items()}


def _options(ctx: click.Context, name: str) -> dict[str, str]:
    """Map the long name of each option of a command to the parameter that click calls it."""
    return {
        item.opts[-1].removeprefix("--").replace("-", "_"): item.name
        for item in _items(ctx, name)
        if isinstance(item, click.Option) and item.name
    }


def _as_lists(ctx: click.Context, name: str, given: dict[str, object]) -> dict[str, object]:
    """Make a list of the one value that a variable has, where the option is repeatable."""
    repeatable = {item.name for item in _items(ctx, name) if isinstance(item, click.Option) and item.multiple}
    return {key: [v] if key in repeatable and not isinstance(v, list) else v for key, v in given.items()}


def _items(ctx: click.Context, name: str) -> list[click.Parameter]:
    command = cli.get_command(ctx, name)
    return command.params if command else []


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        sys.exit(_run(words))
    except BrokenPipeError:
        # Whoever read our output has seen enough; keep Python from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)


def _run(words: list[str]) -> int:
    # Set by the option, wherever its value comes from; an error may come before the options are read.
    state = {"debug": "--debug" in words}
    try:
        _check_words(words)
        result: Any = cli.main(words, prog_name="simhash-hbase", standalone_mode=False, obj=state)
        code = result if isinstance(result, int) else 0
    except click.exceptions.Exit as done:
        code = done.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = _say("interrupted; what was acknowledged stays", INTERRUPTED)
    except click.ClickException as error:
        error.show()
        code = WRONG_USAGE
    except BrokenPipeError:
        raise
    except (InvalidArgument, InvalidProfile) as error:
        code = _report(error, state, WRONG_USAGE)
    except (SimhashError, OSError, MemoryError) as error:
        code = _report(error, state, FAILED)
    return code


def _check_words(words: list[str]) -> None:
    """Refuse what no id, text or message can hold."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            shown = os.fsencode(word).decode(errors="backslashreplace")
            raise InvalidArgument(f"the argument {shown[:SHOWN_CHARACTERS]} is not UTF-8") from error


def _report(error: BaseException, state: dict[str, bool], code: int) -> int:
    if state["debug"]:
        traceback.print_exception(error)
    return _say(str(error) or type(error).__name__, code)


def _say(text: str, code: int) -> int:
    click.echo(f"simhash-hbase: {' '.join(text.split())}", err=True)
    return code
