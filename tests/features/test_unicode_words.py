"""Words of the scripts that jieba does not know, also against an expression that says each condition of UAX #29."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given, settings, strategies as st
from support.languages import read_passages
from support.words import (
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
    idf_of,
    tokens,
    word_tokens,
)

from simhash_hbase.features.analyzers import JiebaAnalyzer, LearnedAnalyzer
from simhash_hbase.features.idf import jieba_idf
from simhash_hbase.kernel.texts import MAX_WORD, Batch, bounded_word, canonical, cut

WORD_CATEGORIES = ("Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Nd")
TABLE = idf_of([["the", "закон", "法"], ["the", "закон"], ["the"]])
PIECES = [
    "中国", "常在", "的", "T恤", "IP地址", "é", "É", "ж", "Ω", "ß", "İ", "Σ", "ς", "か", "カ", "ー", "ｶﾞ", "ก", "ำ",
    "한", "글", "e\u0301", "\u0301", "\u0e34", "क", "्", "ष", "א", '"', "'", "’", "٢", "२", "Ａ", "１", "％", "…", "㎡",
    "①", "〇", "々", "\xad", "\u200b", "\u200d", "\ufe0f", "\ud800", "😀", "a", "Zz", "12", "_", ".", ":", ",", "-",
    "+", " ", "\n", "，", "·",
]  # fmt: skip
mixtures = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Сегодня пресс-служба", "сегодня пресс служба", id="Russian"),
        pytest.param("Здоров'я", "здоров'я", id="Ukrainian"),
        pytest.param("Ο ΠΡΌΕΔΡΟΣ υπέγραψε", "ο πρόεδρος υπέγραψε", id="Greek"),
        pytest.param("وقع الرئيسُ ٢٠٢٤، القانون", "وقع الرئيسُ ٢٠٢٤ القانون", id="Arabic"),
        pytest.param("می\u200cخواهم", "میخواهم", id="Persian"),
        pytest.param("צה\"ל וג'ירפה", "צה\"ל וג'ירפה", id="Hebrew"),
        pytest.param("क़ानून हिन्दी में।", "क़ानून हिन्दी में", id="Hindi"),
        pytest.param("வணக்கம் உலகம்", "வணக்கம் உலகம்", id="Tamil"),
        pytest.param("ภาษีใหม่ 2567", "ภาษี าษีใ ษีให ใหม่ 2567", id="Thai"),
        pytest.param("ພາສາ", "ພາສ າສາ", id="Lao"),
        pytest.param("ខ្មែរ", "ខ្មែរ", id="Khmer"),
        pytest.param("けさ大統領は税法に署名した", "けさ 大 统领 は 税法 に 署名 した", id="Japanese"),
        pytest.param("スマート ｽﾏｰﾄ", "スマ マー ート トス スマ マー ート", id="katakana of both widths"),
        pytest.param("오늘 LG전자는 발표", "오늘 lg전자는 발표", id="Korean"),
        pytest.param("\u1112\u1161\u11ab글", "한글", id="Korean, decomposed"),
        pytest.param("L'été, le président d’Orléans", "l'été le président d'orléans", id="French"),
        pytest.param("Über Ver\xadmögen GROẞ", "über vermögen groß", id="German"),
        pytest.param("Tổng thống ký luật", "tổng thống ký luật", id="Vietnamese"),
        pytest.param(
            unicodedata.normalize("NFD", "Tổng thống ký luật"), "tổng thống ký luật", id="Vietnamese, decomposed"
        ),
        pytest.param("Příliš žluťoučký kůň", "příliš žluťoučký kůň", id="Czech"),
        pytest.param("col·legi L·L", "col legi l l", id="middle dot in ASCII"),
        pytest.param("il·lusió", "il·lusió", id="Catalan"),
        pytest.param("我爱HBase和TF-IDF", "我 爱 hbase 和 tf idf", id="Chinese and English"),
        pytest.param("中文é中文", "中文 é 中文", id="a letter between Han"),
        pytest.param("TF-IDFé 1:aé 3.5µm", "tf idfé 1 aé 3.5μm", id="ASCII beside other letters"),
        pytest.param("❤️👍🏽1️⃣ 好", "1 好", id="emoji"),
        pytest.param("ＡＩ大模型２０２４年５０％", "ai 大 模型 2024 年 50%", id="full-width"),
        pytest.param("二〇二四 人々", "二 〇 二四 人 々", id="Han-like signs"),
        pytest.param("\u0301 x\u0302", "x\u0302", id="a mark without a letter"),
    ],
)
def test_words_of_a_language(text, expected):
    assert word_tokens(text) == expected.split()


def test_the_jieba_analyzer_has_words_of_every_script_at_the_median():
    analyzer = JiebaAnalyzer()

    assert [word for word, _ in analyzer.features("Новый закон о налогах")] == ["Новый", "закон", "налогах"]
    assert dict(analyzer.features("закон закон"))["закон"] == 2 * jieba_idf().other
    assert [word for word, _ in analyzer.features("かな は")] == ["かな"]


@pytest.mark.slow
@given(mixtures)
@settings(max_examples=500, deadline=None, derandomize=True)
def test_copies_in_another_width_and_case_have_the_same_learned_features(text):
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    analyzer = LearnedAnalyzer(idf=TABLE)

    assert analyzer.features(wide) == analyzer.features(text)
    assert Batch([wide]).sketch().digests == Batch([text]).sketch().digests
    if text.upper().lower() == text.lower() and text.isascii():
        assert analyzer.features(text.upper()) == analyzer.features(text)


def test_case_does_not_count_in_words_that_jieba_knows_in_one_case_only():
    assert word_tokens("买T恤，查IP地址，AT&T") == word_tokens("买t恤，查ip地址，at&t")


@pytest.mark.slow
@given(mixtures)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_words_are_those_of_every_form_of_the_text(text):
    forms = {form: unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    whole = canonical(text, folded=True)

    assert {c for c in whole if c.isalnum()} <= set("".join(word_tokens(text)))
    assert len({tuple(word_tokens(form)) for form in forms.values()}) == 1
    assert JiebaAnalyzer().features(forms["NFC"]) == JiebaAnalyzer().features(forms["NFD"])


def test_a_character_with_too_many_marks_is_bounded_before_it_is_part_of_a_run():
    longest = "\u0e01" + "\u0e34" * 1025
    bounded = bounded_word(longest)

    assert len(bounded) < 80
    assert word_tokens(f"\u0e01{longest}\u0e02") == ["\u0e01" + bounded + "\u0e02"]


def test_a_word_beyond_the_bound_is_its_beginning_and_a_digest():
    longest, other = "ж" * MAX_WORD, "ж" * MAX_WORD + "а"

    assert bounded_word(longest) == longest
    assert len(bounded_word(other)) < 80
    assert bounded_word(other) != bounded_word(other + "а")
    assert word_tokens(f"{longest} {other}") == [longest, bounded_word(other)]
    assert word_tokens("x" * 2000) == [bounded_word("x" * 2000)]
    assert [word for word, _ in JiebaAnalyzer().features("X" * 2000)] == [bounded_word("X" * 2000)]


# Words of one character: Han beyond what jieba knows, signs among Han, Tangut, Nushu; and voiced marks of kana.
SINGLE = "\u3005-\u3007\u3021-\u303c\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00016fe0-\U00018d08\U0001b170-\U0001b2fb"
AMONG_KANA = "\u3099-\u309a\uff9e\uff9f"


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="this Python knows another Unicode than 14")
def test_the_classes_hold_exactly_the_letters_of_unicode_14():
    letters, digits, marks = (re.compile(f"[{some}]").match for some in (LETTERS, DIGITS, MARKS))
    placed = re.compile(f"[{LETTERS}{DIGITS}{HIRAGANA}{KATAKANA}{UNSPACED}{SINGLE}{AMONG_KANA}]").match
    assigned = [chr(n) for n in range(0x80, 0x20000) if unicodedata.category(chr(n)) != "Cn"]
    missed = [c for c in assigned if unicodedata.category(c) in WORD_CATEGORIES and not placed(c)]

    assert [c for c in assigned if digits(c) and unicodedata.category(c) != "Nd"] == []
    assert [c for c in assigned if marks(c) and unicodedata.category(c) not in ("Mn", "Mc")] == []
    assert [c for c in assigned if letters(c) and unicodedata.category(c)[0] not in "LN"] == ["\u05f3"]
    assert missed == []


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
RUNS = f"[{HIRAGANA}{VOICED}]++|[{KATAKANA}{VOICED}]++|[{UNSPACED}]++"
IN_FULL = re.compile(f"(?:(?=[{STARTS}])(?P<word>{WORD})|(?=[{STARTS}])(?P<runs>{RUNS}))", re.DOTALL).finditer
UNITS = re.compile(f".[{UNSPACED_MARKS}{VOICED}]*").findall

EVERY = "".join(map(chr, [*range(0x32000), *range(0xE0000, 0xE0200), 0xF0000, 0x10FFFF]))
"""A character of each kind: the others are not assigned, or private ones."""


def members(characters):
    """List a few characters of a class, from all over it."""
    found = re.findall(f"[{characters}]", EVERY)
    return "".join(found[:: max(1, len(found) // 60)] + found[-1:])


CLASSES = (LETTERS, DIGITS, MARKS, UNSPACED, HIRAGANA, KATAKANA, VOICED, HEBREW, MID_LETTER, MID_NUMBER)
POOLS = [*map(members, CLASSES), "aZ", "09", '_"', "，。！“”—· \n-/+中国常在", members(f"^{''.join(CLASSES)}{ASCII}")]
characters = st.lists(st.sampled_from(POOLS), min_size=1, max_size=4, unique=True).flatmap(
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
        units = UNITS(match["runs"] or "")
        size = 3 if re.match(f"[{UNSPACED}]", match.group()) else 2
        runs = ["".join(units[at : at + size]) for at in range(len(units) - size + 1)] or (units and ["".join(units)])
        word = match.group().replace("\u2019", "'").replace("\u2018", "'")
        found += [*cut(text[end:start]), *(runs or [word])]
        end = stop
    return found + cut(text[end:])


@pytest.mark.parametrize("texts", read_passages().values(), ids=read_passages())
def test_the_words_of_languages_are_found(texts):
    analyzer = LearnedAnalyzer(idf=TABLE)

    for text in texts:
        assert tokens(text) == expected(text)
        assert {word for word, weight in analyzer.features(text) if weight > 0} == set(word_tokens(text))


@pytest.mark.slow
@given(characters)
@settings(max_examples=600, deadline=None, derandomize=True)
def test_words_of_any_characters_are_found(text):
    assert tokens(text) == expected(text)


@pytest.mark.slow
@pytest.mark.parametrize("middle", "'.:·,;\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\u2044\uff07\uff0c\uff1a\u066b\"-")
def test_words_go_on_behind_punctuation_as_its_neighbours_say(middle):
    kinds = [pool[::30] for pool in POOLS]
    pairs = [f"{before}{middle}{after}" for first in kinds for second in kinds for before in first for after in second]

    assert [tokens(pair) for pair in pairs] == [expected(pair) for pair in pairs]


def test_no_character_is_of_two_classes_that_exclude_each_other():
    # Formats are no part of a text that is cut.
    parts = (LETTERS, DIGITS, MARKS, ASCII, "\u4e00-\u9fd5", HIRAGANA + KATAKANA, UNSPACED + VOICED + UNSPACED_MARKS)
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    classes = [re.findall(f"[{characters}]", everything) for characters in (*parts, f'{MID_LETTER}{MID_NUMBER}"')]

    assert len({character for each in classes for character in each}) == sum(map(len, classes))
