"""The tables that the kernel keeps in the user's cache: others have another version."""

from hashlib import blake2b
from unicodedata import combining, decomposition, unidata_version

import numpy as np
import pytest

from simhash_hbase.features.idf import _jieba_tables
from simhash_hbase.kernel import COMPILED
from simhash_hbase.kernel.normal import varying
from simhash_hbase.kernel.tables import VERSION, make_tables, words_of

CHARACTERS = ("folded", "folded_lists", "kinds", "normal", "normal_lists")
DIGESTS = {
    "characters of Unicode 14": "f4fb0083d500eacc",
    "jieba and bins": "c4d57f2317c01c0f",
    "idf": "52a25ac7c9446dc0",
}


def digest(arrays):
    whole = blake2b(digest_size=8)
    for name, array in sorted(arrays.items()):
        # The last bits of a logarithm are those of the platform.
        numbers = np.round(array, 6) if array.dtype == float else array
        whole.update(f"{name} {array.dtype.str} {array.shape} ".encode() + numbers.tobytes())
    return whole.hexdigest()


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="interpreted, they take half a minute to make")
def test_who_changes_a_table_changes_the_version_too():
    made = make_tables()
    slots = made["trie"].reshape(-1, 2)
    made |= {"trie": slots[:, 0], "weights": slots.view(float)[:, 1]}
    characters = {name: made.pop(name) for name in CHARACTERS}
    digests = {"jieba and bins": digest(made), "idf": digest(_jieba_tables(0))}
    if unidata_version == "14.0.0":
        digests["characters of Unicode 14"] = digest(characters)

    # Where they differ, give `VERSION` its next number, and write down both.
    assert (VERSION, {**DIGESTS, **digests}) == (10, DIGESTS)


def test_a_file_of_words_is_read_to_the_last_digit():
    points, starts, stops, numbers = words_of("é 13.900677652\n数据库 7 nz\n\U00020000a 0.1".encode())

    words = ["".join(map(chr, points[start:stop])) for start, stop in zip(starts, stops, strict=True)]
    assert (words, numbers.tolist()) == (["é", "数据库", "\U00020000a"], [13.900677652, 7.0, 0.1])


@pytest.mark.parametrize("number", ["-1", "1e3", "1234567890123456", "n"])
def test_a_word_without_a_number_is_an_error(number):
    with pytest.raises(ValueError, match="line 2 has no number"):
        words_of(f"一 1\n二 {number}\n".encode())


def test_of_the_characters_that_are_passed_over_none_varies():
    others = set(map(chr, range(0x20000))).difference(varying())

    assert not [c for c in others if c.lower() != c or decomposition(c) or combining(c)]
