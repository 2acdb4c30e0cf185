"""The demonstration corpus, and what de-duplicating it finds."""

import json
import random
from itertools import combinations

import pytest
from demo import EDITS, chinese, documents
from show import main
from support.corpus import write_jsonl
from support.sketching import jaccard

from simhash_hbase.api import create_index

ENGLISH = "The tide rises twice a day. The moon pulls it. When the wind is strong, it may be higher. Boats wait."
SIMPLIFIED = "如果下雨，可以不去。雨停以后，路上已经没有人。忽然来了一辆车。"


@pytest.fixture(scope="module")
def corpus():
    return list(documents())


@pytest.fixture(scope="module")
def decisions(corpus):
    with create_index("memory:", learn_from=[text.text for text in corpus]) as index:
        entries = index.analysis.texts([text.id for text in corpus], [text.text for text in corpus]).entries
        return {decision.id: decision for decision in index.dedup_entries(entries, index.deduplicator())}


def test_there_are_forty_chinese_texts_of_a_few_hundred_characters_none_like_another():
    texts = chinese()

    assert len(texts) >= 40
    assert all(200 <= len(text.text) <= 600 for text in texts)
    assert sum(text.lang == "zh-Hant" for text in texts) >= 5
    assert all(jaccard(a.text, b.text) < 0.2 for a, b in combinations(texts, 2))


@pytest.mark.slow
def test_every_exact_copy_is_found(corpus, decisions):
    exact = [text.id for text in corpus if text.id.endswith("#copied")]

    assert len(exact) >= 20
    assert not any(decisions[name].is_original for name in exact)


@pytest.mark.slow
def test_no_chinese_article_is_a_copy_of_another(decisions):
    assert all(decisions[text.id].is_original for text in chinese())


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_six_of_ten_edited_copies_are_found_at_least(corpus, decisions, lang):
    edited = [text.id for text in corpus if "#" in text.id and text.lang.startswith(lang)]

    assert len(edited) >= 20
    assert sum(decisions[name].of == name.partition("#")[0] for name in edited) >= 0.6 * len(edited)


@pytest.mark.parametrize("kind", sorted(EDITS))
@pytest.mark.parametrize(("lang", "text"), [("en", ENGLISH), ("zh-Hans", SIMPLIFIED)])
def test_an_edit_changes_a_text_unless_it_is_a_copy(kind, lang, text):
    edited = EDITS[kind](text, lang, random.Random(1).random)
    assert (edited == text) is (kind == "copied")
    assert kind != "moved" or sorted(edited) == sorted(text)


def test_a_pair_is_shown_with_both_texts(tmp_path, capsys):
    decisions = [
        {"id": "a", "status": "original", "of": None, "distance": None, "similarity": None, "short": False},
        {"id": "b", "status": "duplicate", "of": "a", "distance": 2, "similarity": 0.91, "short": False},
    ]
    documents = [{"id": "a", "text": SIMPLIFIED}, {"id": "b", "text": SIMPLIFIED + "完。"}]
    files = (write_jsonl(tmp_path / "decisions", decisions), write_jsonl(tmp_path / "documents.jsonl", documents))

    main([*map(str, files), str(tmp_path / "example.jsonl")])

    shown = capsys.readouterr().out
    assert "distance 2, similarity 0.91\n    a:  " in shown
    assert "完。" in shown
    assert json.loads((tmp_path / "example.jsonl").read_text(encoding="utf-8"))["text"] == SIMPLIFIED + "完。"
