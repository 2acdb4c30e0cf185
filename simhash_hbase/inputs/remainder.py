"""The remainder of a page: its sentences outside of the main text, kept as a few hashes to be compared.

Pages with one article in several site templates have one main text and should count as copies. Two pages whose articles
the extractor missed should not: their main text is the same notice, and their articles are in the remainders.
"""

from collections.abc import Iterable
from heapq import nsmallest

from simhash_hbase.rows.digests import blake2b

HASH_BYTES = 8
HASHES = 8


def sketch_remainder(sentences: Iterable[str]) -> bytes:
    """Return the bytes of the eight smallest hashes of the sentences, ascending, by which two sets can be compared."""
    encoded = (sentence.encode("utf-8", "surrogatepass") for sentence in sentences)
    return b"".join(nsmallest(HASHES, {blake2b(each, digest_size=HASH_BYTES).digest() for each in encoded}))


def remainders_differ(one: bytes, other: bytes) -> bool:
    """Return whether two pages' remainders, as sketches of `sketch_remainder`, are different texts.

    They are if, as estimated, less than half of all their sentences are in both.

    Examples
    --------
    >>> ferry, bread = sketch_remainder(["The ferry is back."]), sketch_remainder(["Bread takes time."])
    >>> remainders_differ(ferry, ferry), remainders_differ(ferry, bread)
    (False, True)
    """
    left, right = _hashes(one), _hashes(other)
    smallest = nsmallest(HASHES, left | right)
    return 2 * sum(each in left and each in right for each in smallest) < len(smallest)


def _hashes(sketch: bytes) -> set[bytes]:
    return {sketch[at : at + HASH_BYTES] for at in range(0, len(sketch), HASH_BYTES)}
