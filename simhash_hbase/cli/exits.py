"""The end of a run of the command line: its exit code, and the sentence about an error.

Sentences of the library name parameters in backticks: ``leave out `results` ``, ``add `staging=PATH` ``. Only here they
become options.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from signal import SIGPIPE

import click

from simhash_hbase.errors import IndexMissing, InvalidArgument, InvalidProfile, TooManyDuplicates

DONE = 0
FAILED = 1
WRONG_USAGE = 2
SOME_REFUSED = 3
TOO_MANY_DUPLICATES = 4
SIGNAL_CODES = 128  # A process that a signal ended has this more than its number as its exit code; ours has it, too.
PIPE_CLOSED = SIGNAL_CODES + SIGPIPE  # The signal that ends other programs when nobody reads their output.

TELLING_CHARACTERS = 3  # A shorter value stands in many sentences by chance.

_OTHERWISE = {"format": "--input-format", "memory_mb": "--memory"}  # Options that are not called like their parameters.
PARAMETERS = (
    "against", "at_least", "at_share", "by", "clusters", "collection", "contained", "counts", "cut", "dry_run",
    "duplicates", "encoding", "exact", "fail_above", "fail_from", "features_field", "format", "html", "id_field",
    "id_prefix", "if_not_exists", "into_existing", "keep", "longest", "mark", "max_document_bytes", "memory_mb",
    "output", "passages", "rejects", "report", "results", "resume", "same", "simhash_field", "simhash_format",
    "staging", "suites", "take_over", "text_field", "workers", "yes",
)  # fmt: skip
_PARAMETER = re.compile(rf"`({'|'.join(PARAMETERS)})(?:=([^`\s]+))?`")


def after(refused: int) -> int:
    """Return the code of a command that finished, with so many records refused."""
    return SOME_REFUSED if refused else DONE


def code_of(error: BaseException) -> int:
    """Return the code of a command that an error ended."""
    if isinstance(error, TooManyDuplicates):
        return TOO_MANY_DUPLICATES
    return WRONG_USAGE if isinstance(error, InvalidArgument | InvalidProfile) else FAILED


@dataclass
class RunState:
    """One run of the command line, for the place that reports its errors; click hands it from context to context."""

    debug: bool  # Print tracebacks.
    # Options that were not on the command line, by their names: the variable, or the key and the file; the value.
    settings: Mapping[str, tuple[str, object]] = field(default_factory=dict)
    interrupted: str = "what was acknowledged stays"  # How the sentence about an interrupt goes on.


def in_options(sentence: str) -> str:
    """Write the parameters that a sentence of the library names as options.

    Examples
    --------
    >>> in_options("`resume` goes with `results=FILE`"), in_options("give `format=csv`")
    ('--resume goes with --results FILE', 'give --input-format csv')
    """

    def as_option(named: re.Match[str]) -> str:
        option = _OTHERWISE.get(named[1], "--" + named[1].replace("_", "-"))
        return f"{option} {named[2]}" if named[2] else option

    return _PARAMETER.sub(as_option, sentence)


def sentence_of(error: BaseException) -> str:
    """Write an error as one sentence: its place, and its reason.

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
        return f"{in_options(str(error))}: simhash-hbase create makes {'it anew' if error.interrupted else 'one'}"
    if not isinstance(error, OSError) or error.strerror is None:
        return in_options(str(error)) or type(error).__name__
    reason = error.strerror[:1].lower() + error.strerror[1:]
    places = [place for place in (error.filename, error.filename2) if place is not None]
    return in_options(": ".join([" and ".join(map(str, places)), reason])) if places else reason


def usage_sentence(error: click.ClickException) -> str:
    """Write click's error of wrong usage in the style of all other errors, with the command that prints the help."""
    text = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    more = f"; see {context.command_path} --help" if context is not None else ""
    return f"{text[:1].lower()}{text[1:]}{more}"


def with_sources(sentence: str, settings: Mapping[str, tuple[str, object]]) -> str:
    """Add to an error the places of the settings that it speaks of.

    A sentence speaks of a setting by its option or its value. `PARAMETERS` are words of every day, such as ``by``, so
    one of them counts as an option or as the first word only; other names count wherever they stand.

    Examples
    --------
    >>> with_sources("scheme 9z has no blocks", {"scheme": ("variable SIMHASH_HBASE_SCHEME", "9z")})
    'scheme 9z has no blocks (set by variable SIMHASH_HBASE_SCHEME)'
    >>> with_sources("nearby: no such file or directory", {"by": ("variable SIMHASH_HBASE_BY", "site")})
    'nearby: no such file or directory'
    """
    sources = []
    for key, (source, value) in settings.items():
        shown, option = str(value), key.replace("_", "-")
        is_named = sentence.startswith(f"{key} ") if key in PARAMETERS else _has_name(sentence, key, option)
        is_shown = len(shown) >= TELLING_CHARACTERS and _has_name(sentence, shown)
        if is_named or is_shown or _has_name(sentence, f"--{option}"):
            sources.append(source)
    return f"{sentence} (set by {' and '.join(sources)})" if sources else sentence


def _has_name(sentence: str, *names: str) -> bool:
    """Return whether a name stands in a sentence by itself; a unit may follow it, as in ``lease_s``."""
    either = "|".join(map(re.escape, names))
    return re.search(rf"(?<![\w.-])(?:{either})(?![A-Za-z0-9-])", sentence) is not None
