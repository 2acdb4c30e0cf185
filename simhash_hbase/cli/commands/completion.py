"""``simhash-hbase completion``."""

import click
from click.shell_completion import get_completion_class

from simhash_hbase.cli.help import Command
from simhash_hbase.cli.shell import VARIABLE


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
def command(ctx: click.Context, shell: str) -> None:
    """Print a shell completion script for commands, options and their values.

    Put the first line below into ~/.bashrc, the file of the second into a folder of $fpath, that of the third into
    ~/.config/fish/completions.
    """
    root = ctx.find_root()
    maker = get_completion_class(shell)
    if maker is not None:
        click.echo(maker(root.command, {}, str(root.info_name), VARIABLE).source())
