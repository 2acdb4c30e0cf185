"""Fuzz targets: bytes in, and nothing may come out but results and the package's own errors.

Each module ``fuzz_*`` has ``TestOneInput(data)``, the form of atheris and so of OSS-Fuzz, and `SEEDS` to begin with,
which are the same bytes in each process: a seed and a number name one input.
``python tests/fuzz/fuzz_html.py`` runs it by atheris where that is installed, with atheris's own options;
``python -m fuzz`` runs it by the mutations of this module.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import count, islice, takewhile
from pathlib import Path
from types import ModuleType

TARGETS = sorted(path.stem for path in Path(__file__).parent.glob("fuzz_*.py"))
MOST_BYTES = 64 << 10
MOST_CHANGES = 8
# Numbers at which lengths and counts go wrong.
EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 1 << 63, (1 << 64) - 1)


def _place(data: bytes, dice: random.Random) -> int:
    return dice.randrange(len(data) + 1)


def _flip(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    at = _place(data, dice)
    return data[:at] + bytes(byte ^ 1 << dice.randrange(8) for byte in data[at : at + 1]) + data[at + 1 :]


def _set(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    at = _place(data, dice)
    return data[:at] + dice.randbytes(1) + data[at + 1 :]


def _number(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    at, edge = _place(data, dice), dice.choice(EDGES)
    size = dice.choice((1, 2, 4, 8))
    packed = (edge & (1 << 8 * size) - 1).to_bytes(size, dice.choice(("big", "little")))
    return data[:at] + packed + data[at + size * dice.randrange(2) :]


def _remove(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    at = _place(data, dice)
    return data[:at] + data[at + dice.choice((1, 2, 4, 16, 256)) :]


def _cut(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    return data[: _place(data, dice)]


def _repeat(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    start, stop = sorted((_place(data, dice), _place(data, dice)))
    return data[:stop] + data[start:stop] * dice.choice((1, 1, 1, 30)) + data[stop:]


def _splice(data: bytes, dice: random.Random, seeds: Sequence[bytes]) -> bytes:
    other = dice.choice(seeds)
    return data[: _place(data, dice)] + other[_place(other, dice) :]


CHANGES = (_flip, _set, _number, _remove, _cut, _repeat, _splice)


def inputs(seeds: Sequence[bytes], dice: random.Random) -> Iterator[bytes]:
    """Yield changed seeds without end, and now and then one as it is."""
    while True:
        data = dice.choice(seeds)
        for _ in range(dice.randint(0, MOST_CHANGES)):
            data = dice.choice(CHANGES)(data, dice, seeds)[:MOST_BYTES]
        yield data


def run(target: ModuleType, *, seed: int, most: int | None = None, seconds: float | None = None) -> int:
    """Give a target its inputs, so many or for so long, and return how many it was given.

    Raises
    ------
    AssertionError
        At the first input for which it raises; the message has the input and the seed.
    """
    until = None if seconds is None else time.monotonic() + seconds
    given = takewhile(lambda _: until is None or time.monotonic() < until, inputs(target.SEEDS, random.Random(seed)))
    number = 0
    for number, data in zip(count(1), islice(given, most), strict=False):
        try:
            target.TestOneInput(data)
        except Exception as error:
            what = f"{target.__name__}, input {number} of seed {seed}: {type(error).__name__}: {error}"
            raise AssertionError(f"{what}\nbytes.fromhex({data.hex()!r})") from error
    return number


def by_atheris(target: Callable[[bytes], None]) -> None:
    """Run a target by atheris, with its options on the command line."""
    atheris = import_module("atheris")
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
