"""SimHash: the words of a text are hashed, counted and weighed, and their weighted votes decide each bit.

A word is known by the first 64 bits of MurmurHash3 x64 128 (Appleby 2011) of its UTF-8 bytes, the hash that votes:
words of an equal hash would be one feature. Weights are integers of 1/65,536, so that no sum depends on an order.
"""

from __future__ import annotations

from simhash_hbase.kernel import uncompiled as cython

_SCALE = cython.declare(cython.double, 65536.0)
_MOST = cython.declare(cython.double, 1e9 * 65536.0)
_MOST_TOTAL = cython.declare(cython.double, 4611686018427387904.0)
_WHOLE = cython.declare(cython.double, 4503599627370496.0)  # 2**52: a float as large as this has no fraction.
_ALL_BITS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)  # Interpreted, no product wraps.
_C1 = cython.declare(cython.ulonglong, 0x87C37B91114253D5)
_C2 = cython.declare(cython.ulonglong, 0x4CF5AD432745937F)
_F1 = cython.declare(cython.ulonglong, 0xFF51AFD7ED558CCD)
_F2 = cython.declare(cython.ulonglong, 0xC4CEB9FE1A85EC53)


@cython.cfunc
@cython.nogil
def _rotate(value: cython.ulonglong, bits: cython.int) -> cython.ulonglong:
    return ((value << bits) & _ALL_BITS) | (value >> (64 - bits))


@cython.cfunc
@cython.nogil
def _scramble(
    key: cython.ulonglong, factor: cython.ulonglong, bits: cython.int, second_factor: cython.ulonglong
) -> cython.ulonglong:
    return (_rotate((key * factor) & _ALL_BITS, bits) * second_factor) & _ALL_BITS


@cython.cfunc
@cython.nogil
def _final(value: cython.ulonglong) -> cython.ulonglong:
    value ^= value >> 33
    value = (value * _F1) & _ALL_BITS
    value ^= value >> 33
    value = (value * _F2) & _ALL_BITS
    return value ^ (value >> 33)


@cython.cfunc
@cython.nogil
def _murmur3(
    points: cython.uint[::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, seed: cython.ulonglong
) -> cython.ulonglong:
    """Return the hash of the code points from start to stop: of their UTF-8 bytes, by MurmurHash3, 64 bits."""
    first: cython.ulonglong = seed
    second: cython.ulonglong = seed
    key1: cython.ulonglong = 0
    key2: cython.ulonglong = 0
    length: cython.ulonglong = 0
    octets: cython.ulonglong = 0
    point: cython.ulonglong = 0
    for place in range(start, stop):
        point = points[place]
        if point < 0x80:
            octets = point
            size = 1
        elif point < 0x800:
            octets = (0xC0 | (point >> 6)) | ((0x80 | (point & 63)) << 8)
            size = 2
        elif point < 0x10000:
            octets = (0xE0 | (point >> 12)) | ((0x80 | ((point >> 6) & 63)) << 8) | ((0x80 | (point & 63)) << 16)
            size = 3
        else:
            octets = (0xF0 | (point >> 18)) | ((0x80 | ((point >> 12) & 63)) << 8)
            octets |= ((0x80 | ((point >> 6) & 63)) << 16) | ((0x80 | (point & 63)) << 24)
            size = 4
        at = length & 15
        length += size
        if at < 8:
            key1 = (key1 | (octets << (8 * at))) & _ALL_BITS
            if at + size > 8:
                key2 = octets >> (8 * (8 - at))
        else:
            key2 = (key2 | (octets << (8 * (at - 8)))) & _ALL_BITS
            if at + size >= 16:
                first = (_rotate(first ^ _scramble(key1, _C1, 31, _C2), 27) + second) & _ALL_BITS
                first = (first * 5 + 0x52DCE729) & _ALL_BITS
                second = (_rotate(second ^ _scramble(key2, _C2, 33, _C1), 31) + first) & _ALL_BITS
                second = (second * 5 + 0x38495AB5) & _ALL_BITS
                key1 = octets >> (8 * (16 - at)) if at + size > 16 else 0
                key2 = 0
    # Without octets both keys are 0, and mixing them in changes nothing.
    second ^= _scramble(key2, _C2, 33, _C1) ^ length
    first ^= _scramble(key1, _C1, 31, _C2) ^ length
    first = (first + second) & _ALL_BITS
    second = (second + first) & _ALL_BITS
    return (_final(first) + _final(second)) & _ALL_BITS


@cython.ccall
@cython.nogil
def weight_of(
    keys: cython.ulonglong[::1], values: cython.double[::1], other: cython.double, key: cython.ulonglong
) -> cython.double:
    """Return the weight of the word with the hash `key`, or `other` if the tables have no such word.

    `insert_weights` has filled the tables `keys` and `values`.
    """
    mask: cython.ulonglong = keys.shape[0] - 1
    at: cython.ulonglong = key & mask
    while keys[at] != 0:
        if keys[at] == key:
            return values[at]
        at = (at + 1) & mask
    return other


def insert_weights(
    keys: cython.ulonglong[::1], values: cython.double[::1], hashes: cython.ulonglong[::1], weights: cython.double[::1]
) -> None:
    """Put the weights of words, by their hashes, into the two arrays of a hash table, which are zeros.

    The length of the arrays is a power of two, and at least twice the number of weights.
    """
    mask: cython.ulonglong = keys.shape[0] - 1
    for number in range(hashes.shape[0]):
        at = hashes[number] & mask
        while keys[at] != 0 and keys[at] != hashes[number]:
            at = (at + 1) & mask
        keys[at] = hashes[number]
        values[at] = weights[number]


@cython.final
@cython.cclass
class Features:
    """The distinct words (features) of texts, counted, and the fingerprints computed from them.

    Text i has the words from ``offsets[i]`` to ``offsets[i + 1]``. `count` fills `hashes` and `counts`, how often each
    word occurs in its text; both are as long as there are words. `starts` and `stops`, in the code points of the texts,
    are those of all words, and after `count` of the distinct ones.
    """

    hashes: cython.ulonglong[::1]
    counts: cython.int[::1]
    offsets: cython.longlong[::1]
    points: cython.uint[::1]
    starts: cython.uint[::1]
    stops: cython.uint[::1]
    # Scratch of `vote`: weights of features, numbers of a text's heaviest, and sums of the weights for each value of
    # each four bits of the hashes.
    weights: cython.double[::1]
    heap: cython.int[::1]
    sums: cython.longlong[::1]

    def __init__(self, *buffers: memoryview) -> None:
        self.hashes, self.counts, self.offsets, self.points, self.starts, self.stops = buffers

    def count(self, before: cython.longlong[::1], seed: cython.ulonglong) -> None:
        """Hash the words of each text and count equal ones; text i has the words ``before[i]`` to ``before[i + 1]``."""
        most: cython.longlong = 0
        for text in range(before.shape[0] - 1):
            most = max(most, before[text + 1] - before[text])
        size: cython.ulonglong = 1
        while size < cython.cast(cython.ulonglong, 2 * most):
            size *= 2
        # Open addresses by hash: the number of a feature, from 1. A number of an earlier text marks a free place.
        table: cython.int[::1] = memoryview(bytearray(4 * size)).cast("i")
        used: cython.Py_ssize_t = 0
        with cython.nogil:
            self.offsets[0] = 0
            for text in range(before.shape[0] - 1):
                first: cython.Py_ssize_t = used
                for word in range(before[text], before[text + 1]):
                    value = _murmur3(self.points, self.starts[word], self.stops[word], seed)
                    at = value & (size - 1)
                    while table[at] > first and self.hashes[table[at] - 1] != value:
                        at = (at + 1) & (size - 1)
                    if table[at] <= first:
                        self.hashes[used] = value
                        self.counts[used] = 0
                        self.starts[used] = self.starts[word]
                        self.stops[used] = self.stops[word]
                        used += 1
                        table[at] = used
                    self.counts[table[at] - 1] += 1
                self.offsets[text + 1] = used

    def vote(
        self,
        keys: cython.ulonglong[::1],
        values: cython.double[::1],
        simhashes: cython.ulonglong[::1],
        features: cython.int[::1],
        *,
        other: cython.double,
        top: cython.Py_ssize_t,
    ) -> None:
        """Write the fingerprint of each text to `simhashes`, and the number of its words that voted to `features`.

        The weights of words are in the hash table `keys`, `values`; any other word has the weight `other`. The `top`
        heaviest features vote, with `top` 0 all; of equal weights the first word in order goes first. The number is 0
        if the votes for and against are equal at every bit, and -1 if a sum is too large for 64 bits.
        """
        self.weights = memoryview(bytearray(8 * self.hashes.shape[0] + 8)).cast("d")
        self.heap = memoryview(bytearray(4 * min(top, self.hashes.shape[0]) + 4)).cast("i")
        self.sums = memoryview(bytearray(8 * 256)).cast("q")
        with cython.nogil:
            for at in range(self.hashes.shape[0]):
                self.weights[at] = self.counts[at] * weight_of(keys, values, other, self.hashes[at])
            for text in range(self.offsets.shape[0] - 1):
                features[text] = self._add_up(self.offsets[text], self.offsets[text + 1], top)
                value = 0
                is_decided: cython.bint = False
                for bit in range(64):
                    # The votes for a bit less those against it.
                    margin: cython.longlong = 0
                    for four in range(16):
                        part = self.sums[16 * (bit >> 2) + four]
                        margin += part if (four >> (bit & 3)) & 1 else -part
                    is_decided = is_decided or margin != 0
                    if margin > 0:
                        value |= cython.cast(cython.ulonglong, 1) << bit
                if not is_decided:
                    features[text] = min(features[text], 0)
                simhashes[text] = value if features[text] > 0 else 0

    @cython.cfunc
    @cython.nogil
    def _add_up(self, first: cython.Py_ssize_t, stop: cython.Py_ssize_t, top: cython.Py_ssize_t) -> cython.int:
        """Add up the votes of a text's words in `sums`; return how many voted, -1 if their weights are too large."""
        is_cut: cython.bint = 0 < top < stop - first
        total: cython.double = 0.0
        voted: cython.int = 0
        for four in range(256):
            self.sums[four] = 0
        if is_cut:
            # The heap keeps the heaviest features, the lightest of them first.
            for place in range(top):
                self.heap[place] = first + place
            for place in range(top // 2 - 1, -1, -1):
                self._sink(place, self.heap[place], top)
            for number in range(first + top, stop):
                if self._is_lighter(self.heap[0], number):
                    self._sink(0, number, top)
            stop = first + top
        for place in range(first, stop):
            at = self.heap[place - first] if is_cut else place
            units = self.weights[at] * _SCALE
            if units < _WHOLE:
                # The nearest integer, of two the even one.
                units = (units + _WHOLE) - _WHOLE
            total += units
            if units > _MOST or total >= _MOST_TOTAL:
                return -1
            whole = cython.cast(cython.longlong, units)
            if whole:
                voted += 1
            value = self.hashes[at]
            for four in range(16):
                self.sums[16 * four + cython.cast(cython.int, (value >> (4 * four)) & 15)] += whole
        return voted

    @cython.cfunc
    @cython.nogil
    def _is_lighter(self, a: cython.int, b: cython.int) -> cython.bint:
        """Return whether feature a comes after feature b: it has less weight, or as much and a later word in order."""
        if self.weights[a] != self.weights[b]:
            return self.weights[a] < self.weights[b]
        place_a = self.starts[a]
        place_b = self.starts[b]
        while place_a < self.stops[a] and place_b < self.stops[b]:
            if self.points[place_a] != self.points[place_b]:
                return self.points[place_a] > self.points[place_b]
            place_a += 1
            place_b += 1
        return place_a < self.stops[a]

    @cython.cfunc
    @cython.nogil
    def _sink(self, at: cython.Py_ssize_t, number: cython.int, top: cython.Py_ssize_t) -> cython.void:
        """Put feature `number` into the heap of the heaviest features, at position `at` or below it."""
        child = 2 * at + 1
        while child < top:
            if child + 1 < top and self._is_lighter(self.heap[child + 1], self.heap[child]):
                child += 1
            if not self._is_lighter(self.heap[child], number):
                break
            self.heap[at] = self.heap[child]
            at = child
            child = 2 * at + 1
        self.heap[at] = number
