"""Conversion of texts into a form, such as the normal form, by a table with an entry for each character.

An entry is the code point that replaces the character; 0, which leaves it out; or, with bit 31 set, a position in a
list, where a number stands and then as many code points that replace the character. Texts with characters whose form
depends on their neighbours are left to Python.
"""

from __future__ import annotations

from simhash_hbase.kernel import uncompiled as cython
from simhash_hbase.kernel.kinds import BLANKLESS, HAN_FIRST, HAN_LAST, IGNORABLE, SLOW

MAPPED = 0x20000  # Code points that a table holds.
LIST = 1 << 31  # In a table: the other bits are a place in the list.
MOST_LISTED = 4  # Most characters that replace one.

_LIST = cython.declare(cython.uint, LIST)
_SLOW = cython.declare(cython.int, SLOW)
_IGNORABLE = cython.declare(cython.int, IGNORABLE)
_BLANKLESS = cython.declare(cython.int, BLANKLESS)
_HAN_FIRST = cython.declare(cython.uint, HAN_FIRST)
_HAN_LAST = cython.declare(cython.uint, HAN_LAST)


def kinds_of(
    points: cython.uint[::1], offsets: cython.longlong[::1], kinds: cython.ushort[::1], found: cython.ushort[::1]
) -> None:
    """Write into ``found[i]`` the kinds of characters that occur in text i, as bits (see `simhash_hbase.kernel.kinds`).

    Text i has the code points from ``offsets[i]`` to ``offsets[i + 1]``; `kinds` has the bits of each code point.
    """
    with cython.nogil:
        for text in range(offsets.shape[0] - 1):
            both = 0
            for place in range(offsets[text], offsets[text + 1]):
                both |= kinds[points[place]]
            found[text] = both


def rewrite(
    points: cython.uint[::1],
    offsets: cython.longlong[::1],
    found: cython.ushort[::1],
    table: cython.uint[::1],
    listed: cython.uint[::1],
    written: cython.uint[::1],
    ends: cython.longlong[::1],
) -> None:
    """Write the converted texts one after the other into `written`, and where each one ends into `ends`, after a 0.

    `table` and `listed` are the table of the form and its list; `found` are the kinds of characters in each text. A
    text with a character of kind `SLOW` gets an empty form: Python makes it.
    """
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        ends[0] = 0
        for text in range(offsets.shape[0] - 1):
            if not found[text] & _SLOW:
                for place in range(offsets[text], offsets[text + 1]):
                    point = table[points[place]]
                    if point & _LIST:
                        point ^= _LIST
                        for at in range(point + 1, point + 1 + listed[point]):
                            written[size] = listed[at]
                            size += 1
                    else:
                        written[size] = point
                        if point:
                            size += 1
            ends[text + 1] = size


def leave_out(points: cython.uint[::1], offsets: cython.longlong[::1], kinds: cython.ushort[::1]) -> None:
    """Remove the characters of kind `IGNORABLE` from the texts in place, and correct the offsets of the texts."""
    start: cython.Py_ssize_t = 0
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        for text in range(offsets.shape[0] - 1):
            stop: cython.Py_ssize_t = offsets[text + 1]
            for place in range(start, stop):
                point = points[place]
                points[size] = point
                if not kinds[point] & _IGNORABLE:
                    size += 1
            offsets[text + 1] = size
            start = stop


@cython.cfunc
@cython.nogil
def _is_blank(point: cython.uint) -> cython.bint:
    """Return whether a character is white space; the normal form NFKC has replaced the other blanks by U+0020."""
    if point > 0x2029 or 33 <= point <= 0x84:
        return False
    return point == 32 or 9 <= point <= 13 or point == 0x85 or point == 0x1680 or point >= 0x2028


@cython.cfunc
@cython.nogil
def _is_unspaced(point: cython.uint, kinds: cython.ushort[::1]) -> cython.bint:
    return _HAN_FIRST <= point <= _HAN_LAST or kinds[point] & _BLANKLESS != 0


def join(points: cython.uint[::1], ends: cython.longlong[::1], kinds: cython.ushort[::1]) -> None:
    """Remove blanks between two characters of scripts written without blanks, such as Chinese, in place.

    `ends` is corrected to the new ends of the texts.
    """
    start: cython.Py_ssize_t = 0
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        for text in range(ends.shape[0] - 1):
            stop: cython.Py_ssize_t = ends[text + 1]
            place: cython.Py_ssize_t = start
            while place < stop:
                if _is_blank(points[place]) and place > start and _is_unspaced(points[place - 1], kinds):
                    after: cython.Py_ssize_t = place + 1
                    while after < stop and _is_blank(points[after]):
                        after += 1
                    if after < stop and _is_unspaced(points[after], kinds):
                        place = after
                points[size] = points[place]
                size += 1
                place += 1
            ends[text + 1] = size
            start = stop
