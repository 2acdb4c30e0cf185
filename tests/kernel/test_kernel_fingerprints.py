"""The kernel's fingerprints, sketches and digests against the slow ways, and against those of its other form."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b

import mmh3
import numpy as np
import pytest
from support.corpora import first_texts
from support.hostile import HOSTILE, everything, special
from support.languages import read_passages
from support.sketching import slow_count, slow_segments, slow_sketch
from support.words import by_features, by_the_kernel, idf_of, word_tokens

from simhash_hbase.features.analyzers import JiebaAnalyzer, LearnedAnalyzer, ShingleAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.kernel import COMPILED
from simhash_hbase.kernel.forms import MAPPED
from simhash_hbase.kernel.kinds import COMPOSED, IGNORABLE, SLOW
from simhash_hbase.kernel.texts import Batch, Weights, canonical, cut, kernel_tables, normalize, word_hashes

PASSAGES = [text for texts in read_passages().values() for text in texts]
# A null character stands between words as any other sign does.
SHORT = [*special(), "录事卡\x00格克", "A\x00B", "\x00", "\x00" * 100 + "的"]
IDF = idf_of(word_tokens(text) for text in [*PASSAGES, *SHORT, "a", "的 a"])
ANALYZERS = [
    JiebaAnalyzer(top=None),
    JiebaAnalyzer(),
    *(JiebaAnalyzer(top=top) for top in (1, 2, 5)),
    LearnedAnalyzer(idf=IDF),
    *(LearnedAnalyzer(idf=IDF, top=top) for top in (1, 3, 40)),
    *(ShingleAnalyzer(size=size) for size in (1, 4, 64)),
    ShingleAnalyzer(size=2, binary=True),
]
SETS = ["lctt_zh_edit", "laws_tw_versions", "laws_tw_en_versions", "graph_zh_v1_beta"]


@pytest.mark.parametrize("analyzer", ANALYZERS, ids=repr)
def test_fingerprints_are_those_of_the_features(analyzer):
    texts = [*SHORT, *PASSAGES[:: 4 if COMPILED else 40]]

    assert by_the_kernel(analyzer, texts) == by_features(analyzer, texts)


def test_the_heaviest_words_are_not_told_without_the_texts():
    words = Batch(["ab cd ef"]).count(folded=True, seed=0).without_texts()
    weights = Weights.of_words([], [], other=1.0, seed=0)

    assert words.vote(weights)[1].tolist() == [3]
    with pytest.raises(ValueError, match="let go of"):
        words.vote(weights, top=1)


@pytest.mark.parametrize("options", [{"seed": 7}, {"seed": 2**32 - 1}, {"hash": "md5"}, {"hash": "jenkins"}], ids=str)
def test_fingerprints_of_each_hash_are_those_of_the_features(options):
    for analyzer in (JiebaAnalyzer(top=3), LearnedAnalyzer(idf=IDF), ShingleAnalyzer()):
        assert by_the_kernel(analyzer, SHORT, **options) == by_features(analyzer, SHORT, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_fingerprints_of_real_documents_are_those_of_the_features(name):
    texts = first_texts(name, 100 if COMPILED else 3)

    for analyzer in (JiebaAnalyzer(), LearnedAnalyzer(idf=idf_of(map(word_tokens, texts)), top=100)):
        assert by_the_kernel(analyzer, texts) == by_features(analyzer, texts)


@pytest.mark.slow
def test_of_features_that_weigh_the_same_those_count_whose_words_come_first():
    chance = random.Random(3)
    # None is in a table: the weight is the count. Some are beginnings of others, some beyond 1,024 characters.
    words = [
        stem + end
        for stem in ("zq", "zqé", "zq\U0001f130x", "wz" * 600, "wz" * 600 + "q")
        for end in ("", "b", "a", "ab")
    ]
    for top in (1, 2, 3, 7):
        texts = [" ".join(chance.choices(words, k=14)) for _ in range(20)]
        for analyzer in (JiebaAnalyzer(top=top), LearnedAnalyzer(idf=IDF, top=top)):
            assert by_the_kernel(analyzer, texts) == by_features(analyzer, texts)


@pytest.mark.slow
def test_sketches_are_what_the_specification_says():
    texts = [*SHORT, *PASSAGES[::16]]
    sketched = Batch(texts).sketch(6, 4)

    assert [int.from_bytes(row.astype(">u8").tobytes(), "big") for row in sketched.sketches] == list(
        map(slow_sketch, texts)
    )
    assert sketched.segments.tolist() == [slow_segments(text, 6, 4) for text in texts]
    assert sketched.shingles.tolist() == list(map(slow_count, texts))
    assert Batch(texts).normal_forms() == list(map(normalize, texts))
    assert sketched.sizes.tolist() == [len(normalize(text)) for text in texts]
    assert sketched.digests == [blake2b(normalize(text).encode(), digest_size=16).digest() for text in texts]


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_get_the_same_results_by_the_kernel(kind):
    text = HOSTILE[kind][:20_000]

    for analyzer in (JiebaAnalyzer(), LearnedAnalyzer(idf=IDF, top=2), ShingleAnalyzer()):
        assert by_the_kernel(analyzer, [text]) == by_features(analyzer, [text])
    assert Batch([text]).sketch().digests == [blake2b(normalize(text).encode(), digest_size=16).digest()]
    assert Batch([text, text[:9]]).normal_forms() == [normalize(text), normalize(text[:9])]
    assert "".join(cut(text)) == text


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_large_hostile_texts_are_analysed(kind):
    batch = Batch([HOSTILE[kind]])

    assert batch.count(folded=True, seed=0).offsets[-1] >= 0
    assert batch.sketch().sizes[0] <= 18 * len(HOSTILE[kind])


def test_a_batch_of_nothing_has_no_rows():
    batch = Batch([])

    assert batch.count(folded=True, seed=0).offsets.tolist() == [0]
    assert batch.sketch(6, 4).segments.shape == (0, 6)
    assert by_the_kernel(JiebaAnalyzer(), []) == []


def characters(*, without):
    """List the first characters but those of a kind."""
    return list(map(chr, np.flatnonzero(kernel_tables()["kinds"][:MAPPED] & without == 0).tolist()))


@pytest.mark.slow
def test_each_character_whose_normal_form_is_in_the_table_has_its_normal_form():
    some = characters(without=SLOW)
    texts = ["".join(f"a{character}ｶ" for character in some[at : at + 200]) for at in range(0, len(some), 200)]

    assert Batch(texts).normal_forms() == list(map(normalize, texts))


@pytest.mark.slow
def test_each_character_whose_folded_form_is_in_the_table_has_its_folded_form():
    some = [character for character in characters(without=SLOW) if not "\u3400" <= character <= "\uabff"]
    assert len(some) > 5_000
    for at in range(0, len(some), 200):
        text = " ".join(f"a{character}b，{character}1" for character in some[at : at + 200])
        counted = Batch([text]).count(folded=True, seed=0)

        assert dict(zip(counted.words(), counted.counts.tolist(), strict=True)) == Counter(word_tokens(text))


def test_a_character_that_is_not_composed_leaves_a_text_as_it_is():
    some = characters(without=COMPOSED | IGNORABLE)
    text = "".join(f"e{character}b，{character}1" for character in some)

    assert len(some) > 100_000
    assert canonical(text, folded=False) == text


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_words_are_hashed_by_murmur3(seed):
    chance = random.Random(1)
    alphabets = ["abc", "é", "中文", "\U00020000", "aé中\U00020000"]
    words = [
        "".join(chance.choices(alphabet, k=size)) for alphabet in alphabets for size in [*range(42), 100, 1024, 2000]
    ]

    assert {len(word.encode()) for word in words} >= set(range(41))
    assert word_hashes(words, seed).tolist() == [
        mmh3.hash64(word.encode(), seed=seed, signed=False)[0] for word in words
    ]


def test_a_table_gives_each_word_its_weight():
    words = {f"word{number}": 1.0 + number for number in range(3_000)}
    weights = Weights.of_words(list(words), list(words.values()), other=0.25, seed=3)

    assert {word: weights.weight(word) for word in words} == words
    assert {weights.weight(f"other{number}") for number in range(1_000)} == {0.25}


def test_threads_give_the_same():
    texts = [*PASSAGES, *SHORT] * 3 if COMPILED else SHORT
    fingerprinter = Fingerprinter(LearnedAnalyzer(idf=IDF, top=20))

    def analysed(some):
        sketched = Batch(some).sketch(6, 4)
        return [column.tolist() for column in (*fingerprinter.fingerprint_many(some), *sketched[:3])]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(analysed, [texts] * 4))

    assert found == [analysed(texts)] * 4


@pytest.mark.slow
def test_compiled_and_interpreted_give_the_same_bytes():
    program = "import json; from simhash_hbase.kernel import COMPILED; from support.hostile import everything"
    program += "; print(COMPILED); print(json.dumps(everything()))"
    paths = {"PYTHONPATH": os.pathsep.join(sys.path), "SIMHASH_HBASE_PURE": "1" if COMPILED else ""}
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, env={**os.environ, **paths}, capture_output=True, text=True, check=True)
    is_compiled, made = done.stdout.splitlines()

    # Where nothing is compiled, these are two processes of the same form.
    assert (is_compiled, COMPILED) != ("True", True)
    assert json.loads(made) == json.loads(json.dumps(everything()))


@pytest.mark.parametrize("length", [0, 1, 10**6])
def test_a_text_that_lies_about_its_length_is_the_string_that_it_is(length):
    class Text(str):
        __slots__ = ()

        def __len__(self):
            return length

    assert Batch([Text("天地玄黄宇宙洪荒")]).sketch().digests == Batch(["天地玄黄宇宙洪荒"]).sketch().digests
