"""The characters of which jieba makes its blocks: runs of Han, and runs of ASCII."""

import re

ASCII = r"a-zA-Z0-9+#&._%\-"
"""For a class of a regular expression."""
HAN = "\u4e00-\u9fd5"  # For a class of a regular expression.


def run_of(characters: str) -> str:
    """Write the expression of a run of the characters of a class, for searches that skip others fast.

    Examples
    --------
    >>> run_of("0-9")
    '[0-9][0-9]*+'
    """
    # `re` passes over what cannot begin a match three times faster where the expression begins with a bare class.
    return f"[{characters}][{characters}]*+"


ASCII_RUN = re.compile(run_of(ASCII))  # A run of the ASCII characters that jieba takes into a block.
BLOCK = re.compile(run_of(HAN + ASCII))  # What jieba cuts at a time, whatever stands around it.

_BLANK = 0x20
_TO_BLANK = bytes(byte if ASCII_RUN.fullmatch(chr(byte)) else _BLANK for byte in range(256))


def is_han(word: str) -> bool:
    """Return whether a word consists of the Han characters that jieba takes into a block."""
    return min(word) >= "\u4e00" and max(word) <= "\u9fd5"


def ascii_runs(text: str) -> list[str]:
    """List the ASCII runs of a text, in order: of an ASCII text its blocks, faster than by the expression.

    Examples
    --------
    >>> ascii_runs("用TF-IDF 和 k=3")
    ['TF-IDF', 'k', '3']
    """
    return text.encode("ascii", "replace").translate(_TO_BLANK).decode("ascii").split()
