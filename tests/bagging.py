"""The tokens of a bag, its blocks cut as the tables of rows have them cut."""

from itertools import chain

from simhash_hbase.words.ascii import SEPARATOR
from simhash_hbase.words.segment import block_cutter


def all_tokens(bag):
    return bag.tokens + list(chain.from_iterable(map(cut_blocks(bag.blocks).__getitem__, bag.blocks)))


def cut_blocks(blocks):
    """Cut blocks into lists of tokens, by block."""
    if not blocks:
        return {}
    cutter = block_cutter()
    divided = cutter.divided(blocks)
    whole = [block for block in blocks if block not in divided]
    found = {}
    for few, tokens in cutter.cut_many(dict.fromkeys(chain(whole, *divided.values()))):
        found.update(zip(few, parted(tokens), strict=True))
    return found | {block: list(chain.from_iterable(map(found.__getitem__, divided[block]))) for block in divided}


def parted(tokens):
    parts = [[]]
    for token in tokens:
        if token == SEPARATOR:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
