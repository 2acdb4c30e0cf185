"""How help is laid out: options by what they are for, and examples that can be copied."""

from collections.abc import Sequence
from typing import Any

import click

__all__ = ["Command", "Option"]

SECTION = "Options"


class Option(click.Option):
    """An option that says what it is for.

    Parameters
    ----------
    section : str
        The heading above it in the help.
    """

    def __init__(self, *words: Any, section: str = SECTION, **rest: Any) -> None:  # noqa: ANN401
        super().__init__(*words, **rest)
        self.section = section

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Write a default that is explained like one that is not: without parentheses."""
        extra = super().get_help_extra(ctx)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        return extra


class Command(click.Command):
    """A command with examples.

    Parameters
    ----------
    examples : sequence of str
        Lines for a shell; they are printed whole, however narrow the terminal is.
    """

    def __init__(self, *words: Any, examples: Sequence[str] = (), **rest: Any) -> None:  # noqa: ANN401
        super().__init__(*words, **rest)
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the command itself, then those that it shares with others."""
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
        """Write the examples."""
        with formatter.section("Example" if len(self.examples) == 1 else "Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")
