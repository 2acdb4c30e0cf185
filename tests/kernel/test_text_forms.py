"""The second form of texts, of new indexes: invisible characters count nowhere; an index of the first keeps its own."""

import json
import re
import unicodedata
from itertools import chain

import pytest
from support import plain_schema as plain
from support.words import CLASSES

from simhash_hbase import InvalidProfile, ProfileMismatch, create_index
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.kernel.texts import Batch, normalize
from simhash_hbase.profile import Profile

TEXT = "葛城市役所は明日の朝九時から受付を始めます。受付番号は入口で配りますので、順番にお取りください。"
ENGLISH = "Seven boats left before dawn; they didn't return, it's 3.5 °C by the café owner's naïve cat."
KOREAN = "오늘은 날씨가 좋아서 산책을 했다. \u1112\u1161\u11ab글도 같다."
INVISIBLE = [
    "\u00ad", "\u034f", "\u061c", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u180b", "\u180e", "\u180f", "\u200b",
    "\u200d", "\u202e", "\u2060", "\u2065", "\u206f", "\u3164", "\ufe00", "\ufe0f", "\ufeff", "\uffa0", "\ufff0",
    "\U0001bca0", "\U0001d173", "\U000e0000", "\U000e0001", "\U000e0041", "\U000e0100", "\U000e01ef", "\U000e0fff",
]  # fmt: skip
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
def test_a_run_of_marks_is_bounded_and_the_joiner_is_no_part_of_the_form(text):
    assert "\u034f" not in normalize(text)
    assert normalize(text) == plain.normalized(text)
    assert Batch([text]).normal_forms() == [normalize(text)]


@pytest.mark.parametrize("character", INVISIBLE)
def test_the_first_form_keeps_what_it_kept(character):
    for text in chain.from_iterable(hidden(each, character) for each in SAMPLE):
        assert normalize(text, 1) == plain.normalized(text, 1)
        assert Batch([text], 1).normal_forms() == [normalize(text, 1)]


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


def test_a_profile_without_the_field_is_of_the_first_form():
    fields = json.loads(Profile.resolve(analyzer="shingle").encode())
    assert fields.pop("text_form") == 2
    old = Profile.decode(json.dumps(fields).encode())
    mark = ["天\U000e0100地玄黄宇宙洪荒"]

    assert old.text_form == 1
    assert [Analysis(old).texts(["a"], mark).entries.digests] != [
        Analysis(Profile.resolve(analyzer="shingle")).texts(["a"], mark).entries.digests
    ]
    with pytest.raises(InvalidProfile, match="text_form 3"):
        Profile(text_form=3)
