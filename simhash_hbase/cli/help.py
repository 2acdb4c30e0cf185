"""click's commands and options as this program needs them: help in sections, environment variables, suggestions."""

from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from functools import partial

import click
from click.core import ParameterSource

from simhash_hbase.cli.exits import WRONG_USAGE, RunState

SECTION = "Options"
PREFIX = "SIMHASH_HBASE_"
CONFIG = "simhash_hbase.settings"  # The key of the settings file's name in the `meta` of a context.
REPEAT = "what was acknowledged stays: repeat the command to go on"

# Suggestions for an unknown word: first a name that means the same elsewhere.
_ALIKE = 0.75  # Least likeness of a name spelt alike, by difflib: --threshold is no --results, --anlyzer is --analyzer.

_OPTIONS = {
    "--similarity": "threshold jaccard score min-similarity minimum-similarity cutoff",
    "--distance": "hamming hamming-distance max-distance k bits",
    "--analyzer": "analyser tokenizer tokeniser",
    "--text-field": "text-column text-key column field content-field",
    "--id-field": "id-column id-key key",
    "--output": "out output-file out-file save kept clean",
    "--results": "decisions",
    "--report": "html",
    "--workers": "jobs threads processes num-workers n-jobs parallel cores",
    "--limit": "top top-k max-results first",
    "--resume": "continue restart",
    "--input-format": "type input-type",
    "--learn-from": "learn train sample corpus",
    "--from": "ids file",
    "--rejects": "errors refused bad",
    "--quiet": "silent no-progress",
}
_COMMANDS = {
    "add": "insert index ingest put upsert write",
    "create": "init new make",
    "dedup": "deduplicate deduplication dedupe unique uniq clean",
    "explain": "compare diff similarity distance",
    "export": "dump list ls",
    "fingerprint": "hash simhash sketch",
    "get": "show fetch lookup",
    "load": "import bulk bulk-load bulkload",
    "query": "search find near match ask",
    "remove": "delete rm del forget",
    "serve": "server start api http",
    "stats": "info status count size",
    "vacuum": "gc compact cleanup prune",
    "verify": "check fsck validate repair",
}


def wanted_number(kind: click.ParamType[object]) -> str | None:
    """Return which numbers an option takes, such as "a whole number from 1 to 64"; None if it takes no number."""
    if not isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return None
    words = ["a whole number" if isinstance(kind, click.types.IntParamType) else "a number"]
    if isinstance(kind, click.IntRange | click.FloatRange):
        if kind.min is not None:
            words.append(f"above {kind.min}" if kind.min_open else f"from {kind.min}")
        words += [f"to {kind.max}"] if kind.max is not None else ["" if kind.min_open else "up"]
    return " ".join(filter(None, words))


class Option(click.Option):
    """An option of a command, shown in a section of ``--help``; an environment variable may set its value, too.

    The variable of ``--analyzer`` is ``SIMHASH_HBASE_ANALYZER`` for all commands. click's ``auto_envvar_prefix`` would
    put the name of a command into each variable, and the name of the parameter instead of the option's.
    """

    def __init__(self, *words: object, section: str = SECTION, **rest: object) -> None:
        set_up: Callable[..., None] = super().__init__
        set_up(*words, **rest)
        self.section = section
        if self.envvar is None:
            self.envvar = PREFIX + self.key.upper()

    @property
    def key(self) -> str:
        """The option's key in a settings file: its long name without the leading dashes, with underscores."""
        return max(self.opts, key=len).lstrip("-").replace("-", "_")

    def type_cast_value(self, ctx: click.Context, value: object) -> object:
        """Return a value as the type of the option; an error for a bad number names the numbers that are allowed."""
        try:
            return super().type_cast_value(ctx, value)
        except click.BadParameter as error:
            if (wanted := wanted_number(self.type)) is None:
                raise
            hint = self.get_error_hint(ctx).strip("'")
            raise click.UsageError(f"{hint} is {value!r}: wanted {wanted}", ctx) from error

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return where a bad value was set, for click's error: a variable, a key of a settings file, or the option."""
        source = ctx.get_parameter_source(self.name) if ctx is not None and self.name else None
        if source is ParameterSource.ENVIRONMENT:
            return f"variable {self.envvar}"
        if ctx is not None and source is ParameterSource.DEFAULT_MAP:
            return f"{self.key} in {ctx.meta.get(CONFIG)}"
        return super().get_error_hint(ctx)

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Return click's extras of the option in ``--help``; a default given in words is shown without parentheses."""
        extra = super().get_help_extra(ctx)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        return extra


option = partial(click.option, cls=Option)  # Declares an option of a command.


class Command(click.Command):
    """A command of click with examples for its help, and a sentence for Ctrl-C.

    The sentence, `interrupted`, is printed when a signal ends the command: a text, or a function that makes it of the
    options.
    """

    def __init__(
        self,
        *words: object,
        examples: Sequence[str] = (),
        interrupted: str | Callable[..., str] | None = None,
        **rest: object,
    ) -> None:
        set_up: Callable[..., None] = super().__init__
        set_up(*words, **rest)
        self.examples = examples
        self.interrupted = interrupted

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; errors get the context of this command, and suggest a name for an unknown option."""
        if isinstance(ctx.obj, RunState):
            ctx.obj.context = ctx
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = [word for item in self.get_params(ctx) for word in item.opts if word.startswith("--")]
            name = error.option_name
            raise click.UsageError(f"no such option {name!r}{perhaps(name, known)}", error.ctx or ctx) from error
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> object:
        """Keep the sentence that Ctrl-C would print in the state of the run, then call the command."""
        if isinstance(ctx.obj, RunState) and self.interrupted is not None:
            left = self.interrupted
            ctx.obj.interrupted = left if isinstance(left, str) else left(**ctx.params)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options into the help: first those of the command itself, then those that several commands have."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx)
            # Arguments explain themselves in the usage line above.
            if line is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", SECTION), []).append(line)
        for name in sorted(sections, key=lambda name: name != SECTION):
            with formatter.section(name):
                formatter.write_dl(sections[name])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples of the command at the end of its help."""
        with formatter.section("Example" if len(self.examples) == 1 else "Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


command = partial(click.command, cls=Command)  # Declares a command.


class Group(Command, click.Group):
    """A command that has subcommands; called without one it prints its help on standard error and fails."""

    command_class = Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; an empty one prints the help and ends with exit code 2, in every version of click."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(WRONG_USAGE)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand that is called, as click does; the error for an unknown name suggests another one."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"no such command {args[0]!r}{perhaps(args[0], self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options into the help, then the list of subcommands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def perhaps(word: str, known: Collection[str]) -> str:
    """Return the end of an error message for an unknown option or command: names of `known` that may be meant.

    The text is empty if no name is like it.

    Examples
    --------
    >>> perhaps("--threshold", ["--results", "--similarity"]), perhaps("dedupp", ["dedup", "add"])
    (': perhaps --similarity', ': perhaps dedup')
    >>> perhaps("--threshold", ["--results"])
    ''
    """
    meanings = _OPTIONS if word.startswith("-") else _COMMANDS
    said = word.lower().lstrip("-").replace("_", "-")
    same = [name for name, words in meanings.items() if name in known and said in words.split()]
    found = same or get_close_matches(word, known, cutoff=_ALIKE)
    return f": perhaps {' or '.join(found)}" if found else ""
