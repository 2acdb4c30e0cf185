"""Answers to a shell that completes a word."""

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

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
