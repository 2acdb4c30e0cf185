"""Files, and the address of an index or none, in any order."""

from collections.abc import Sequence
from dataclasses import dataclass

import click
from click.shell_completion import CompletionItem

from simhash_hbase.cli.options import collected
from simhash_hbase.cli.screen.controls import secretless
from simhash_hbase.cli.shell import complete_address, complete_file
from simhash_hbase.errors import InvalidArgument


@dataclass(frozen=True)
class Named:
    """What a command that needs no address was called with; the index of None is a temporary one."""

    url: str | None
    files: Sequence[str]


def _named(*, words: Sequence[str]) -> Named:
    from simhash_hbase.opening import holds_index

    urls = _urls(words)
    files = [word for word in words if word not in urls]
    if len(urls) > 1:
        raise InvalidArgument(f"{secretless(' and '.join(urls))} are two addresses: name one index")
    if not files:
        raise click.UsageError("Missing argument 'FILE…'.", click.get_current_context())
    for path in files:
        if not urls and holds_index(path):
            raise InvalidArgument(f"{path} is an index, not documents: wanted file:{path}")
    return Named(urls[0] if urls else None, files)


def _urls(words: Sequence[str]) -> list[str]:
    from simhash_hbase.opening import looks_like_address

    return [word for word in words if looks_like_address(word)]


def left_by_interrupt(  # noqa: PLR0913 - options of a command, by name
    *,
    words: Sequence[str],
    results: str | None = None,
    resume: bool = False,
    keep: str = "first",
    dry_run: bool = False,
    exact: bool = False,
    contained: float | None = None,
    **_: object,
) -> str:
    """Return what an interrupt of a command with these options leaves, and how to go on."""
    stays = bool(_urls(words))
    how = "repeat the command to go on" if stays else "repeat the command to begin anew"
    if results and not resume:
        can_go_on = stays and keep == "first" and not dry_run and not exact and contained is None
        how = "repeat the command with --resume to go on" if can_go_on else f"remove {results} to begin anew"
    return f"{'what was acknowledged stays' if stays else 'the temporary index is gone'}: {how}"


def _complete_word(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    return complete_address(ctx, parameter, begun) or complete_file(ctx, parameter, begun)


named_argument = collected(
    "named",
    _named,
    click.argument("words", nargs=-1, required=True, metavar="[URL] FILE…", shell_complete=_complete_word),
)
