"""MinHash sketches of texts, made of the smallest hashes of their shingles: the 5-character runs of the normal form.

One-permutation MinHash (Li, Owen, Zhang 2012) with optimal densification (Shrivastava 2017): a shingle's hash names one
of 512 bins by its upper 9 bits, each bin keeps its smallest hash, and an empty bin takes the hash of the first filled
one in an order of its own. The mixer is splitmix64's finaliser (Steele, Lea, Flood 2014). How many shingles there are
is estimated from the smallest hashes, too (Cohen 1997, Size-estimation framework).
"""

from __future__ import annotations

from simhash_hbase.kernel import uncompiled as cython

BINS = 512
SHINGLE = 5  # Characters.

_BINS = cython.declare(cython.Py_ssize_t, BINS)
_EMPTY = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
_TWO = cython.declare(cython.ulonglong, 0x3FFFFFFFFFF)  # 42 bits.
_THREE = cython.declare(cython.ulonglong, 0x7FFFFFFFFFFFFFFF)  # 63 bits.
_GOLDEN = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
_M1 = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)
_M2 = cython.declare(cython.ulonglong, 0x94D049BB133111EB)
_IN_BIN = cython.declare(cython.ulonglong, 0x7FFFFFFFFFFFFF)  # The lower 55 bits of a hash, behind its bin.
_OF_BIN = cython.declare(cython.ulonglong, 0x800000000)  # A bin's share of 44 bits.
_MOST = cython.declare(cython.ulonglong, 0xFFFFFFFF)  # The largest number of 32 bits.


@cython.cfunc
@cython.nogil
def _mix(value: cython.ulonglong) -> cython.ulonglong:
    value ^= value >> 30
    value = (value * _M1) & _EMPTY
    value ^= value >> 27
    value = (value * _M2) & _EMPTY
    return value ^ (value >> 31)


def mix(values: cython.ulonglong[::1]) -> None:
    """Replace 64-bit numbers in place by pseudo-random ones (splitmix64); different numbers stay different."""
    for at in range(values.shape[0]):
        values[at] = _mix((values[at] * _GOLDEN) & _EMPTY)


def sketch(
    normal: cython.uint[::1],
    ends: cython.longlong[::1],
    orders: cython.ushort[::1],
    groups: cython.ushort[::1],
    sketches: cython.ulonglong[::1],
    segments: cython.uint[::1],
    counts: cython.uint[::1],
    *,
    bands: cython.Py_ssize_t,
) -> None:
    """Compute for each text its sketch, the hashes of its bands, and the estimated number of its distinct shingles.

    A sketch is 512 bits in 8 words of `sketches`: the lowest bit of the smallest hash in each bin, the first bin most
    significant. `segments` gets a hash of the minima in each band's bins, `counts` the numbers of shingles. The normal
    form of text i in `normal` is from ``ends[i]`` to ``ends[i + 1]``. `orders` has for each of 512 bins the order in
    which it chooses another one if it is empty, and `groups` the bins of the bands, band by band.
    """
    minima: cython.ulonglong[::1] = memoryview(bytearray(8 * BINS)).cast("Q")
    dense: cython.ulonglong[::1] = memoryview(bytearray(8 * BINS)).cast("Q")
    filled: cython.ushort[::1] = memoryview(bytearray(2 * BINS)).cast("H")
    width: cython.Py_ssize_t = groups.shape[0] // bands if bands else 0
    with cython.nogil:
        for text in range(ends.shape[0] - 1):
            _find_minima(normal, ends[text], ends[text + 1], minima)
            counts[text] = _count(minima)
            _densify(minima, filled, orders, dense)
            for word in range(8):
                value = 0
                for at in range(64 * word, 64 * word + 64):
                    value = ((value << 1) & _EMPTY) | (dense[at] & 1 if dense[at] != _EMPTY else 0)
                sketches[8 * text + word] = value
            for band in range(bands):
                value = _GOLDEN
                for at in range(band * width, (band + 1) * width):
                    value = _mix((value * _GOLDEN + dense[groups[at]]) & _EMPTY)
                segments[bands * text + band] = value >> 32


@cython.cfunc
@cython.nogil
def _find_minima(
    normal: cython.uint[::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, minima: cython.ulonglong[::1]
) -> cython.void:
    """Write the smallest hash of a text's shingles in each bin into `minima`; all bits are set in an empty bin.

    A bin is one of 512 ranges of hashes. A text of less than five characters has one shingle, itself.
    """
    three: cython.ulonglong = 0  # The last five code points, 21 bits each: three here, two below.
    two: cython.ulonglong = 0
    for place in range(_BINS):
        minima[place] = _EMPTY
    for place in range(start, stop if stop >= start + 5 or stop == start else start + 5):
        three = ((three << 21) | (two >> 21)) & _THREE
        # A number above Unicode's last keeps a short text apart from every longer one.
        two = ((two << 21) | (normal[place] if place < stop else 0x110000)) & _TWO
        if place >= start + 4:
            value = (three * _GOLDEN) & _EMPTY
            value ^= value >> 32
            value = _mix((((value + two) & _EMPTY) * _GOLDEN) & _EMPTY)
            minima[value >> 55] = min(minima[value >> 55], value)


@cython.cfunc
@cython.nogil
def _count(minima: cython.ulonglong[::1]) -> cython.ulonglong:
    """Return the estimated number of distinct shingles of a text, from the smallest hash in each range (bin) of hashes.

    The more shingles there are, the smaller are these hashes.
    """
    filled: cython.ulonglong = 0
    waited: cython.ulonglong = 0  # How many of the 2 ** 44 values of a hash, cut to 44 bits, lie below the minima.
    for bin in range(_BINS):
        filled += minima[bin] != _EMPTY
        waited += (minima[bin] & _IN_BIN) >> 20 if minima[bin] != _EMPTY else _OF_BIN
    waited = max(waited, 1)
    return min(((filled << 44) + (waited >> 1)) // waited, _MOST)


@cython.cfunc
@cython.nogil
def _densify(
    minima: cython.ulonglong[::1], filled: cython.ushort[::1], orders: cython.ushort[::1], dense: cython.ulonglong[::1]
) -> cython.void:
    """Copy the minima of the bins to `dense`, and fill each empty bin with that of the first filled bin in its order.

    A bin is one of 512 ranges of hashes, its minimum the smallest hash of the text in it. If all bins are empty, they
    stay so. `filled` is room for the numbers of the filled bins.
    """
    many: cython.Py_ssize_t = 0
    for bin in range(_BINS):
        dense[bin] = minima[bin]
        if minima[bin] != _EMPTY:
            filled[many] = bin
            many += 1
    for bin in range(_BINS if many else 0):
        if minima[bin] != _EMPTY:
            continue
        at = bin * _BINS
        if many < 23:
            # Where few bins are filled, looking for the one with the least key is faster than following the order.
            least = _EMPTY
            for number in range(many):
                key = _mix(((at + filled[number] + 1) * _GOLDEN) & _EMPTY)
                if key < least:
                    least = key
                    dense[bin] = minima[filled[number]]
        else:
            while minima[orders[at]] == _EMPTY:
                at += 1
            dense[bin] = minima[orders[at]]
