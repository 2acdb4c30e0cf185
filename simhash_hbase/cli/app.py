"""The command group: settings, errors and exit codes."""

import os
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from simhash_hbase.cli.exits import (
    DONE,
    FAILED,
    PIPE_CLOSED,
    SIGNAL_CODES,
    SOME_REFUSED,
    WRONG_USAGE,
    RunState,
    sentence_of,
    usage_sentence,
    with_sources,
)
from simhash_hbase.cli.help import CONFIG, Group, Option, option
from simhash_hbase.cli.screen.terminal import Stopped, discard_output, harmless, secretless, set_up_streams, stoppable
from simhash_hbase.cli.shell import VARIABLE
from simhash_hbase.errors import InvalidArgument, InvalidProfile, SimhashError

PROGRAM = "simhash-hbase"
SHOWN_CHARACTERS = 200

# The module of each command, below this folder, and what the list of commands says of it.
MODULES = {
    "commands.creation": {
        "create": "Make an index; the profile is frozen here.",
        "plan": "Compare schemes for a number of documents.",
        "schema": "Print the table of an index in HBase.",
    },
    "commands.decisions": {
        "claim": "Decide documents safely while other writers claim too.",
        "dedup": "Decide a corpus against the index and itself.",
    },
    "commands.documents": {
        "add": "Write documents, duplicates or not.",
        "copies": "Print what was decided a duplicate of a document.",
        "export": "Print all documents; texts are not stored.",
        "get": "Print stored documents.",
        "query": "Find the near-duplicates of documents.",
        "remove": "Remove documents by id.",
    },
    "commands.fingerprints": {
        "explain": "Show why two documents are near or not.",
        "fingerprint": "Print ids and fingerprints, without an index.",
    },
    "commands.hbase": {"hbase": "Run an HBase on this machine: up, down, status."},
    "commands.key": {"key": "Make a key for the service."},
    "commands.load": {"load": "Write a corpus at once: the fastest way into an empty index."},
    "commands.servers": {"mcp": "Offer an index to an agent as tools.", "serve": "Serve an index over HTTP."},
    "commands.spark": {"spark": "Decide or load a corpus on Spark, on one machine or many."},
    "commands.upkeep": {
        "backup": "Copy a file: index while it is in use.",
        "stats": "Count documents, rows and bytes.",
        "vacuum": "Delete data that no answer needs any more.",
        "verify": "Check that the rows agree with each other.",
    },
    "shell": {"completion": "Print a shell completion script."},
}
COMMANDS = dict(sorted(item for commands in MODULES.values() for item in commands.items()))

HELP = """\
Find near-duplicate documents with an index in one folder or in HBase.

\b
URL says where the index is:
  file:PATH                              a folder on this machine
  hbase://HOST:PORT/[NAMESPACE:]TABLE    a table, by the address of a Thrift gateway
  hbase+http://, hbase+https://          the same by Thrift over HTTP
  redis://HOST:PORT/DB                   a Redis

FILE is JSON lines, CSV, text, a folder, a pattern, or - for standard input; also .gz and .zst. Any option can
also be set by a variable SIMHASH_HBASE_OPTION.
"""


class _Group(Group):
    """Imports the module of a command when it is called, so that ``--help`` does not wait for all of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for module, commands in MODULES.items():
            if cmd_name in commands:
                command: click.Command = getattr(import_module(f"simhash_hbase.cli.{module}"), cmd_name)
                return command
        return None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _show_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if not is_asked or ctx.resilient_parsing:
        return
    from importlib.metadata import version

    with warnings.catch_warnings(action="ignore"):
        from simhash_hbase.kernel import description
    click.echo(f"{PROGRAM}, version {version(PROGRAM)}, kernel {description()}")
    ctx.exit()


@click.group(
    cls=_Group,
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=["simhash-hbase dedup file:docs.index --create corpus.jsonl > decisions.jsonl"],
)
@option("--config", type=click.Path(dir_okay=False), help="Settings in TOML; the command line wins.")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
              help="Show the version, and whether the kernel is compiled.")  # fmt: skip
@click.pass_context
def cli(ctx: click.Context, config: str | None) -> None:
    """Read the settings for the command that was called."""
    if config and ctx.invoked_subcommand:
        from simhash_hbase.cli.settings import load_settings

        # Only a file can name options of other commands, so only then are they all imported.
        ctx.default_map = load_settings(config, {name: _options(ctx, name) for name in COMMANDS})
        ctx.meta[CONFIG] = config


def _options(ctx: click.Context, name: str) -> dict[str, Option]:
    """Map the options of a command by the names that users write."""
    command = cli.get_command(ctx, name)
    return {item.key: item for item in (command.params if command else ()) if isinstance(item, Option)}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    if arguments is None:
        set_up_streams()
        warnings.formatwarning = lambda message, *_, **__: f"{PROGRAM}: warning: {message}\n"
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
    except BrokenPipeError:
        code = PIPE_CLOSED
    if code not in (DONE, SOME_REFUSED):
        discard_output()
    sys.exit(code)


def _run(words: list[str]) -> int:
    # Set by the option, wherever its value comes from; an error may come before the options are read.
    state = RunState(debug="--debug" in words)
    try:
        with stoppable():
            _check_words(words)
            result: object = cli.main(words, prog_name=PROGRAM, complete_var=VARIABLE, standalone_mode=False, obj=state)
            # Here, so that a full disk is an error of ours, not of Python's end.
            sys.stdout.flush()
            code = result if isinstance(result, int) else DONE
    except click.exceptions.Exit as done:
        code = done.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        cause = error if isinstance(error, KeyboardInterrupt) else error.__cause__
        number = cause.number if isinstance(cause, Stopped) else signal.SIGINT
        how = f"ended by {signal.Signals(number).name}" if isinstance(cause, Stopped) else "interrupted"
        code = _say(f"{how}; {state.interrupted}", SIGNAL_CODES + number)
    except click.ClickException as error:
        code = _say(usage_sentence(error), WRONG_USAGE)
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


def _report(error: BaseException, state: RunState, code: int) -> int:
    if state.debug:
        traceback.print_exception(error)
    return _say(with_sources(sentence_of(error), state.settings), code)


def _say(text: str, code: int) -> int:
    # A terminal that was closed shows nothing any more.
    with suppress(OSError):
        click.echo(f"{PROGRAM}: {secretless(harmless(' '.join(text.split())))}", err=True)
    return code
