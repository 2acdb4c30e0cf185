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

from simhash_hbase.cli.codes import DONE, FAILED, PIPE_CLOSED, SIGNAL_CODES, SOME_REFUSED, WRONG_USAGE
from simhash_hbase.cli.help import CONFIG, Group, Option, option
from simhash_hbase.cli.screen.controls import harmless, secretless
from simhash_hbase.cli.screen.interrupts import Stopped, stoppable
from simhash_hbase.cli.screen.sentences import sentence_of, usage_sentence
from simhash_hbase.cli.screen.standard import discard_output, set_up_streams
from simhash_hbase.cli.settings import load_settings, with_sources
from simhash_hbase.cli.shell import VARIABLE
from simhash_hbase.cli.state import State
from simhash_hbase.errors import InvalidArgument, InvalidProfile, SimhashError

PROGRAM = "simhash-hbase"
SHOWN_CHARACTERS = 200

COMMANDS = {
    "add": "Write documents, duplicates or not.",
    "backup": "Copy a file: index while it is in use.",
    "claim": "Decide documents safely while other writers claim too.",
    "completion": "Print a shell completion script.",
    "copies": "Print what was decided a duplicate of a document.",
    "create": "Make an index; the profile is frozen here.",
    "dedup": "Decide a corpus against the index and itself.",
    "explain": "Show why two documents are near or not.",
    "export": "Print all documents; texts are not stored.",
    "fingerprint": "Print ids and fingerprints, without an index.",
    "get": "Print stored documents.",
    "hbase": "Run an HBase on this machine: up, down, status.",
    "key": "Make a key for the service.",
    "load": "Write a corpus at once: the fastest way into an empty index.",
    "mcp": "Offer an index to an agent as tools.",
    "plan": "Compare schemes for a number of documents.",
    "query": "Find the near-duplicates of documents.",
    "remove": "Remove documents by id.",
    "schema": "Print the table of an index in HBase.",
    "serve": "Serve an index over HTTP.",
    "spark": "Decide or load a corpus on Spark, on one machine or many.",
    "stats": "Count documents, rows and bytes.",
    "vacuum": "Delete data that no answer needs any more.",
    "verify": "Check that the rows agree with each other.",
}


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
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"simhash_hbase.cli.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


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
    state = State(debug="--debug" in words)
    try:
        with stoppable():
            _check_words(words)
            code = _call(words, state)
    except click.exceptions.Exit as done:
        code = done.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        code = _stopped(error if isinstance(error, KeyboardInterrupt) else error.__cause__, state)
    except click.ClickException as error:
        code = _say(usage_sentence(error), WRONG_USAGE)
    except BrokenPipeError:
        raise
    except (InvalidArgument, InvalidProfile) as error:
        code = _report(error, state, WRONG_USAGE)
    except (SimhashError, OSError, MemoryError) as error:
        code = _report(error, state, FAILED)
    return code


def _call(words: list[str], state: State) -> int:
    result: object = cli.main(words, prog_name=PROGRAM, complete_var=VARIABLE, standalone_mode=False, obj=state)
    # Here, so that a full disk is an error of ours, not of Python's end.
    sys.stdout.flush()
    return result if isinstance(result, int) else DONE


def _stopped(cause: BaseException | None, state: State) -> int:
    if isinstance(cause, Stopped):
        name = signal.Signals(cause.number).name
        return _say(f"ended by {name}; {state.interrupted}", SIGNAL_CODES + cause.number)
    return _say(f"interrupted; {state.interrupted}", SIGNAL_CODES + signal.SIGINT)


def _check_words(words: list[str]) -> None:
    """Refuse what no id, text or message can hold."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            shown = os.fsencode(word).decode(errors="backslashreplace")
            raise InvalidArgument(f"the argument {shown[:SHOWN_CHARACTERS]} is not UTF-8") from error


def _report(error: BaseException, state: State, code: int) -> int:
    if state.debug:
        traceback.print_exception(error)
    return _say(with_sources(sentence_of(error), state.settings), code)


def _say(text: str, code: int) -> int:
    # A terminal that was closed shows nothing any more.
    with suppress(OSError):
        click.echo(f"{PROGRAM}: {secretless(harmless(' '.join(text.split())))}", err=True)
    return code
