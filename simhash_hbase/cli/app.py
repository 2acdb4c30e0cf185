"""The command group: settings, errors and exit codes."""

import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from simhash_hbase.cli.controls import harmless
from simhash_hbase.cli.help import Command
from simhash_hbase.cli.shell import VARIABLE
from simhash_hbase.errors import InvalidArgument, InvalidProfile, SimhashError
from simhash_hbase.settings import load_settings

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
    "completion": "Print what makes a shell complete words.",
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


HELP = """\
Find near-duplicate documents with an index in one folder or in HBase.

\b
URL says where the index is:
  file:PATH                              a folder of this machine
  hbase://HOST:PORT/[NAMESPACE:]TABLE    a table, by the address of a Thrift gateway
  redis://HOST:PORT/DB                   a Redis

FILE is JSON lines, CSV, text, a folder, a pattern, or - for standard input; also .gz and .zst. Any option may
come from a variable SIMHASH_HBASE_OPTION, too.
"""


class _Group(Command, click.Group):
    """Imports the module of a command when it is called, so that ``--help`` does not wait for all of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"simhash_hbase.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(
    cls=_Group,
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=["simhash-hbase dedup file:docs.index --create corpus.jsonl > decisions.jsonl"],
)
@click.option("--config", type=click.Path(dir_okay=False), help="Settings in TOML; the command line wins.")
@click.version_option(package_name="simhash-hbase")
@click.pass_context
def cli(ctx: click.Context, config: str | None) -> None:
    """Read the settings for the command that was called."""
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
        result: Any = cli.main(
            words, prog_name="simhash-hbase", complete_var=VARIABLE, standalone_mode=False, obj=state
        )
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
    click.echo(f"simhash-hbase: {harmless(' '.join(text.split()))}", err=True)
    return code
