"""The words of other scripts that the kernel finds, against an expression that says each condition of UAX #29."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.classes import (
    DIGITS,
    HEBREW,
    HIRAGANA,
    KATAKANA,
    LETTERS,
    MARKS,
    MID_LETTER,
    MID_NUMBER,
    UNSPACED,
    UNSPACED_MARKS,
    VOICED,
)
from support.words import tokens

from simhash_hbase.kernel.texts import canonical, cut

LINES = (Path(__file__).parents[1] / "support" / "languages.jsonl").read_text(encoding="utf-8").splitlines()
LANGUAGES = [json.loads(line)["text"] for line in LINES]
ASCII = "a-zA-Z0-9_"
FOREIGN = f"{LETTERS}{DIGITS}{MARKS}"


def between(letters, digits):
    """Match a character inside a word, before a letter or digit of these classes."""
    return (
        f"(?:(?<=[a-zA-Z{LETTERS}{MARKS}])[{MID_LETTER}](?=[{letters}])"
        f"|(?<=[0-9{DIGITS}{MARKS}])[{MID_NUMBER}](?=[{digits}])"
        f'|(?<=[{HEBREW}{MARKS}])"(?=[{HEBREW}]))'
    )


WORD = f"[{ASCII}{FOREIGN}]++(?:{between(f'a-zA-Z{LETTERS}', f'0-9{DIGITS}')}[{ASCII}{FOREIGN}]++)*+"
STARTS = f"{ASCII}{LETTERS}{DIGITS}{HIRAGANA}{KATAKANA}{UNSPACED}"
PAIRED = f"[{HIRAGANA}{VOICED}]++|[{KATAKANA}{VOICED}]++|[{UNSPACED}]++"
IN_FULL = re.compile(f"(?:(?=[{STARTS}])(?P<word>{WORD})|(?=[{STARTS}])(?P<paired>{PAIRED}))", re.DOTALL).finditer
UNITS = re.compile(f".[{UNSPACED_MARKS}{VOICED}]*").findall


def members(characters):
    """List a few characters of a class, from all over it."""
    found = re.findall(f"[{characters}]", "".join(map(chr, range(0x110000))))
    return "".join(found[:: max(1, len(found) // 60)] + found[-1:])


CLASSES = (LETTERS, DIGITS, MARKS, UNSPACED, HIRAGANA, KATAKANA, VOICED, HEBREW, MID_LETTER, MID_NUMBER)
POOLS = [*map(members, CLASSES), "aZ", "09", '_"', "，。！“”—· \n-/+中国常在", members(f"^{''.join(CLASSES)}{ASCII}")]
texts = st.lists(st.sampled_from(POOLS), min_size=1, max_size=4, unique=True).flatmap(
    lambda pools: st.text(st.sampled_from("".join(pools)), max_size=12)
)


def expected(text):
    """Cut what is between the words of other scripts as jieba does."""
    text = canonical(text, folded=False)
    found, end = [], 0
    for match in IN_FULL(text):
        start, stop = match.span()
        if match["word"] and not re.search(f"[{FOREIGN}]", match["word"]):
            continue
        units = UNITS(match["paired"] or "")
        pairs = [first + second for first, second in pairwise(units)] or units
        word = match.group().replace("\u2019", "'").replace("\u2018", "'")
        found += [*cut(text[end:start]), *(pairs or [word])]
        end = stop
    return found + cut(text[end:])


@pytest.mark.parametrize("text", LANGUAGES)
def test_the_words_of_languages_are_found(text):
    assert tokens(text) == expected(text)


@given(texts)
@settings(max_examples=2_000, deadline=None, derandomize=True)
def test_words_of_any_characters_are_found(text):
    assert tokens(text) == expected(text)


@pytest.mark.parametrize("middle", "'.:·,;\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\u2044\uff07\uff0c\uff1a\u066b\"-")
def test_words_go_on_behind_punctuation_as_its_neighbours_say(middle):
    kinds = [pool[::20] for pool in POOLS]
    pairs = [f"{before}{middle}{after}" for first in kinds for second in kinds for before in first for after in second]

    assert [tokens(pair) for pair in pairs] == [expected(pair) for pair in pairs]


def test_no_character_is_of_two_classes_that_exclude_each_other():
    # Formats are no part of a text that is cut.
    marks = f"{VOICED}{UNSPACED_MARKS}"
    parts = (LETTERS, DIGITS, MARKS, ASCII, "\u4e00-\u9fd5", f"{HIRAGANA}{KATAKANA}", f"{UNSPACED}{marks}")
    middles = f'{MID_LETTER}{MID_NUMBER}"'
    matches = [re.compile(f"[{characters}]").fullmatch for characters in (*parts, middles)]

    for character in map(chr, range(0x110000)):
        assert sum(match(character) is not None for match in matches) <= 1
