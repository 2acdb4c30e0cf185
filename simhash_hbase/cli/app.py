"""The top level of the command line: its list of commands, settings from a file, exit codes, and shell completion."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import click
from click import shell_completion as shells

from simhash_hbase.cli import exits
from simhash_hbase.cli.help import CONFIG, Group, Option, command, option, wanted_number
from simhash_hbase.cli.screen import terminal
from simhash_hbase.errors import InvalidArgument, SimhashError

PROGRAM = "simhash-hbase"
COMPLETION = "_SIMHASH_HBASE_COMPLETE"  # The variable by which a shell asks for words.
SHOWN_CHARACTERS = 200

# The module of each command, below this folder, and its line in the list of commands.
MODULES = {
    "commands.index": {
        "backup": "Copy a file: index while it is in use.",
        "create": "Make an index; the profile is frozen here.",
        "plan": "Compare schemes for a number of documents.",
        "schema": "Print the table of an index in HBase.",
        "stats": "Count documents, rows and bytes.",
        "vacuum": "Delete data that no answer needs any more.",
        "verify": "Check that the rows agree with each other.",
    },
    "commands.decisions": {
        "claim": "Decide documents safely while other writers claim too.",
        "dedup": "Decide a corpus against the index and itself.",
    },
    "commands.contents": {
        "add": "Write documents, duplicates or not.",
        "batches": "Count the documents of each batch, such as a crawl.",
        "copies": "Print the duplicates of a document.",
        "export": "Print all documents; texts are not stored.",
        "get": "Print stored documents.",
        "query": "Find the near-duplicates of documents.",
        "remove": "Remove documents by id, or those of a batch.",
    },
    "commands.passages": {
        "find": "Find the documents that hold a clue, such as a sentence.",
        "passages": "Find the parts of texts that stand in other documents.",
    },
    "commands.fingerprints": {
        "explain": "Show why two documents are near or not.",
        "fingerprint": "Print ids and fingerprints, without an index.",
    },
    "commands.hbase": {"hbase": "Run an HBase on this machine: up, down, status."},
    "commands.load": {"load": "Write a corpus at once: the fastest way into an empty index."},
    "commands.servers": {
        "key": "Make a key for the service.",
        "mcp": "Offer an index to an agent as tools.",
        "serve": "Serve an index over HTTP.",
    },
    "commands.spark": {"spark": "Decide or load a corpus on Spark, on one machine or many."},
    "app": {"completion": "Print a shell completion script."},
}
COMMANDS = dict(sorted(item for commands in MODULES.values() for item in commands.items()))

HELP = """\
Find near-duplicate documents with an index in one folder or in HBase.

\b
URL says where the index is:
  file:PATH                              a folder on this machine
  hbase://HOST:PORT/[NAMESPACE:]TABLE    a table, by the address of a Thrift gateway
  hbase+http://, hbase+https://          the same by Thrift over HTTP
  hbase+rpc://, hbase+rpcs://            the same by HBase's own servers, without a gateway
  redis://HOST:PORT/DB                   a Redis
  http://HOST:PORT, https://HOST         the index of a service, for add, claim, query, find, passages, get, copies,
                                         remove, batches, stats, mcp

FILE is JSON lines, CSV, text, a folder, a pattern, or - for standard input; also .gz and .zst. Any option can
also be set by a variable SIMHASH_HBASE_OPTION.
"""


class _Group(Group):
    """The group of all commands; it imports a command's module when it is called, so ``--help`` waits for none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for module, commands in MODULES.items():
            if cmd_name in commands:
                found: click.Command = getattr(import_module(f"simhash_hbase.cli.{module}"), cmd_name)
                return found
        return None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[shells.CompletionItem]:
        begun = {name: text for name, text in COMMANDS.items() if name.startswith(incomplete)}
        found = [shells.CompletionItem(name, help=text) for name, text in begun.items()]
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
    """Read the file of ``--config``, and make its values the defaults of the options of the command that was called."""
    if config and ctx.invoked_subcommand:
        # Only a file can name options of other commands, so only then are they all imported.
        commands = {name: cli.get_command(ctx, name) for name in COMMANDS}
        ctx.default_map = _load_settings(config, {
            name: {item.key: item for item in (called.params if called else ()) if isinstance(item, Option)}
            for name, called in commands.items()
        })  # fmt: skip
        ctx.meta[CONFIG] = config


def _load_settings(path: str, known: Mapping[str, Mapping[str, Option]]) -> dict[str, dict[str, object]]:
    """Return the values in a settings file, a TOML file, by the names of command and parameter.

    `known` has the options of each command, by the keys that they have in such a file.
    """
    import tomllib

    try:
        with Path(path).open("rb") as file:
            given = {key.replace("-", "_"): value for key, value in tomllib.load(file).items()}
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{path} is not UTF-8 from its byte {error.start + 1:,} on, as TOML has to be") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgument(f"{path} is not TOML: {error}") from error
    common = {key: value for key, value in given.items() if not isinstance(value, dict)}
    for key, value in given.items():
        if key not in known and (isinstance(value, dict) or not any(key in options for options in known.values())):
            raise InvalidArgument(f"{path}: {key!r} is neither an option nor a command")
    settings: dict[str, dict[str, object]] = {name: {} for name in known}
    for name, options in known.items():
        table = given.get(name)
        own = table if isinstance(table, dict) else {}
        for key, value in (*common.items(), *own.items()):
            if (item := options.get(key.replace("-", "_"))) is not None:
                settings[name][str(item.name)] = _checked(path, item, value)
            elif key in own:
                raise InvalidArgument(f"{path}: command {name} has no option {key!r}")
    return settings


def _checked(path: str, item: Option, value: object) -> object:
    """Return the value of an option in the settings file `path`; raise `InvalidArgument` if it has the wrong type."""
    types: tuple[type, ...]
    if item.is_flag:
        types, wanted = (bool,), "true or false"
    elif (number := wanted_number(item.type)) is not None:
        types, wanted = (int, str) if isinstance(item.type, click.types.IntParamType) else (int, float, str), number
    else:
        types, wanted = (str,), "a text in quotes, or a list of them" if item.multiple else "a text in quotes"
    values = value if item.multiple and isinstance(value, list) else [value]
    for each in values:
        if not isinstance(each, types) or (isinstance(each, bool) and bool not in types):
            shown = str(each).lower() if isinstance(each, bool) else repr(each)
            raise InvalidArgument(f"{path}: {item.key} is {shown}: wanted {wanted}")
    return values if item.multiple else value


class Bash(shells.BashComplete):
    """Shell completion for bash, in which an address such as ``file:PATH`` is one word: bash cuts words at colons."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one at the cursor, and that one, perhaps unfinished; an address is one word."""
        words, begun = super().get_completion_args()
        whole: list[str] = []
        for word in [*words, begun]:
            if word.startswith(":") or (whole and whole[-1].endswith(":")):
                whole[-1:] = ["".join([*whole[-1:], word])]
            else:
                whole.append(word)
        return whole[:-1], whole[-1]


shells.add_completion_class(Bash)


@command(
    "completion",
    examples=[
        "source <(simhash-hbase completion bash)",
        "simhash-hbase completion zsh > _simhash-hbase",
        "simhash-hbase completion fish > simhash-hbase.fish",
    ],
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell completion script for commands, options and their values.

    Put the first line below into ~/.bashrc, the file of the second into a folder of $fpath, that of the third into
    ~/.config/fish/completions.
    """
    root = ctx.find_root()
    if (maker := shells.get_completion_class(shell)) is not None:
        click.echo(maker(root.command, {}, str(root.info_name), COMPLETION).source())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    words = arguments
    if words is None:
        words = sys.argv[1:]
        terminal.set_up_streams()
        warnings.formatwarning = lambda message, *_, **__: f"{PROGRAM}: warning: {message}\n"
    code, sentence = _run(words)
    if sentence:
        # A terminal that was closed shows nothing any more.
        with suppress(OSError):
            click.echo(f"{PROGRAM}: {terminal.secretless(terminal.harmless(' '.join(sentence.split())))}", err=True)
    if code not in (exits.DONE, exits.SOME_REFUSED):
        terminal.discard_output()
    sys.exit(code)


def _run(words: list[str]) -> tuple[int, str]:
    """Run the command in `words`; return its exit code, and a sentence about its failure, empty if there is none."""
    # Set by the option, wherever its value comes from; an error may come before the options are read.
    state = exits.RunState(debug="--debug" in words, context=click.Context(cli))
    try:
        with terminal.stoppable():
            return _call(words, state), ""
    except click.exceptions.Exit as done:
        return done.exit_code, ""
    except KeyboardInterrupt as error:
        # A terminal has shown ^C on a line of its own.
        with suppress(OSError):
            click.echo(err=True)
        number = error.number if isinstance(error, terminal.Stopped) else signal.SIGINT
        how = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
        return exits.SIGNAL_CODES + number, f"{how}; {state.interrupted}"
    except click.ClickException as error:
        return exits.WRONG_USAGE, exits.usage_sentence(error)
    except BrokenPipeError as error:
        from simhash_hbase.files.local import is_named_pipe

        # Whoever read our output has seen enough, but of a pipe that was named the rest is missing.
        is_named = error.filename is not None and is_named_pipe(error.filename)
        return (exits.FAILED, exits.sentence_of(error)) if is_named else (exits.PIPE_CLOSED, "")
    except (SimhashError, OSError, MemoryError) as error:
        if state.debug:
            with suppress(OSError):
                traceback.print_exception(error)
        sentence = exits.in_options(exits.sentence_of(error), state.context)
        return exits.code_of(error), exits.with_sources(sentence, error, state.context)


def _call(words: list[str], state: exits.RunState) -> int:
    for word in words:
        # No id, text or message can hold it.
        try:
            word.encode()
        except UnicodeEncodeError as error:
            shown = os.fsencode(word).decode(errors="backslashreplace")
            raise InvalidArgument(f"the argument {shown[:SHOWN_CHARACTERS]} is not UTF-8") from error
    if asked := os.environ.get(COMPLETION):
        return shells.shell_complete(cli, {"obj": state}, PROGRAM, COMPLETION, asked)
    # Not by click's `main`, which ends the process itself where nobody reads its output.
    try:
        with cli.make_context(PROGRAM, list(words), obj=state) as context:
            result: object = cli.invoke(context)
    finally:
        with suppress(OSError):
            terminal.erase_starting()
    # Here, so that a full disk is an error of ours, not of Python's end.
    sys.stdout.flush()
    return result if isinstance(result, int) else exits.DONE
