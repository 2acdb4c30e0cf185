"""Winnowing: choose a few hashes of a text's runs of characters so that texts with a long run in common share one.

Of each window of hashes the smallest is chosen (Schleimer, Wilkerson, Aiken 2003, Winnowing: local algorithms for
document fingerprinting). Two texts that share a run of ``gram + window - 1`` characters share all hashes of a window,
and so at least one that is chosen in both. The hash of a run is a polynomial of its code points, which rolls on from
one run to the next, mixed by splitmix64's finaliser (Steele, Lea, Flood 2014).
"""

from __future__ import annotations

from simhash_hbase.kernel import uncompiled as cython

_GOLDEN = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
_ALL = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
_M1 = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)
_M2 = cython.declare(cython.ulonglong, 0x94D049BB133111EB)


@cython.cfunc
@cython.nogil
def _mix(value: cython.ulonglong) -> cython.ulonglong:
    value ^= value >> 30
    value = (value * _M1) & _ALL
    value ^= value >> 27
    value = (value * _M2) & _ALL
    return value ^ (value >> 31)


def winnow(
    normal: cython.uint[::1],
    ends: cython.longlong[::1],
    hashes: cython.ulonglong[::1],
    places: cython.longlong[::1],
    counts: cython.longlong[::1],
    *,
    gram: cython.Py_ssize_t,
    window: cython.Py_ssize_t,
) -> None:
    """Choose hashes of the runs of `gram` characters of each text, and write them with their places and numbers.

    `hashes` and `places` get the chosen hashes of all texts, and where each run begins in `normal`; both need room for
    one hash a character. `counts` gets how many hashes each text has. The normal form of text i is from ``ends[i]`` to
    ``ends[i + 1]``. Of each `window` consecutive hashes the smallest is chosen. A text with fewer hashes than a window
    has one, the smallest. A window keeps the place that the one before it has chosen, unless it has a smaller hash.
    """
    recent: cython.ulonglong[::1] = memoryview(bytearray(8 * window)).cast("Q")
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        leading: cython.ulonglong = 1
        for _ in range(gram - 1):
            leading = (leading * _GOLDEN) & _ALL
        for text in range(ends.shape[0] - 1):
            start: cython.Py_ssize_t = ends[text]
            stop: cython.Py_ssize_t = ends[text + 1]
            before: cython.Py_ssize_t = size
            rolled: cython.ulonglong = 0
            least: cython.Py_ssize_t = -1
            written: cython.Py_ssize_t = -1
            last: cython.Py_ssize_t = stop - start - gram
            for place in range(start, stop):
                rolled = (rolled * _GOLDEN + normal[place]) & _ALL
                number: cython.Py_ssize_t = place - start - gram + 1
                if number < 0:
                    continue
                recent[number % window] = _mix(rolled)
                rolled = (rolled - leading * normal[start + number]) & _ALL
                if least < 0 or recent[number % window] < recent[least % window]:
                    least = number
                elif least <= number - window:
                    least = number
                    for other in range(number - 1, number - window, -1):
                        if recent[other % window] < recent[least % window]:
                            least = other
                if least != written and (number >= window - 1 or number == last):
                    hashes[size] = recent[least % window]
                    places[size] = start + least
                    size += 1
                    written = least
            counts[text] = size - before
