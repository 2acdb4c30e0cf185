"""Normal forms of hostile texts: bounded runs of marks, bounded pieces, and nothing else changes."""

import sys
import unicodedata
from itertools import groupby
from unittest.mock import Mock

import pytest
from hypothesis import given, settings, strategies as st
from support import plain_schema as plain

from simhash_hbase.kernel import normal as marks
from simhash_hbase.kernel.normal import MAX_MARKS, bounded_marks, joining, normal_form, pieces
from simhash_hbase.kernel.texts import normalize

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
SOME_MARKS = "\u0301\u0315\u0327\u05b0\u3099\uff9e\u0f73\U0001d165"


def longest_run(string):
    return max((len(list(run)) for is_mark, run in groupby(string, marks.is_mark) if is_mark), default=0)


@pytest.mark.slow
def test_the_marks_are_all_characters_that_become_marks_alone():
    everything = list(map(chr, range(sys.maxunicode + 1)))
    forms = (unicodedata.normalize("NFKD", character) for character in everything)

    assert [all(map(unicodedata.combining, form)) for form in forms] == list(map(marks.is_mark, everything))


@pytest.mark.parametrize("count", [0, 1, 29, 30, 31, 45, 60, 61, 1000])
def test_a_run_gets_a_joiner_after_each_thirty_that_others_follow_wherever_it_begins(count):
    runs = "\u034f".join("\u0301" * min(MAX_MARKS, count - at) for at in range(0, count, MAX_MARKS))

    for before in range(31):
        assert bounded_marks("x" * before + "\u0301" * count + "é") == "x" * before + runs + "é"


@given(st.text("a中" + SOME_MARKS, max_size=300))
@settings(max_examples=200)
def test_bounded_marks_are_not_cut_again(string):
    once = bounded_marks(string * 3)

    assert once == plain.bounded(string * 3)
    assert bounded_marks(once) == once
    assert longest_run(once) <= MAX_MARKS


@pytest.mark.slow
@given(st.text(max_size=200))
@settings(max_examples=300)
def test_texts_without_long_runs_get_their_normal_forms(string):
    for form in FORMS:
        assert normal_form(form, string) == unicodedata.normalize(form, bounded_marks(string))


@pytest.mark.slow
@pytest.mark.parametrize("string", ["a" + "\u0315" * 100_000 + "\u0327" * 100_000, "ｶ" + "ﾞ\u0301" * 100_000])
def test_python_with_its_quadratic_time_normalises_no_long_run_and_no_long_text(string, monkeypatch):
    python = Mock(side_effect=unicodedata.normalize)
    monkeypatch.setattr(marks.unicodedata, "normalize", python)
    normalize("中 " + string)
    normal_form("NFC", "中 " + string)

    normalised = [call.args[1] for call in python.call_args_list]
    assert len(normalised) > 2
    assert max(map(len, normalised)) < 80_000
    assert max(map(longest_run, normalised)) <= MAX_MARKS


PATTERNS = [
    "ｶﾞ한글\u1112\u1161\u11ab ΑΣ e\u0301 ½ ", "天地玄黄宇宙洪荒e\u0301\U00020000", "αΣ αΣ'α", "Σ' ",
    "\u1100\u1161\u11a8", "e\u0301\u0327", "ﬁ½㎡", "a",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pieces_normalise_as_the_whole_does(pattern, monkeypatch):
    monkeypatch.setattr(marks, "PIECE", 50)
    for shift in range(4):
        string = "x" * shift + pattern * 60
        assert len(list(pieces(string))) > 1
        assert "".join(pieces(string)) == string
        assert all(normal_form(form, string) == unicodedata.normalize(form, string) for form in FORMS)
        assert normalize(string) == plain.normalized(string)


@pytest.mark.parametrize("string", ["\u1161" * 30_000, "\u0301" * 30_000, "Σ" * 30_000])
def test_a_text_without_a_place_to_cut_is_cut_all_the_same(string, monkeypatch):
    monkeypatch.setattr(marks, "PIECE", 1000)

    assert max(map(len, pieces(string))) <= 1000 + 4096
    assert "".join(pieces(string)) == string


@pytest.mark.parametrize("end", ["e\u0301", "a\u0301\u0327", "\u1100\u1161\u11a8"])
def test_a_letter_and_its_marks_at_the_end_stay_together(end):
    text = "x" * (marks.PIECE - 1) + end

    assert normal_form("NFKC", text) == unicodedata.normalize("NFKC", text)


@pytest.mark.slow
def test_what_joins_is_what_any_decomposition_says():
    decompositions = (unicodedata.decomposition(chr(number)).split() for number in range(sys.maxunicode + 1))
    pairs = [parts for parts in decompositions if len(parts) == 2 and not parts[0].startswith("<")]
    marked = filter(marks.is_mark, map(chr, range(sys.maxunicode + 1)))

    assert {chr(int(second, 16)) for _, second in pairs} | marks._HANGUL_VOWELS_AND_FINALS | set(marked) == joining()
