"""Cuts texts into words: Chinese as jieba does (jieba 0.42.1, MIT licence), other scripts by Unicode's rules (UAX #29).

A word of another script is a run of letters, digits and marks as UAX #29 cuts them, with apostrophes, colons and full
stops between letters, that holds at least one character outside ASCII: so the ASCII letters of ``président`` belong to
it, and pure ASCII is jieba's. Scripts that put no blanks between words (kana, Thai, Lao, Burmese, Khmer and their
neighbours) become runs of characters that overlap, each a letter with its marks: pairs of kana, pairs or runs of three
of the others, whose letters are few.

The rest of a text is cut as ``jieba.lcut`` cuts it. Blocks of Han and ASCII are cut along the path of the greatest
probability through the dictionary; consecutive single characters that are no word go through the hidden Markov model.
Sums of logarithms are added in jieba's order, and of two equal ones the later wins as in jieba, so that tokens are the
same.
"""

from __future__ import annotations

from simhash_hbase.kernel import uncompiled as cython
from simhash_hbase.kernel.kinds import (
    BLANKLESS,
    DIGIT,
    EXTENDS,
    HAN_FIRST,
    HAN_LAST,
    HEBREW,
    HIRAGANA,
    KATAKANA,
    MARK,
    MID_LETTER,
    MID_NUMBER,
    PART,
    UNSPACED,
    WORD,
)

JIEBA_TOKENS = 0  # Every token of ``jieba.lcut``, blanks and punctuation among them.
TOKENS = 1  # The same, with the words of other scripts.
WORDS = 2  # Only tokens that hold a word character (``\w``).
KEYWORDS = 3  # Tokens of two characters or more, as ``jieba.analyse`` takes them.
FOLDED_WORDS = 4  # `WORDS` of a text in lower case: the dictionary has AT&T and IP地址 in capitals.

_GOLDEN = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
_ALL_BITS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)  # Interpreted, no product wraps.
# Kinds of characters:
_WORD = cython.declare(cython.int, WORD)
_PART = cython.declare(cython.int, PART)
_DIGIT = cython.declare(cython.int, DIGIT)
_MARK = cython.declare(cython.int, MARK)
_HIRAGANA = cython.declare(cython.int, HIRAGANA)
_KATAKANA = cython.declare(cython.int, KATAKANA)
_UNSPACED = cython.declare(cython.int, UNSPACED)
_EXTENDS = cython.declare(cython.int, EXTENDS)
_MID_LETTER = cython.declare(cython.int, MID_LETTER)
_MID_NUMBER = cython.declare(cython.int, MID_NUMBER)
_HEBREW = cython.declare(cython.int, HEBREW)
_FOREIGN = cython.declare(cython.int, PART | BLANKLESS)
_HAN_FIRST = cython.declare(cython.uint, HAN_FIRST)
_HAN_LAST = cython.declare(cython.uint, HAN_LAST)
# The modes, as constants of C:
_TOKENS = cython.declare(cython.int, TOKENS)
_WORDS = cython.declare(cython.int, WORDS)
_KEYWORDS = cython.declare(cython.int, KEYWORDS)
_FOLDED_WORDS = cython.declare(cython.int, FOLDED_WORDS)
# A unit of the dictionary has the slot from which one steps to it, the base of the steps from it, 0 if there are none,
# and its weight by number, 0 if it is no word.
ROOT = 1  # The slot of the empty beginning of words.
SLOT_BITS = 21
WEIGHT_BITS = 22
CODES = 65_536  # Numbers of characters.
_ROOT = cython.declare(cython.ulonglong, ROOT)
_OWNER_SHIFT = cython.declare(cython.int, SLOT_BITS + WEIGHT_BITS)
_BASE_SHIFT = cython.declare(cython.int, WEIGHT_BITS)
_BASE_MASK = cython.declare(cython.ulonglong, (1 << SLOT_BITS) - 1)
_WEIGHT_MASK = cython.declare(cython.ulonglong, (1 << WEIGHT_BITS) - 1)
_WINDOW = cython.declare(cython.Py_ssize_t, 63)  # A ring of 64 sums: a word reaches fewer places ahead than that.


def read_words(
    octets: cython.uchar[::1],
    points: cython.uint[::1],
    starts: cython.uint[::1],
    stops: cython.uint[::1],
    numbers: cython.double[::1],
) -> None:
    """Read words and numbers from a file in UTF-8, a line for each: word, blank, number, and perhaps a blank and more.

    The results are written into the arrays passed: the code points of all words, where each word starts and stops, and
    its number. A number has at most 15 digits: then digits / 10**decimals is the correctly rounded double.
    """
    used: cython.uint = 0
    place: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = octets.shape[0]
    for line in range(starts.shape[0]):
        starts[line] = used
        while place < end and octets[place] != 32:
            point: cython.uint = octets[place]
            size = 1 if point < 0x80 else 2 if point < 0xE0 else 3 if point < 0xF0 else 4
            if size > 1:
                point &= 0x7F >> size
            for at in range(place + 1, min(place + size, end)):
                point = (point << 6) | (octets[at] & 63)
            points[used] = point
            used += 1
            place += size
        stops[line] = used
        place += 1
        digits: cython.longlong = 0
        units: cython.double = 0.0
        while place < end and octets[place] != 32 and octets[place] != 10:
            if octets[place] == 46:
                units = 1.0
            elif 48 <= octets[place] <= 57 and digits < 100000000000000:
                digits = 10 * digits + octets[place] - 48
                units *= 10.0
            else:
                raise ValueError(f"line {line + 1} has no number of at most 15 digits behind its word")
            place += 1
        numbers[line] = digits / max(units, 1.0)
        while place < end and octets[place] != 10:
            place += 1
        place += 1


def place_children(
    nodes: cython.longlong[::1],
    first: cython.longlong[::1],
    count: cython.longlong[::1],
    codes: cython.longlong[::1],
    bases: cython.longlong[::1],
    taken: cython.uchar[::1],
) -> None:
    """Choose the base of each of these nodes of a trie, so that all children get different slots of a double array.

    Node n has the children ``codes[first[n] : first[n] + count[n]]``, in ascending order; the child with code c gets
    the slot ``bases[n] + c``, which is marked in `taken`. Nodes with more children come first. Slots that did not fit
    one of them are tried again for those with a fifth fewer.
    """
    free: cython.Py_ssize_t = 1
    slot: cython.Py_ssize_t = 1
    before: cython.longlong = 0
    for at in range(nodes.shape[0]):
        node = nodes[at]
        begin: cython.Py_ssize_t = first[node]
        end: cython.Py_ssize_t = begin + count[node]
        if begin == end:
            continue
        while taken[free]:
            free += 1
        if 5 * count[node] <= 4 * before or before == 0:
            slot = free
            before = count[node]
        slot = max(slot, free, codes[begin] + 1)
        fits: cython.bint = False
        while not fits:
            if slot + codes[end - 1] - codes[begin] >= taken.shape[0]:
                raise ValueError("the dictionary has more beginnings of words than the kernel holds")
            fits = True
            for child in range(begin, end):
                if taken[slot + codes[child] - codes[begin]]:
                    fits = False
                    slot += 1
                    break
        bases[node] = slot - codes[begin]
        for child in range(begin, end):
            taken[bases[node] + codes[child]] = 1


@cython.cfunc
@cython.nogil
def _is_alphanumeric(point: cython.uint) -> cython.bint:
    return 48 <= point <= 57 or 97 <= point <= 122 or 65 <= point <= 90


@cython.cfunc
@cython.nogil
def _is_han(point: cython.uint) -> cython.bint:
    return _HAN_FIRST <= point <= _HAN_LAST


@cython.cfunc
@cython.nogil
def _is_in_block(point: cython.uint) -> cython.bint:
    """Return whether jieba looks a character up in its dictionary: Han, ASCII letters and digits, and ``+#&._%-``."""
    if point > 122:
        return _is_han(point)
    return _is_alphanumeric(point) or (
        point == 43 or point == 35 or point == 38 or point == 46 or point == 95 or point == 37 or point == 45
    )


@cython.final
@cython.cclass
class Cutter:
    """Cuts texts into tokens (words) by one dictionary; only one thread at a time may use it.

    Its tables are: ``units``, a double array of words; ``codes``, the number of each character, 0 if no word has it;
    ``weights``, the logarithms of words' shares of all occurrences, by number; ``pairs``, whether a word of ASCII ends
    with two characters, or with these in lower case, at 128 times the first one plus the second one; ``model``, the
    logarithms of jieba's hidden Markov model, states in the order B, E, M, S: 4 of the beginning, 16 of the steps, 4 of
    each character; ``kinds`` of each code point; ``unknown``, the logarithm of the share of a word that occurs once.
    """

    units: cython.ulonglong[::1]
    codes: cython.ushort[::1]
    weights: cython.double[::1]
    base: cython.ulonglong  # The base of the steps to first characters.
    model: cython.double[::1]
    pairs: cython.uchar[::1]
    kinds: cython.ushort[::1]
    unknown: cython.double
    mode: cython.int
    unspaced: cython.int
    # Scratch: the best sum from each place on, the length of the best path's word there, and the model's ways back.
    sums: cython.double[::1]
    lengths: cython.uchar[::1]
    ways: cython.uchar[::1]
    points: cython.uint[::1]
    starts: cython.uint[::1]
    stops: cython.uint[::1]
    tokens: cython.Py_ssize_t

    def __init__(self, tables: dict[str, memoryview]) -> None:
        self.units = tables["units"]
        self.codes = tables["codes"]
        self.base = self._base(self.units[_ROOT])
        self.weights = tables["weights"]
        self.model = tables["model"]
        self.pairs = tables["pairs"]
        self.kinds = tables["kinds"]
        self.unknown = tables["unknown"][0]
        self.sums = memoryview(bytearray(8 * 64)).cast("d")

    def cut(
        self,
        points: cython.uint[::1],
        offsets: cython.longlong[::1],
        mode: cython.int,
        tokens: tuple[memoryview, ...],
        *,
        unspaced: cython.int,
    ) -> None:
        """Cut texts into tokens; text i has the code points from ``offsets[i]`` to ``offsets[i + 1]``.

        `mode` is a constant of this module such as `WORDS`, which says what tokens are kept. Scripts of South East Asia
        without blanks become runs of `unspaced` characters. The buffers `tokens` are filled: start and stop of each
        token (uint32, as long as `points`), and for each text the number of tokens before it (int64). Typographic
        apostrophes in words of other scripts are replaced by those of ASCII.
        """
        self.points = points
        self.mode = mode
        self.unspaced = unspaced
        before: cython.longlong[::1]
        longest: cython.Py_ssize_t = 1
        for text in range(offsets.shape[0] - 1):
            longest = max(longest, offsets[text + 1] - offsets[text])
        self.lengths = memoryview(bytearray(longest))
        self.ways = memoryview(bytearray(longest))
        self.starts, self.stops, before = tokens
        with cython.nogil:
            self.tokens = 0
            before[0] = 0
            for text in range(offsets.shape[0] - 1):
                self._cut_text(offsets[text], offsets[text + 1])
                before[text + 1] = self.tokens

    @cython.cfunc
    @cython.nogil
    def _emit(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.void:
        """Append the token [start, stop) to the results, unless `mode` leaves it out (no word, or too short)."""
        if self.mode == _WORDS or self.mode == _FOLDED_WORDS:
            place = start
            while place < stop and not self.kinds[self.points[place]] & _WORD:
                place += 1
            if place == stop:
                return
        elif self.mode == _KEYWORDS and stop - start < 2:
            return
        self.starts[self.tokens] = start
        self.stops[self.tokens] = stop
        self.tokens += 1

    @cython.cfunc
    @cython.nogil
    def _cut_text(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Cut one text into tokens: words of other scripts by Unicode's rules, all between them as jieba does."""
        kinds: cython.int = 0
        if self.mode >= _TOKENS:
            for place in range(start, end):
                kinds |= self.kinds[self.points[place]]
        place = start if kinds & _FOREIGN else end
        while place < end:
            kind = self.kinds[self.points[place]]
            stop = place + 1
            if self._is_in_word(place) and not kind & _MARK:
                kinds = kind
                while stop < end and (self._is_in_word(stop) or self._is_in_middle(stop, end)):
                    kinds |= self.kinds[self.points[stop]]
                    stop += 1
                if kinds & _PART:
                    self._cut_known(start, place)
                    start = stop
                    for at in range(place, stop):
                        if 0x2018 <= self.points[at] <= 0x2019:
                            self.points[at] = 39  # The apostrophe of ASCII.
                    self._emit(place, stop)
            elif kind & (_HIRAGANA | _KATAKANA | _UNSPACED) and (kind & _UNSPACED or not kind & _EXTENDS):
                # The mark of a long vowel is of both kana, and goes with the character before it.
                kind &= _HIRAGANA if kind & _HIRAGANA else _KATAKANA | _UNSPACED
                while stop < end and self.kinds[self.points[stop]] & kind:
                    stop += 1
                self._cut_known(start, place)
                start = stop
                self._emit_runs(place, stop, 2 if kind & (_HIRAGANA | _KATAKANA) else self.unspaced)
            place = stop
        self._cut_known(start, end)

    @cython.cfunc
    @cython.nogil
    def _is_in_word(self, place: cython.Py_ssize_t) -> cython.bint:
        """Return whether the character at `place` can be part of a word by Unicode's rules, as letters and digits."""
        point: cython.uint = self.points[place]
        return (self.kinds[point] & _PART) != 0 or _is_alphanumeric(point) or point == 95

    @cython.cfunc
    @cython.nogil
    def _is_in_middle(self, place: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        """Return whether the punctuation at `place` is inside a word, as the apostrophe in ``l’été`` (UAX #29)."""
        point: cython.uint = self.points[place]
        kind: cython.int = self.kinds[point]
        if not (kind & (_MID_LETTER | _MID_NUMBER) or point == 34):
            return False
        if place + 1 == end or not self._is_in_word(place + 1):
            return False
        before = self.kinds[self.points[place - 1]]
        after = self.kinds[self.points[place + 1]]
        if kind & _MID_LETTER and not (before & _DIGIT or after & (_DIGIT | _MARK)):
            if self.points[place - 1] != 95 and self.points[place + 1] != 95:
                return True
        if kind & _MID_NUMBER and before & (_DIGIT | _MARK) and after & _DIGIT:
            return True
        return point == 34 and before & (_HEBREW | _MARK) != 0 and after & _HEBREW != 0

    @cython.cfunc
    @cython.nogil
    def _emit_runs(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, size: cython.int) -> cython.void:
        """Append all overlapping runs of `size` letters, with their marks, as tokens; fewer letters are one token."""
        first: cython.Py_ssize_t = start
        held: cython.int = 0
        for place in range(start + 1, stop + 1):
            if place == stop or not self.kinds[self.points[place]] & _EXTENDS:
                held += 1
                if held == size:
                    self._emit(first, place)
                    held -= 1
                    first += 1
                    while first < stop and self.kinds[self.points[first]] & _EXTENDS:
                        first += 1
        if first == start:
            self._emit(start, stop)

    @cython.cfunc
    @cython.nogil
    def _cut_known(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Cut a stretch of a text as jieba does: Han and ASCII by the dictionary, other characters one by one."""
        place: cython.Py_ssize_t = start
        while place < end:
            stop = place + 1
            if _is_in_block(self.points[place]):
                has_words: cython.bint = self.points[place] >= 128
                while stop < end and _is_in_block(self.points[stop]):
                    if not has_words:
                        has_words = (
                            self.points[stop] >= 128 or self.pairs[128 * self.points[stop - 1] + self.points[stop]] != 0
                        )
                    stop += 1
                if has_words:
                    self._cut_block(place, stop)
                else:
                    # The best path leaves all of it single: English takes a third of the time.
                    self._cut_ascii(place, stop)
            else:
                if self.points[place] == 13 and stop < end and self.points[stop] == 10:
                    stop += 1
                # A line's end of two characters is no word.
                if stop - place == 1 or self.mode <= _TOKENS:
                    self._emit(place, stop)
            place = stop

    @cython.cfunc
    @cython.nogil
    def _cut_block(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.void:
        """Cut a block of Han and ASCII into words of the dictionary, so that their product of probabilities is largest.

        The sums of the words' logarithms are computed from the block's end to its beginning.
        """
        self.sums[stop & _WINDOW] = 0.0
        for place in range(stop - 1, start - 1, -1):
            reached = place + 1
            is_known: cython.bint = False
            best = 0.0
            length = 1
            owner = _ROOT
            slot = self.base + self._code(place)
            unit = self.units[slot]
            while unit >> _OWNER_SHIFT == owner:
                if unit & _WEIGHT_MASK:
                    total = self.weights[unit & _WEIGHT_MASK] + self.sums[reached & _WINDOW]
                    if not is_known or total >= best:
                        best = total
                        length = reached - place
                        is_known = True
                if reached == stop or self._base(unit) == 0:
                    break
                owner = slot
                slot = self._base(unit) + self._code(reached)
                unit = self.units[slot]
                reached += 1
            if not is_known:
                best = self.unknown + self.sums[(place + 1) & _WINDOW]
            self.sums[place & _WINDOW] = best
            self.lengths[place - start] = length
        place = start
        singles: cython.Py_ssize_t = start  # Where the single characters before this place begin.
        while place < stop:
            length = self.lengths[place - start]
            if length > 1:
                self._cut_singles(singles, place)
                self._emit(place, place + length)
                singles = place + length
            place += length
        self._cut_singles(singles, stop)

    @cython.cfunc
    @cython.nogil
    def _code(self, place: cython.Py_ssize_t) -> cython.ulonglong:
        """Return the number of the character at `place` in the dictionary, 0 if no word of it has the character."""
        point: cython.uint = self.points[place]
        return self.codes[point - 32 if 97 <= point <= 122 and self.mode == _FOLDED_WORDS else point]

    @cython.cfunc
    @cython.nogil
    def _base(self, unit: cython.ulonglong) -> cython.ulonglong:
        return (unit >> _BASE_SHIFT) & _BASE_MASK

    @cython.cfunc
    @cython.nogil
    def _cut_singles(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.void:
        """Cut consecutive characters that the dictionary left single: Han by the model, ASCII by its own rule.

        If together they are a word of the dictionary, each remains a token by itself, as in jieba.
        """
        if stop - start == 1 or (stop > start and self._is_word(start, stop)):
            for place in range(start, stop):
                self._emit(place, place + 1)
            return
        while start < stop:
            is_han: cython.bint = _is_han(self.points[start])
            place = start
            while place < stop and _is_han(self.points[place]) == is_han:
                place += 1
            if is_han:
                self._cut_by_model(start, place)
            else:
                self._cut_ascii(start, place)
            start = place

    @cython.cfunc
    @cython.nogil
    def _is_word(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.bint:
        slot = _ROOT
        unit = self.units[slot]
        for place in range(start, stop):
            owner = slot
            # If no longer word begins so, the base is 0, and the slot that it leads to has another owner.
            slot = self._base(unit) + self._code(place)
            unit = self.units[slot]
            if unit >> _OWNER_SHIFT != owner:
                return False
        return (unit & _WEIGHT_MASK) != 0

    @cython.cfunc
    @cython.nogil
    def _cut_ascii(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Cut ASCII into words and numbers, with decimals and a percent sign, and the other characters between them."""
        while start < end:
            stop = start
            if _is_alphanumeric(self.points[start]):
                while stop < end and _is_alphanumeric(self.points[stop]):
                    stop += 1
                if stop + 1 < end and self.points[stop] == 46 and 48 <= self.points[stop + 1] <= 57:
                    stop += 2
                    while stop < end and 48 <= self.points[stop] <= 57:
                        stop += 1
                if stop < end and self.points[stop] == 37:
                    stop += 1
            else:
                while stop < end and not _is_alphanumeric(self.points[stop]):
                    stop += 1
            self._emit(start, stop)
            start = stop

    @cython.cfunc
    @cython.nogil
    def _cut_by_model(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.void:
        """Cut consecutive Han into words by jieba's hidden Markov model, along its likeliest states (Viterbi).

        The states of a character are beginning (B), middle (M) or end (E) of a word, or a word by itself (S). Each
        state follows one of two: B and S follow E or S, M and E follow B or M. Bits 0 to 3 of a character's way back
        say for B, E, M and S whether it follows the later one.
        """
        model = self.model
        at: cython.Py_ssize_t = 20 + 4 * (self.points[start] - _HAN_FIRST)
        ways: cython.int = 0
        state: cython.int = 0
        before: cython.double[4] = [0.0, 0.0, 0.0, 0.0]
        after: cython.double[4] = [0.0, 0.0, 0.0, 0.0]
        for state in range(4):
            before[state] = model[state] + model[at + state]
        for place in range(start + 1, stop):
            at = 20 + 4 * (self.points[place] - _HAN_FIRST)
            ways = 0
            for state in range(4):
                # Steps: model[4 + 4 * from + to].
                other = 1 if state == 0 or state == 3 else 0
                first = before[other] + model[4 + 4 * other + state] + model[at + state]
                second = before[other + 2] + model[12 + 4 * other + state] + model[at + state]
                after[state] = max(first, second)
                ways |= (second >= first) << state
            for state in range(4):
                before[state] = after[state]
            self.ways[place - start] = ways
        state = 3 if before[3] >= before[1] else 1
        # Each way back is replaced by whether a word ends there.
        for place in range(stop - 1, start - 1, -1):
            ways = self.ways[place - start] >> state
            self.ways[place - start] = state & 1
            state = (1 if state == 0 or state == 3 else 0) + 2 * (ways & 1)
        begin = start
        for place in range(start, stop):
            if self.ways[place - start] or place == stop - 1:
                self._emit(begin, place + 1)
                begin = place + 1
