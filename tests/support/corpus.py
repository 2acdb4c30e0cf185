"""Texts made for the tests: unrelated documents, and near copies of them."""

import gzip
import json
import random
from functools import lru_cache

SYLLABLES = ["ka", "no", "shi", "ra", "mu", "te", "lo", "vi", "sa", "du", "pe", "ri"]


def words(count, seed):
    chosen = random.Random(seed)
    return ["".join(chosen.choices(SYLLABLES, k=chosen.randint(2, 4))) for _ in range(count)]


@lru_cache(maxsize=10_000)
def text(seed, *, count=500, changed=0):
    """Make a text of so many words; the first few may be other ones."""
    made = words(count, seed)
    return " ".join([*words(changed, f"{seed} changed {changed}"), *made[changed:]])


def near_copies(groups, copies):
    """Make groups of documents that differ in a word each."""
    return [
        {"id": f"group {group} copy {copy}", "text": text(group, changed=copy)}
        for group in range(groups)
        for copy in range(copies)
    ]


def write_jsonl(path, records):
    data = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def forms(count):
    """Return pages of one template about different things, whose names outweigh the words that every page has."""
    chance = random.Random(5)
    template, *things = (
        " ".join("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(words))
        for words in (80, *(8,) * count)
    )
    return [f"{template} {thing} {thing} {thing}" for thing in things]
