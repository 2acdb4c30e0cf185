"""jieba's dictionary as a trie in a double array (Aoe 1989), in which words are looked up character by character.

A node of the trie stands for a beginning (prefix) of words, and has one slot of the array ``units``. The slot of the
prefix that is one character longer is the node's base plus the number of that character; the longer one's unit names
the slot of the shorter one, so that slots of others are told apart. So a step reads eight bytes. The units of jieba's
498,114 prefixes, each with a base and the number of a weight, take 4 MB and the weights 64 KB, which stay in the caches
of processors; a hash table with the weights beside its entries takes 17 MB.
"""

from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidProfile
from simhash_hbase.kernel.segment import CODES, ROOT, SLOT_BITS, WEIGHT_BITS, place_children

_LONGEST_WORD = 60  # Characters: the cutter keeps the probabilities of so many places. The longest of jieba has 16.
_ASCII = 128


def make_dictionary(
    points: NDArray[np.uint32], starts: NDArray[np.uint32], stops: NDArray[np.uint32], counts: NDArray[np.float64]
) -> dict[str, NDArray[Any]]:
    """Make the arrays of words by which `simhash_hbase.kernel.segment.Cutter` cuts texts, from words and frequencies.

    Of entries of one word the last one counts; a frequency of 0 makes it no word.

    Parameters
    ----------
    points : ndarray of uint32
        The characters of all words.
    starts, stops : ndarray of uint32
        Where each word begins in `points`, and where it ends.
    counts : ndarray of float64
        How often each word occurs.

    Raises
    ------
    InvalidProfile
        When a word is longer, or the dictionary larger, than the arrays hold.
    """
    lengths = stops.astype(np.int64) - starts
    if len(lengths) and lengths.max() > _LONGEST_WORD:
        raise InvalidProfile("the dictionary has a word that is longer than the kernel holds")
    words = lengths > 0
    begins, lengths, frequencies = starts[words].astype(np.int64), lengths[words], counts[words].astype(np.int64)
    codes, steps = _codes(points[: stops.max(initial=0)])
    parents, steps, nodes = _beginnings(steps, begins, lengths)
    of_nodes = np.zeros(len(parents) + 1, np.int64)
    # The last of equal words is written last.
    of_nodes[nodes] = frequencies
    unknown = -log(frequencies.sum())
    distinct, weights = np.unique(of_nodes, return_inverse=True)
    # The empty beginning has the frequency 0: so 0 says of any that it is no word.
    logarithms = [0.0, *(log(frequency) + unknown for frequency in distinct[1:].tolist())]
    return {
        "units": _units(parents, steps, weights),
        "codes": codes,
        "weights": np.array(logarithms),
        "unknown": np.array([unknown]),
        "pairs": _pairs(points, begins, lengths),
    }


def _codes(points: NDArray[np.uint32]) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Give numbers to the characters of the dictionary, the most frequent first, from 1 on.

    Return the table from code point to number, 0 for characters in no word, and the numbers of `points`. Code points
    from 65,535 on count as one character, which the cutter never looks up: it looks up Han and ASCII alone.
    """
    table = np.zeros(CODES, np.uint16)
    characters = np.minimum(points, CODES - 1)
    counts = np.bincount(characters, minlength=CODES)
    known = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    table[known] = np.arange(1, len(known) + 1, dtype=np.uint16)
    inner = table[characters].astype(np.int64)
    table[CODES - 1] = 0
    return table, inner


def _beginnings(
    codes: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Give numbers to the beginnings (prefixes) of all words from 1 on, shorter ones first; 0 is the empty prefix.

    Return three arrays: for each prefix the number of the prefix that is one character shorter; for each prefix the
    number of its last character; for each word its own number among the prefixes.
    """
    parents: list[NDArray[np.int64]] = []
    steps: list[NDArray[np.int64]] = []
    nodes = np.zeros(len(starts), np.int64)
    used = 1
    for depth in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > depth)
        keys, numbers = np.unique(nodes[longer] * CODES + codes[starts[longer] + depth], return_inverse=True)
        nodes[longer] = used + numbers
        parents.append(keys // CODES)
        steps.append(keys % CODES)
        used += len(keys)
    nothing = [np.zeros(0, np.int64)]
    return np.concatenate(parents or nothing), np.concatenate(steps or nothing), nodes


def _units(parents: NDArray[np.int64], steps: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Place the prefixes of words in a double array, and return it: the slot before, the base and the weight of each.

    `parents` and `steps`, from prefix 1 on, are those returned by `_beginnings`. `weights`, from prefix 0 on, has the
    number of each one's weight, 0 for a prefix that is no word.
    """
    beginnings = len(parents) + 1
    # The children of a beginning stand side by side, in the order of their codes.
    order = np.argsort(parents, kind="stable")
    first = np.searchsorted(parents[order], np.arange(beginnings))
    count = np.diff(first, append=len(order))
    # Beginnings with most children are placed first; a single child fits into any slot that is left.
    several = np.argsort(-count[1:], kind="stable")[: np.count_nonzero(count[1:] > 1)] + 1
    children, bases = steps[order], np.zeros(beginnings, np.int64)
    last = int(steps.max(initial=0))
    taken = np.zeros(2 * beginnings + 4 * (last + 1) + ROOT, np.uint8)
    taken[: ROOT + 1] = 1
    nodes = np.append(0, several)
    try:
        place_children(*(array.data for array in (nodes, first, count, children, bases, taken)))
    except ValueError as error:
        raise InvalidProfile(str(error)) from error
    slots = np.full(beginnings, ROOT, np.int64)
    is_placed = bases[parents] != 0
    slots[1:][is_placed] = (bases[parents] + steps)[is_placed]
    single = np.flatnonzero(~is_placed)
    free = np.flatnonzero(taken == 0)
    free = free[free > last][: len(single)]
    slots[single + 1] = free
    bases[parents[single]] = free - steps[single]
    if slots.max() + last >= 1 << SLOT_BITS or weights.max() >= 1 << WEIGHT_BITS:
        raise InvalidProfile("the dictionary has more beginnings of words than the kernel holds")
    # From every base a step by any code ends within the array.
    units = np.zeros(int(slots.max()) + CODES, np.uint64)
    owners, places, kinds = (array.astype(np.uint64) for array in (np.append(0, slots[parents]), bases, weights))
    units[slots] = (owners << np.uint64(SLOT_BITS + WEIGHT_BITS)) | (places << np.uint64(WEIGHT_BITS)) | kinds
    return units


def _pairs(points: NDArray[np.uint32], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return a table of the pairs of characters with which ASCII words end, as written and in lower case.

    The entry of a pair is at 128 times the first character plus the second: 1 if some word ends with it.
    """
    pairs = np.zeros(_ASCII * _ASCII, np.uint8)
    others = np.append(0, np.cumsum(points >= _ASCII))
    ends = starts + lengths
    ends = ends[(lengths > 1) & (others[ends] == others[starts])]
    first, last = points[ends - 2].astype(np.int64), points[ends - 1].astype(np.int64)
    for a, b in ((first, last), (_small(first), _small(last))):
        pairs[_ASCII * a + b] = 1
    return pairs


def _small(points: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where((points >= ord("A")) & (points <= ord("Z")), points + (ord("a") - ord("A")), points)
