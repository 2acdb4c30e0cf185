"""The readers on the page of the table: they need a table of happybase, not the package."""

import random

import numpy as np
import pytest
from demo import chinese
from support.fresh_clone import blocks

from simhash_hbase import create_index


class Table:
    """A store as happybase shows a table."""

    def __init__(self, store):
        self._store = store

    def row(self, key, columns):
        family, _, qualifier = columns[0].partition(b":")
        [cells] = self._store.get_rows(family.decode(), [key], limit=1_000)
        return {family + b":" + c.qualifier: c.value for c in cells if not qualifier or c.qualifier == qualifier}

    def scan(self, row_prefix, columns):
        prefix = int.from_bytes(row_prefix, "big")
        found = self._store.scan(np.array([prefix], np.uint64), limit=1_000).rows
        return [(row_prefix + simhash.to_bytes(8, "big"), {}) for simhash in found.simhashes.tolist()]


@pytest.mark.parametrize(
    "options", [{}, {"scheme": "4x1", "bands": 0}, {"scheme": "8x4", "similarity": 0.9}, {"near": "text"}]
)
def test_the_reader_of_the_page_finds_what_a_query_finds(options):
    names = {}
    exec(blocks("python")["verified"], names)
    chosen = random.Random(4)
    texts = {text.id: text.text for text in chinese()[:60]}
    texts |= {f"{name}#cut": text[: chosen.randrange(len(text))] + text[-30:] for name, text in texts.items()}
    texts |= {f"{name}#edited": text.replace(chosen.choice(text), "。") for name, text in texts.items()}
    texts |= {"short": "早安", "short again": "早安"}

    with create_index("memory:", analyzer="shingle", **options) as index:
        for name, text in texts.items():
            index.add(name, text)
        index.remove(next(iter(texts)))
        asked = [stored.id for stored in index.export()]
        expected = {name: {match.id for match in index.query_id(name).matches} for name in asked}

        assert {name: names["verified"](Table(index.store), name) for name in asked} == expected
        assert sum(map(len, expected.values())) > 50


def test_the_reader_of_clues_finds_what_find_finds():
    names = {}
    exec(blocks("python")["holders"], names)
    texts = {each.id: each.text for each in chinese()[:20]}
    clue = "".join(filter(str.isalnum, next(iter(texts.values()))))[40:85]
    with create_index("memory:", analyzer="shingle", passages=30) as index:
        for name, text in [*texts.items(), ("quoting", "别的话。" + clue + "，到此为止。"), ("short", "早安")]:
            index.add(name, text)
        index.add("gone", clue)
        index.remove("gone")
        expected = {match.id for match in index.find(clue).matches}

        assert set(names["holders"](Table(index.store), clue)) == expected >= {next(iter(texts)), "quoting"}
