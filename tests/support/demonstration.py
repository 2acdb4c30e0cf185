"""Texts of the demonstration in `examples/`, which the laboratories do not have on their path."""

import random

from demo import COPIED_ZH, SEED, chinese, edited_copies


def chinese_with_copies():
    """List the Chinese texts of the demonstration with their edited copies; Python's documentation is not read."""
    texts = chinese()
    return [*texts, *edited_copies(texts, COPIED_ZH, random.Random(SEED).random)]
