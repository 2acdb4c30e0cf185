"""The end of a run of the command line: its exit code, and the sentence about an error.

Sentences of the library name parameters in backticks: ``leave out `results` ``, ``add `staging=PATH` ``. Only here they
become options, which have the names of the parameters.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from signal import SIGPIPE

import click
from click.core import ParameterSource

from simhash_hbase.errors import (
    CorruptIndex,
    IndexMissing,
    InvalidArgument,
    InvalidProfile,
    SimhashError,
    TooManyDuplicates,
)

DONE = 0
FAILED = 1
WRONG_USAGE = 2
SOME_REFUSED = 3
TOO_MANY_DUPLICATES = 4
SIGNAL_CODES = 128  # A process that a signal ended has this more than its number as its exit code; ours has it, too.
PIPE_CLOSED = SIGNAL_CODES + SIGPIPE  # The signal that ends other programs when nobody reads their output.

TELLING_CHARACTERS = 3  # A shorter value stands in many sentences by chance.

_OUTSIDE = (ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP)
# Values of a user that stand in a sentence, by themselves or between quotes, may have backticks, too.
_PARAMETER = re.compile(r"(?<![\w`])'[^']*'(?!\w)|(?<![^\s(])`([a-z_]+)(?:=([^`\s]+))?`(?![^\s,.:;)'\"]|[.:]\S)")


def after(refused: int) -> int:
    """Return the exit code of a command that finished: 3 if it refused records of its input, else 0."""
    return SOME_REFUSED if refused else DONE


def code_of(error: BaseException) -> int:
    """Return the exit code of a command that an error ended: 4 for `TooManyDuplicates`, 2 for wrong usage, else 1."""
    if isinstance(error, TooManyDuplicates):
        return TOO_MANY_DUPLICATES
    return WRONG_USAGE if isinstance(error, InvalidArgument | InvalidProfile) else FAILED


@dataclass
class RunState:
    """The state of one run of the command line that is needed to report an error; click passes it to each context."""

    debug: bool  # Print tracebacks.
    context: click.Context  # That of the command, or of the group until the command is known.
    interrupted: str = "what was acknowledged stays"  # How the sentence about an interrupt goes on.


def in_options(sentence: str, context: click.Context) -> str:
    """Return an error message of the library in which its parameters, in backticks, are options of the command line.

    The options are those of the command in `context`, or else of any other command.

    Examples
    --------
    >>> sort = click.Command("sort", params=[click.Option(["--dry-run"]), click.Option(["--by"])])
    >>> in_options("`dry_run` goes with `by=FIELD`, not with `int`", click.Context(sort))
    '--dry-run goes with --by FIELD, not with `int`'
    >>> in_options("no field 'a `by` b': name another one by `by`", click.Context(sort))
    "no field 'a `by` b': name another one by --by"
    """
    commands = (context.command, context.find_root().command)

    def as_option(named: re.Match[str]) -> str:
        option = next((option for command in commands for name, option in _options(command) if name == named[1]), None)
        return named[0] if option is None else f"{option} {named[2]}" if named[2] else option

    return _PARAMETER.sub(as_option, sentence)


def _options(command: click.Command) -> Iterator[tuple[str | None, str]]:
    """Yield for each option of a command and of its subcommands a pair: the parameter's name, and the option's."""
    for item in command.params:
        if isinstance(item, click.Option):
            yield item.name, max(item.opts, key=len)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (below := command.get_command(context, name)) is not None:
                yield from _options(below)


def sentence_of(error: BaseException) -> str:
    """Return the sentence about an error that the command line prints: the file or place of the error, and the reason.

    Examples
    --------
    >>> sentence_of(FileNotFoundError(2, "No such file or directory", "a.jsonl"))
    'a.jsonl: no such file or directory'
    >>> sentence_of(MemoryError())
    'the memory is used up: fewer --workers need less'
    >>> sentence_of(IndexMissing("there is no index at a.index"))
    'there is no index at a.index: simhash-hbase create makes one'
    """
    if isinstance(error, MemoryError):
        return "the memory is used up: fewer --workers need less"
    if isinstance(error, IndexMissing):
        return f"{error}: simhash-hbase create makes {'it anew' if error.interrupted else 'one'}"
    if isinstance(error, CorruptIndex) and error.in_cell:
        return f"{error}: simhash-hbase verify names all that is damaged"
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error) or type(error).__name__
    reason = error.strerror[:1].lower() + error.strerror[1:]
    places = [place for place in (error.filename, error.filename2) if place is not None]
    return ": ".join([" and ".join(map(str, places)), reason]) if places else reason


def usage_sentence(error: click.ClickException) -> str:
    """Return click's error of wrong usage as a sentence like other errors, with the command that prints the help."""
    text = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    more = f"; see {context.command_path} --help" if context is not None else ""
    return f"{text[:1].lower()}{text[1:]}{more}"


def with_sources(sentence: str, error: BaseException, context: click.Context) -> str:
    """Return the sentence about an error, with "(set by …)" if it concerns options that come from elsewhere.

    Elsewhere is an environment variable or the settings file. An error concerns its own parameter, the fields that an
    `InvalidProfile` names, and the options and values that stand in its sentence.
    """
    sources = []
    for item in context.command.params:
        if not isinstance(item, click.Option) or context.get_parameter_source(item.name or "") not in _OUTSIDE:
            continue
        value = context.params.get(item.name or "")
        shown = map(str, value if item.multiple and isinstance(value, tuple) else [value])
        option = max(item.opts, key=len)
        names = [option, *(each for each in shown if len(each) >= TELLING_CHARACTERS)]
        if isinstance(error, InvalidProfile):
            # The field of --lease is lease_s; the parameter of --scheme, which may come twice, is schemes.
            names += [item.name or option, option.lstrip("-").replace("-", "_")]
        if _has_name(sentence, *names) or (isinstance(error, SimhashError) and error.parameter == item.name):
            sources.append(item.get_error_hint(context))
    return f"{sentence} (set by {' and '.join(sources)})" if sources else sentence


def _has_name(sentence: str, *names: str) -> bool:
    """Return whether one of the names stands in a sentence as a word, not as a part of a longer one."""
    either = "|".join(map(re.escape, names))
    return re.search(rf"(?<![\w.-])(?:{either})(?![\w-])", sentence) is not None
