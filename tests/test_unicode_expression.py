"""The expression that finds words, against one that says each condition in full and takes long to compile."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simhash_hbase.words import unicode
from simhash_hbase.words.classes import DIGITS, HIRAGANA, KATAKANA, LETTERS, MARKS, UNSPACED, VOICED

LINES = (Path(__file__).parent / "languages.jsonl").read_text(encoding="utf-8").splitlines()
LANGUAGES = [json.loads(line)["text"] for line in LINES]
ASCII = "a-zA-Z0-9_"
FOREIGN = f"{LETTERS}{DIGITS}{MARKS}"
USUAL = f"{unicode._PUNCTUATION}{unicode._USUAL}"
LETTER_MIDDLES, NUMBER_MIDDLES, HEBREW = unicode._MID_LETTER, unicode._MID_NUMBER, unicode._HEBREW


def between(letters, digits):
    """Match a character inside a word, before a letter or digit of these classes."""
    return (
        f"(?:(?<=[a-zA-Z{LETTERS}{MARKS}])[{LETTER_MIDDLES}](?=[{letters}])"
        f"|(?<=[0-9{DIGITS}{MARKS}])[{NUMBER_MIDDLES}](?=[{digits}])"
        f'|(?<=[{HEBREW}{MARKS}])"(?=[{HEBREW}]))'
    )


WORD = f"[{ASCII}{FOREIGN}]++(?:{between(f'a-zA-Z{LETTERS}', f'0-9{DIGITS}')}[{ASCII}{FOREIGN}]++)*+"
PLAIN_WORD = f"[{ASCII}]++(?:{between('a-zA-Z', '0-9')}[{ASCII}]++)*+(?![{FOREIGN}])(?!{between(LETTERS, DIGITS)})"
STARTS = f"{ASCII}{LETTERS}{DIGITS}{HIRAGANA}{KATAKANA}{UNSPACED}"
PAIRED = f"[{HIRAGANA}{VOICED}]++|[{KATAKANA}{VOICED}]++|[{UNSPACED}]++"
IN_FULL = re.compile(
    f"(?:[{USUAL}]++|{PLAIN_WORD}|[^{STARTS}]++)*+(?:(?P<word>{WORD})|(?P<paired>{PAIRED})|\\Z)"
).finditer


def members(characters):
    """List a few characters of a class, from all over it."""
    found = re.findall(f"[{characters}]", "".join(map(chr, range(0x110000))))
    return "".join(found[:: max(1, len(found) // 60)] + found[-1:])


POOLS = [
    *(members(characters) for characters in (LETTERS, DIGITS, MARKS, UNSPACED, HIRAGANA, KATAKANA, VOICED, HEBREW)),
    *("aZ", "09", '_"', LETTER_MIDDLES, NUMBER_MIDDLES, members(USUAL), members(f"^{USUAL}{ASCII}{FOREIGN}")),
]
texts = st.lists(st.sampled_from(POOLS), min_size=1, max_size=4, unique=True).flatmap(
    lambda pools: st.text(st.sampled_from("".join(pools)), max_size=12)
)


def found_in_full(text):
    return [(match.lastgroup, *match.span(match.lastgroup)) for match in IN_FULL(text) if match.lastgroup]


def found(text):
    """Find what `stretches` takes for words."""
    matches = [match for match in unicode._expression().finditer(text) if match.lastgroup]
    places = [(match.lastgroup, *match.span(match.lastgroup)) for match in matches]
    return [place for place in places if not unicode._is_plain(text, *place[1:])]


@pytest.mark.parametrize("text", LANGUAGES)
def test_the_words_of_languages_are_found(text):
    assert found(text) == found_in_full(text)


@given(texts)
@settings(max_examples=2_000, deadline=None, derandomize=True)
def test_words_of_any_characters_are_found(text):
    assert found(text) == found_in_full(text)


@pytest.mark.parametrize("middle", sorted({*LETTER_MIDDLES, *NUMBER_MIDDLES, '"', "-"}))
def test_words_go_on_behind_punctuation_as_its_neighbours_say(middle):
    kinds = [pool[::20] for pool in POOLS]
    pairs = [f"{before}{middle}{after}" for first in kinds for second in kinds for before in first for after in second]

    assert [found(pair) for pair in pairs] == [found_in_full(pair) for pair in pairs]


def test_no_part_of_a_word_is_of_two_classes():
    classes = [re.compile(f"[{characters}]").fullmatch for characters in (LETTERS, DIGITS, MARKS, ASCII, USUAL)]

    for character in map(chr, range(0x110000)):
        assert sum(match(character) is not None for match in classes) <= 1


def test_a_character_is_in_the_classes_that_expressions_find_it_in():
    classes = (LETTERS, DIGITS, MARKS, HIRAGANA, KATAKANA, UNSPACED)
    expected = re.compile(f"[{''.join(classes)}]").fullmatch
    found = unicode.is_in(*classes)

    assert [n for n in range(0x110000) if found(chr(n)) != (expected(chr(n)) is not None)] == []
