"""The tables that the kernel keeps in the user's cache: others have another version."""

from hashlib import blake2b
from unicodedata import unidata_version

import numpy as np
import pytest

from simhash_hbase.features.idf import _jieba_tables
from simhash_hbase.kernel import COMPILED
from simhash_hbase.kernel.tables import VERSION, make_tables

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
