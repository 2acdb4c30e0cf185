"""The forms of texts: new indexes count no invisible character and fold traditional ones; older ones keep their own."""

import json
import re
import unicodedata
from itertools import chain

import pytest
from support import plain_schema as plain
from support.plain_jieba import jieba
from support.words import CLASSES, word_tokens

from simhash_hbase import InvalidProfile, ProfileMismatch, api, create_index, open_index
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.kernel.tables import simplified
from simhash_hbase.kernel.texts import Batch, normalize
from simhash_hbase.profile import Profile
from simhash_hbase.profile.defaults import TextForm

TEXT = "葛城市役所は明日の朝九時から受付を始めます。受付番号は入口で配りますので、順番にお取りください。"
ENGLISH = "Seven boats left before dawn; they didn't return, it's 3.5 °C by the café owner's naïve cat."
KOREAN = "오늘은 날씨가 좋아서 산책을 했다. \u1112\u1161\u11ab글도 같다."
INVISIBLE = [
    "\u00ad", "\u034f", "\u061c", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u180b", "\u180e", "\u180f", "\u200b",
    "\u200d", "\u202e", "\u2060", "\u2065", "\u206f", "\u3164", "\ufe00", "\ufe0f", "\ufeff", "\uffa0", "\ufff0",
    "\U0001bca0", "\U0001d173", "\U000e0000", "\U000e0001", "\U000e0041", "\U000e0100", "\U000e01ef", "\U000e0fff",
]  # fmt: skip
FIRST = TextForm(1, None)
SAMPLE = [TEXT, ENGLISH, KOREAN, "城市的明日"]
OPTIONS = [{"analyzer": "jieba"}, {"analyzer": "learned", "learn_from": SAMPLE}, {"analyzer": "shingle"}]


def hidden(text, character):
    """Return copies of a text that look as it does."""
    return [
        text[:1] + character + text[1:],
        character + text + character,
        "".join(letter + character for letter in text),
        text[:9] + character * 1_100 + text[9:],
    ]


def made_of(analysis, texts):
    """Return what is kept of each text."""
    entries = analysis.texts(list(map(str, range(len(texts)))), texts).entries
    columns = entries.simhashes, entries.sketches, entries.shingles, entries.features, entries.bands
    return list(zip(*(map(repr, column.tolist()) for column in columns), entries.digests, strict=True))


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: options["analyzer"])
def test_a_copy_with_invisible_characters_is_the_text_itself(options):
    with create_index("memory:", **options) as index:
        for text in (TEXT, ENGLISH, KOREAN):
            copies = [copy for character in INVISIBLE for copy in hidden(text, character)]
            [made, *others] = made_of(index.analysis, [text, *copies])
            behind = [text[:9] + "😀" + character * 64 + text[9:] for character in ["", *INVISIBLE]]

            assert len(others) == len(copies)
            assert set(others) == {made}
            assert len(set(made_of(index.analysis, behind))) == 1


def test_the_invisible_characters_are_those_of_the_specification():
    ranges = re.findall(r"\\U([0-9a-f]{8})-\\U([0-9a-f]{8})", CLASSES["IGNORABLES"])
    points = {point for first, last in ranges for point in range(int(first, 16), int(last, 16) + 1)}

    assert points == set(map(ord, plain.IGNORABLES))
    # Unicode 14 counts so many; no other character becomes one of them.
    assert len(points) == 4_174
    everything = (chr(point) for point in range(0x110000) if point not in points)
    assert not [c for c in everything if points & set(map(ord, unicodedata.normalize("NFKC", c).lower()))]


@pytest.mark.parametrize("text", ["z" + 70 * "\u0301\u0323" + "algo", "e\u034f\u0301", "\u1100\u115f\u1161", "\u034f"])
def test_the_joiner_is_no_part_of_the_form_of_a_run_of_marks(text):
    assert "\u034f" not in normalize(text)
    assert normalize(text) == plain.normalized(text)
    assert Batch([text]).normal_forms() == [normalize(text)]


@pytest.mark.parametrize("character", INVISIBLE)
def test_the_first_form_keeps_what_it_kept(character):
    for text in chain.from_iterable(hidden(each, character) for each in SAMPLE):
        assert normalize(text, FIRST) == plain.normalized(text, 1, None)
        assert Batch([text], FIRST).normal_forms() == [normalize(text, FIRST)]


def test_an_index_of_the_first_form_is_opened_with_the_options_of_a_new_one(tmp_path):
    url = f"file:{tmp_path}/old.index"
    with create_index(url, analyzer="shingle", text_form=1) as index:
        index.add("a", TEXT)
        before = index.profile.encode()
    with create_index(url, analyzer="shingle", if_not_exists=True) as index:
        assert index.profile.encode() == before
        # The mark is a character of its own there.
        assert [match.exact for match in index.query(TEXT[:1] + "\U000e0100" + TEXT[1:]).matches] == [False]
    with pytest.raises(ProfileMismatch, match="shingle=4"):
        create_index(url, analyzer="shingle", shingle=5, if_not_exists=True)


def test_an_index_with_the_idf_table_of_a_former_version_is_opened_as_new_ones_are():
    new = Profile.resolve(analyzer="learned", idf="0" * 32, idf_name="general-2", idf_documents=25_000)
    old = new.replace(text_form=2, fold=None, fold_table=None, idf="1" * 32, idf_name="general-1")

    old.check_same(new)
    with pytest.raises(ProfileMismatch, match="idf_name"):
        new.replace(idf_name=None).check_same(new)


def test_a_profile_without_the_field_is_of_the_first_form():
    fields = json.loads(Profile.resolve(analyzer="shingle").encode())
    assert fields.pop("text_form") == 3
    old = Profile.decode(json.dumps(fields).encode())
    mark = ["天\U000e0100地玄黄宇宙洪荒"]

    assert old.text_form == 1
    assert [Analysis(old).texts(["a"], mark).entries.digests] != [
        Analysis(Profile.resolve(analyzer="shingle")).texts(["a"], mark).entries.digests
    ]
    with pytest.raises(InvalidProfile, match="text_form 4"):
        Profile(text_form=4)


def copies_of(text):
    """Return copies of a text with blanks and line ends inside it."""
    blanks = (" ", "\u3000", "\u00a0", "\n", "\r\n", "\t", "\x0c", "\u2028", "\u200b", " \u200b\n  ")
    return [*(blank.join(text) for blank in blanks), f"  {text[:1]}\n{text[1:]}  "]


@pytest.mark.parametrize("text", ["早安", "天地玄黄", "我们在中国人民大学读书", "かたカナ", "วันนี้อากาศดี"])
def test_blanks_between_characters_of_scripts_without_them_change_no_word(text):
    with create_index("memory:", learn_from=SAMPLE) as index:
        [made, *others] = made_of(index.analysis, [text, *copies_of(text)])
        assert set(others) == {made}

        index.add("a", text)
        for copy in copies_of(text):
            assert [(match.id, match.exact) for match in index.query(copy).matches] == [("a", True)]


@pytest.mark.parametrize(
    "text", ["早安 good morning 早安", "a b", "안녕 하세요", "早 é 安", " 早 ", "早\x00安", "", "天 ¨地"]
)
def test_other_blanks_stand_between_words(text):
    counted = Batch([text, "天 地", text]).count(folded=True, seed=0)
    words, ends = counted.words(), counted.offsets.tolist()

    assert words[: ends[1]] == words[ends[2] :] == list(dict.fromkeys(word_tokens(text)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("AT&T的IP地址", ["at&t", "的", "ip地址"]),
        ("at&t的ip地址", ["at&t", "的", "ip地址"]),
        ("ＡＴ＆Ｔ", ["at&t"]),
        ("用C++和c#写", ["用", "c++", "和", "c#", "写"]),
        ("买T恤，去卡拉OK", ["买", "t恤", "去", "卡拉", "ok"]),
        ("that cat at AT", ["that", "cat", "at"]),
    ],
)
def test_words_of_the_dictionary_are_whole_in_any_case(text, words):
    assert Batch([text]).count(folded=True, seed=0).words() == words
    # In capitals jieba has the same.
    capitals = unicodedata.normalize("NFKC", text).upper()
    assert set(words) == {word.lower() for word in jieba.lcut(capitals) if re.search(r"\w", word)}


def test_the_first_form_is_cut_as_it_was():
    words = Batch(["AT&T的IP地址 早 安"], FIRST).count(folded=True, seed=0).words()

    assert words == ["at", "t", "的", "ip", "地址", "早", "安"]


SIMPLIFIED = "台湾的电脑软体工程师骑脚踏车去吃面，里面没有人认得㐀字和𠮷野家。"
TRADITIONAL = "臺灣的電腦軟體工程師騎腳踏車去喫麪，裡面沒有人認得㐀字和𠮷野家。"
HONG_KONG = "台灣的電腦軟體工程師騎腳踏車去吃麵，裏面沒有人認得㐀字和𠮷野家。"
FOLDING = [options for options in OPTIONS if options["analyzer"] != "jieba"]


@pytest.mark.parametrize("options", FOLDING, ids=lambda options: options["analyzer"])
@pytest.mark.parametrize("added", ["", "e\u0301", "ΑΣ", "\U0002f800", "\ufa0a\u2f8a"])
def test_a_traditional_copy_is_the_simplified_text_itself(options, added):
    with create_index("memory:", **options) as index:
        copies = [text + added for text in (SIMPLIFIED, TRADITIONAL, HONG_KONG)]

        assert len(set(made_of(index.analysis, copies))) == 1
        assert [normalize(copy) for copy in copies] == Batch(copies).normal_forms() == [normalize(copies[0])] * 3
        assert {plain.normalized(copy) for copy in copies} == {normalize(copies[0])}


def test_folded_words_are_those_of_the_simplified_text():
    [first, second] = [Batch([text]).count(folded=True, seed=0).words() for text in (SIMPLIFIED, TRADITIONAL)]

    assert first == second
    assert {"台湾", "电脑", "工程师", "脚踏车"} < set(first)


def test_a_character_is_folded_once():
    table = simplified()
    assert len(table) > 2_900
    assert not table.keys() & set(map(ord, table.values()))
    assert all(unicodedata.is_normalized("NFKC", chr(key) + value) for key, value in table.items())
    assert table == plain.simplified()


def test_the_analyzer_jieba_tells_traditional_characters_from_simplified_ones():
    with create_index("memory:", analyzer="jieba") as index:
        assert index.profile.fold is index.profile.fold_table is None
        assert len(set(made_of(index.analysis, [SIMPLIFIED, TRADITIONAL]))) == 2
    with pytest.raises(InvalidProfile, match="fold goes with analyzers learned and shingle, not jieba"):
        index.profile.replace(fold="hans")


@pytest.mark.parametrize("analyzer", ["learned", "shingle"])
def test_a_profile_without_a_fold_keeps_its_fingerprints(analyzer):
    with create_index("memory:", analyzer=analyzer) as new:
        former = Profile.decode(
            json.dumps({k: v for k, v in json.loads(new.profile.encode()).items() if k not in ("fold", "fold_table")})
        )
        idf = getattr(new.analysis.analyzer, "idf", None)
        old = Analysis(former.replace(probe=None), idf)
        assert made_of(old, [SIMPLIFIED, TRADITIONAL])[0] == made_of(new.analysis, [SIMPLIFIED])[0]
        assert len(set(made_of(old, [SIMPLIFIED, TRADITIONAL]))) == 2
        assert plain.normalized(TRADITIONAL, fold=None) == normalize(TRADITIONAL, former.form) != normalize(TRADITIONAL)
        former.check_same(new.profile)
        with pytest.raises(ProfileMismatch, match="fold"):
            new.profile.check_same(former)


def test_an_index_that_another_table_folded_is_refused(tmp_path, monkeypatch):
    url = f"file:{tmp_path}/a.index"
    create_index(url).close()
    monkeypatch.setattr(api, "fold_digest", lambda: "0" * 32)
    with pytest.raises(ProfileMismatch, match="fold_table"):
        open_index(url)


@pytest.mark.parametrize(
    ("text", "pairs", "runs"),
    [
        ("ที่นี่ดี", ["ที่นี่", "นี่ดี"], ["ที่นี่ดี"]),
        ("ดี", ["ดี"], ["ดี"]),
        ("ນາມາ", ["ນາ", "າມ", "ມາ"], ["ນາມ", "າມາ"]),
        ("ខ្មែរមក", ["ខ្មែ", "មែរ", "រម", "មក"], ["ខ្មែរ", "មែរម", "រមក"]),
        ("かたカナカ", ["かた", "カナ", "ナカ"], ["かた", "カナ", "ナカ"]),
    ],
)
def test_new_indexes_have_runs_of_three_letters_of_scripts_without_blanks(text, pairs, runs):
    for form in (TextForm(1, None), TextForm(2, None)):
        assert Batch([text], form).count(folded=True, seed=0).words() == pairs
        assert Batch([text], form).count(folded=False, seed=0).words() == [word for word in pairs if len(word) > 1]
    assert Batch([text]).count(folded=True, seed=0).words() == runs
    assert Batch([text]).count(folded=False, seed=0).words() == [word for word in runs if len(word) > 1]
