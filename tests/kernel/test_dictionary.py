"""The double array of a dictionary holds exactly its words, with the logarithms of their shares."""

from math import log

import numpy as np
import pytest
from hypothesis import given, strategies as st

from simhash_hbase.errors import InvalidProfile
from simhash_hbase.kernel.dictionary import make_dictionary
from simhash_hbase.kernel.segment import CODES, ROOT, SLOT_BITS, WEIGHT_BITS
from simhash_hbase.kernel.tables import words_of

WORDS = st.text(alphabet="一二三四五AaBb1\U00020000", min_size=1, max_size=5)


def made(lines):
    return make_dictionary(*words_of("".join(f"{word} {count}\n" for word, count in lines).encode()))


def stepped(tables, word):
    """Go from the empty beginning along a word; return the number of its weight, None where no word goes on so."""
    slot, unit = ROOT, int(tables["units"][ROOT])
    for character in word:
        before = slot
        slot = (unit >> WEIGHT_BITS) % (1 << SLOT_BITS) + int(tables["codes"][ord(character)])
        unit = int(tables["units"][slot])
        if unit >> (SLOT_BITS + WEIGHT_BITS) != before:
            return None
    return unit % (1 << WEIGHT_BITS)


@given(st.lists(st.tuples(WORDS, st.integers(0, 9)), max_size=30), st.lists(WORDS, max_size=20))
def test_a_dictionary_has_only_its_words(lines, others):
    tables = made([*lines, ("五", 1)])
    counts = dict([*lines, ("五", 1)])
    beginnings = {word[:end] for word in counts for end in range(1, len(word) + 1)}
    total = sum(count for _, count in lines) + 1

    for word in {*counts, *beginnings, *others, *(word + "三" for word in counts)}:
        if max(map(ord, word)) < CODES:
            number = stepped(tables, word)
            assert (number is not None) == (word in beginnings)
            assert bool(number) == bool(counts.get(word))
            if number:
                assert tables["weights"][number] == pytest.approx(log(counts[word] / total))
    assert tables["unknown"].tolist() == [-log(total)]


def test_the_last_characters_of_ascii_words_are_marked_in_both_cases():
    pairs = made([("AT&T", 1), ("c++", 1), ("x", 1), ("A座", 1)])["pairs"].reshape(128, 128)

    marked = {chr(first) + chr(last) for first, last in np.argwhere(pairs).tolist()}
    assert marked == {"&T", "&t", "++"}


def test_a_word_that_is_too_long_is_an_error():
    made([("一" * 60, 1)])
    with pytest.raises(InvalidProfile, match="longer than the kernel holds"):
        made([("一" * 61, 1)])
