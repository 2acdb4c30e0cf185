"""Votes: the words of a text are hashed, counted and weighed, and each bit of their hashes is decided by a sum.

A word is known by the first 64 bits of MurmurHash3 x64 128 (Appleby 2011) of its UTF-8 bytes, the hash that votes:
words of an equal hash would be one feature. Weights are integers of 1/65,536, so that no sum depends on an order.

The file is Python and is compiled by Cython where that is possible; the results are the same.
"""

from __future__ import annotations

from simhash_hbase.kernel import uncompiled as cython

_DROPPED = cython.declare(cython.int, -(1 << 31))  # No text has so many words that this counts up to 0.
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
def _final(value: cython.ulonglong) -> cython.ulonglong:
    value ^= value >> 33
    value = (value * _F1) & _ALL_BITS
    value ^= value >> 33
    value = (value * _F2) & _ALL_BITS
    return value ^ (value >> 33)


@cython.cfunc
@cython.nogil
def _first_key(key: cython.ulonglong) -> cython.ulonglong:
    return (_rotate((key * _C1) & _ALL_BITS, 31) * _C2) & _ALL_BITS


@cython.cfunc
@cython.nogil
def _second_key(key: cython.ulonglong) -> cython.ulonglong:
    return (_rotate((key * _C2) & _ALL_BITS, 33) * _C1) & _ALL_BITS


@cython.cfunc
@cython.nogil
def _murmur3(
    points: cython.uint[::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    seed: cython.ulonglong,
    fold: cython.bint,
) -> cython.ulonglong:
    """Hash code points as UTF-8, ASCII in lower case where `fold` asks for it."""
    first: cython.ulonglong = seed
    second: cython.ulonglong = seed
    key1: cython.ulonglong = 0
    key2: cython.ulonglong = 0
    length: cython.ulonglong = 0
    for place in range(start, stop):
        point = points[place]
        if point < 0x80:
            if fold and 65 <= point <= 90:
                point += 32
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
                first = (_rotate(first ^ _first_key(key1), 27) + second) & _ALL_BITS
                first = (first * 5 + 0x52DCE729) & _ALL_BITS
                second = (_rotate(second ^ _second_key(key2), 31) + first) & _ALL_BITS
                second = (second * 5 + 0x38495AB5) & _ALL_BITS
                key1 = octets >> (8 * (16 - at)) if at + size > 16 else 0
                key2 = 0
    # Of a key without octets nothing is left.
    second ^= _second_key(key2)
    first ^= _first_key(key1)
    first ^= length
    second ^= length
    first = (first + second) & _ALL_BITS
    second = (second + first) & _ALL_BITS
    return (_final(first) + _final(second)) & _ALL_BITS


@cython.final
@cython.cclass
class Features:
    """The distinct words of a batch of texts, and what weighs them.

    Parameters
    ----------
    places : buffers of uint32
        Code points of the words; where the words of all texts start and stop; filled by `count`, as long as there are
        words: for each distinct one the number of the word where it occurs first.
    words : buffers of uint64, int32 and int64
        Filled by `count`: hashes of distinct words; how often each occurs in its text; and, of length n + 1, offsets:
        text i has the features from ``offsets[i]`` to ``offsets[i + 1]``.
    """

    points: cython.uint[::1]
    starts: cython.uint[::1]
    stops: cython.uint[::1]
    hashes: cython.ulonglong[::1]
    counts: cython.int[::1]
    firsts: cython.uint[::1]
    offsets: cython.longlong[::1]
    # Scratch of `vote`: weights of a text's features, and the numbers of the heaviest.
    weights: cython.double[::1]
    heap: cython.int[::1]

    def __init__(self, places: tuple[memoryview, ...], words: tuple[memoryview, ...]) -> None:
        self.points, self.starts, self.stops, self.firsts = places
        self.hashes, self.counts, self.offsets = words

    def count(
        self,
        before: cython.longlong[::1],
        dropped: tuple[memoryview, ...],
        longest: cython.Py_ssize_t,
        seed: cython.ulonglong,
    ) -> None:
        """Count the words of each text.

        Parameters
        ----------
        before : buffer of int64, length n + 1
            For each text the number of words before it.
        dropped : buffers of uint64 and float64
            Words in lower case that do not count, as `insert_weights` fills them; each begins with an ASCII letter.
        longest : int
            Characters of the longest of them.
        seed : int
            Of the hash.
        """
        keys: cython.ulonglong[::1]
        values: cython.double[::1]
        keys, values = dropped
        first: cython.Py_ssize_t
        kept: cython.Py_ssize_t = 0
        size: cython.ulonglong = 2
        for text in range(before.shape[0] - 1):
            while size < cython.cast(cython.ulonglong, 2 * (before[text + 1] - before[text])):
                size *= 2
        # For a hash the number of its word; of a text with few words only the beginning is used.
        table: cython.int[::1] = memoryview(bytearray(4 * size)).cast("i")
        with cython.nogil:
            self.offsets[0] = 0
            for text in range(before.shape[0] - 1):
                first = kept
                last = first
                size = 2
                while size < cython.cast(cython.ulonglong, 2 * (before[text + 1] - before[text])):
                    size *= 2
                for at in range(size):
                    table[at] = -1
                for word in range(before[text], before[text + 1]):
                    value = _murmur3(self.points, self.starts[word], self.stops[word], seed, False)
                    at = value & (size - 1)
                    number = table[at]
                    while number >= 0 and self.hashes[first + number] != value:
                        at = (at + 1) & (size - 1)
                        number = table[at]
                    if number < 0:
                        table[at] = last - first
                        self.hashes[last] = value
                        self.counts[last] = 0
                        self.firsts[last] = word
                        start = self.starts[word]
                        if self.stops[word] - start <= longest and self.points[start] < 128:
                            value = _murmur3(self.points, start, self.stops[word], seed, True)
                            if _weight(keys, values, 0.0, value) != 0.0:
                                self.counts[last] = _DROPPED
                        number = last - first
                        last += 1
                    self.counts[first + number] += 1
                for word in range(first, last):
                    if self.counts[word] > 0:
                        self.hashes[kept] = self.hashes[word]
                        self.counts[kept] = self.counts[word]
                        self.firsts[kept] = self.firsts[word]
                        kept += 1
                self.offsets[text + 1] = kept

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
        """Decide the bits of each text's fingerprint.

        Parameters
        ----------
        keys, values : buffers of uint64 and float64
            Weights by hash, as `insert_weights` fills them.
        simhashes, features : buffers of uint64 and int32
            Filled: the fingerprint of each text, and how many features voted; 0 where no bit is decided, -1 where
            64 bits do not hold the sums.
        other : float
            The weight of every other word.
        top : int
            Features to keep, the heaviest, of those that weigh the same the first by the word; 0 keeps all.
        """
        most: cython.Py_ssize_t = 1
        for text in range(self.offsets.shape[0] - 1):
            most = max(most, self.offsets[text + 1] - self.offsets[text])
        self.weights = memoryview(bytearray(8 * most)).cast("d")
        self.heap = memoryview(bytearray(4 * most)).cast("i")
        sums: cython.longlong[::1] = memoryview(bytearray(8 * 256)).cast("q")
        with cython.nogil:
            for text in range(self.offsets.shape[0] - 1):
                for at in range(self.offsets[text], self.offsets[text + 1]):
                    self.weights[at - self.offsets[text]] = self.counts[at] * _weight(
                        keys, values, other, self.hashes[at]
                    )
                features[text] = self._vote(text, top, sums)
                value = 0
                if features[text] > 0:
                    is_decided: cython.bint = False
                    for bit in range(64):
                        # The votes for a bit less those against it.
                        margin: cython.longlong = 0
                        for four in range(16):
                            part = sums[16 * (bit >> 2) + four]
                            margin += part if (four >> (bit & 3)) & 1 else -part
                        is_decided = is_decided or margin != 0
                        if margin > 0:
                            value |= cython.cast(cython.ulonglong, 1) << bit
                    if not is_decided:
                        features[text] = 0
                simhashes[text] = value

    @cython.cfunc
    @cython.nogil
    def _vote(self, text: cython.Py_ssize_t, top: cython.Py_ssize_t, sums: cython.longlong[::1]) -> cython.int:
        """Add the weights of a text's features to the sums of the values of each four bits of their hashes."""
        first: cython.Py_ssize_t = self.offsets[text]
        used: cython.Py_ssize_t = self.offsets[text + 1] - first
        is_cut: cython.bint = 0 < top < used
        total: cython.double = 0.0
        voted: cython.int = 0
        for four in range(256):
            sums[four] = 0
        if is_cut:
            self._keep_heaviest(first, used, top)
            used = top
        for at in range(used):
            number = self.heap[at] if is_cut else at
            units = self.weights[number] * _SCALE
            if units < _WHOLE:
                # The nearest integer, of two the even one.
                units = (units + _WHOLE) - _WHOLE
            total += units
            if units > _MOST or total >= _MOST_TOTAL:
                return -1
            whole = cython.cast(cython.longlong, units)
            if whole:
                voted += 1
            value = self.hashes[first + number]
            for four in range(16):
                sums[16 * four + cython.cast(cython.int, (value >> (4 * four)) & 15)] += whole
        return voted

    @cython.cfunc
    @cython.nogil
    def _is_lighter(self, first: cython.Py_ssize_t, a: cython.int, b: cython.int) -> cython.bint:
        """Return whether feature a counts for less than feature b: it weighs less, or as much and its word is later."""
        if self.weights[a] != self.weights[b]:
            return self.weights[a] < self.weights[b]
        place_a = self.starts[self.firsts[first + a]]
        place_b = self.starts[self.firsts[first + b]]
        while place_a < self.stops[self.firsts[first + a]] and place_b < self.stops[self.firsts[first + b]]:
            if self.points[place_a] != self.points[place_b]:
                return self.points[place_a] > self.points[place_b]
            place_a += 1
            place_b += 1
        return place_a < self.stops[self.firsts[first + a]]

    @cython.cfunc
    @cython.nogil
    def _keep_heaviest(self, first: cython.Py_ssize_t, used: cython.Py_ssize_t, top: cython.Py_ssize_t) -> cython.void:
        """Put the numbers of the heaviest features into the heap, which has the lightest of them first."""
        for number in range(top):
            self.heap[number] = number
        for place in range(top // 2 - 1, -1, -1):
            self._sink(first, place, self.heap[place], top)
        for number in range(top, used):
            if self._is_lighter(first, self.heap[0], number):
                self._sink(first, 0, number, top)

    @cython.cfunc
    @cython.nogil
    def _sink(
        self, first: cython.Py_ssize_t, at: cython.Py_ssize_t, number: cython.int, top: cython.Py_ssize_t
    ) -> cython.void:
        """Put a number into a place of the heap or below it."""
        child = 2 * at + 1
        while child < top:
            if child + 1 < top and self._is_lighter(first, self.heap[child + 1], self.heap[child]):
                child += 1
            if not self._is_lighter(first, self.heap[child], number):
                break
            self.heap[at] = self.heap[child]
            at = child
            child = 2 * at + 1
        self.heap[at] = number


@cython.cfunc
@cython.nogil
def _weight(
    keys: cython.ulonglong[::1], values: cython.double[::1], other: cython.double, key: cython.ulonglong
) -> cython.double:
    mask: cython.ulonglong = keys.shape[0] - 1
    at: cython.ulonglong = key & mask
    # A free slot has no weight.
    while values[at] != 0.0:
        if keys[at] == key:
            return values[at]
        at = (at + 1) & mask
    return other


def weight_of(
    keys: cython.ulonglong[::1], values: cython.double[::1], other: cython.double, key: cython.ulonglong
) -> cython.double:
    """Return a weight by its hash."""
    return _weight(keys, values, other, key)


def insert_weights(
    keys: cython.ulonglong[::1], values: cython.double[::1], hashes: cython.ulonglong[::1], weights: cython.double[::1]
) -> None:
    """Put weights above 0 into tables of zeros, whose length is a power of two and twice that of the weights."""
    mask: cython.ulonglong = keys.shape[0] - 1
    for number in range(hashes.shape[0]):
        at = hashes[number] & mask
        while values[at] != 0.0 and keys[at] != hashes[number]:
            at = (at + 1) & mask
        keys[at] = hashes[number]
        values[at] = weights[number]


def hash_words(
    points: cython.uint[::1], ends: cython.longlong[::1], seed: cython.ulonglong, hashes: cython.ulonglong[::1]
) -> None:
    """Hash words: word i has the code points from ``ends[i - 1]`` to ``ends[i]``."""
    start: cython.longlong = 0
    with cython.nogil:
        for word in range(ends.shape[0]):
            hashes[word] = _murmur3(points, start, ends[word], seed, False)
            start = ends[word]
