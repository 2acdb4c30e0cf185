"""Completion of words by a shell: the command that prints its script, and the answers to it."""

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

from simhash_hbase.cli.help import Command

VARIABLE = "_SIMHASH_HBASE_COMPLETE"


def complete_file(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    return [CompletionItem(begun, type="file")]


def complete_address(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Let the shell complete the folder of a ``file:`` address; nothing is known of others without a connection."""
    return [CompletionItem(begun, type="dir")] if begun.startswith("file:") else []


class Bash(BashComplete):
    """Completes addresses, too: bash ends a word at a colon, which is one of its ``COMP_WORDBREAKS``."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor's and the begun one, with addresses in one piece."""
        words, begun = super().get_completion_args()
        whole: list[str] = []
        for word in [*words, begun]:
            if word.startswith(":") or (whole and whole[-1].endswith(":")):
                whole[-1:] = ["".join([*whole[-1:], word])]
            else:
                whole.append(word)
        return whole[:-1], whole[-1]


add_completion_class(Bash)


@click.command(
    "completion",
    cls=Command,
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
    if (maker := get_completion_class(shell)) is not None:
        click.echo(maker(root.command, {}, str(root.info_name), VARIABLE).source())
