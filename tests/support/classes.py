"""The classes of characters that words of other scripts are made of, for regular expressions."""

from pathlib import Path

from simhash_hbase.kernel import tables


def _class(ranges):
    ends = (part.partition("-") for part in ranges.split())
    return "".join(f"\\U{int(first, 16):08x}-\\U{int(last or first, 16):08x}" for first, _, last in ends)


_BLOCKS = Path(tables.__file__).with_name("characters.txt").read_text("ascii").split("\n\n")[1:]
CLASSES = {name: _class(ranges) for name, _, ranges in (block.partition("\n") for block in _BLOCKS)}
LETTERS, DIGITS, MARKS = (CLASSES[name] for name in ("LETTERS", "DIGITS", "MARKS"))
HIRAGANA, KATAKANA, VOICED = (CLASSES[name] for name in ("HIRAGANA", "KATAKANA", "VOICED"))
UNSPACED, UNSPACED_MARKS, HEBREW = (CLASSES[name] for name in ("UNSPACED", "UNSPACED_MARKS", "HEBREW"))
FORMATS, MID_LETTER, MID_NUMBER = (CLASSES[name] for name in ("FORMATS", "MID_LETTER", "MID_NUMBER"))
