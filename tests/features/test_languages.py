"""Every language is indexed with all of its words and marks, and copies with one edit are found."""

import unicodedata
from functools import partial
from itertools import product

import pytest
from support.languages import COPIES, EDITS, FORMS, decomposed, full_width, make_index, measure, read_passages
from support.words import word_tokens

from simhash_hbase.api import create_index
from simhash_hbase.errors import EmptyDocument
from simhash_hbase.features.analyzers import LearnedAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.features.idf import learn
from simhash_hbase.kernel.texts import Batch

LANGUAGES = read_passages()
LEAST_RECALL = 0.95
MEASURED = {language: (language, str) for language in LANGUAGES} | FORMS
FORMS_OF_TEXTS = (partial(unicodedata.normalize, "NFC"), decomposed, full_width, str.upper)
PAIRS = {
    "Hindi vowel signs": [("कम", "काम"), ("दिन", "दीन"), ("बल", "बाल"), ("मल", "मेल")],
    "Hindi nukta and nasals": [("राज", "राज़"), ("खाना", "ख़ाना"), ("हंस", "हँस"), ("सडक", "सड़क")],
    "Thai tones and vowels": [("มา", "ม้า"), ("ขาว", "ข้าว"), ("เสือ", "เสื้อ"), ("ปา", "ป่า"), ("ดน", "ดิน")],
    "Vietnamese tones": [("ma", "má"), ("mà", "mả"), ("mã", "mạ"), ("tư", "tự"), ("bo", "bơ")],
    "Arabic hamza": [("اثر", "أثر"), ("سال", "سأل"), ("ان", "إن")],
    "Arabic vowel signs": [("كَتَبَ", "كُتِبَ"), ("دَرَسَ", "دَرَّسَ"), ("علم", "علّم")],
    "Korean finals": [("가", "각"), ("다", "달"), ("무", "문"), ("바다", "받다")],
    "Russian short i and yo": [("мои", "мой"), ("все", "всё"), ("воина", "война")],
    "kana with voicing": [("かき", "かぎ"), ("ハス", "バス"), ("ハス", "パス"), ("ﾊｽ", "ﾊﾞｽ"), ("か", "が")],
    "Latin accents": [("schon", "schön"), ("pêche", "péché"), ("ano", "año"), ("peche", "pêche")],
}


@pytest.fixture(scope="module", params=LANGUAGES)
def texts(request):
    """Return the passages of each language."""
    return LANGUAGES[request.param]


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURED)
def test_only_copies_with_one_edit_are_found(name):
    language, form = MEASURED[name]

    row = measure(name, LANGUAGES[language], form)

    assert row.recall >= LEAST_RECALL
    assert row.others == 0
    assert row.copies == len(LANGUAGES[language]) * len(EDITS) * COPIES


def test_no_two_passages_of_all_languages_match():
    everything = [text for texts in LANGUAGES.values() for text in texts]
    index = make_index(everything)

    for at, (_, answer) in enumerate(index.query_many(("again", text) for text in everything)):
        assert [match.id for match in answer.matches] == [str(at)]


def test_the_same_text_in_another_form_is_an_exact_copy(texts):
    index = make_index(texts)

    for form in FORMS_OF_TEXTS:
        for at, text in enumerate(texts):
            [match] = index.query(form(text)).matches
            assert (match.id, match.distance, match.similarity, match.exact) == (str(at), 0, 1, True)


@pytest.mark.parametrize("kind", PAIRS)
def test_a_mark_makes_another_word(kind):
    for pair, form in product(PAIRS[kind], ("NFC", "NFD", "NFKC", "NFKD")):
        first, second = (unicodedata.normalize(form, word) for word in pair)
        analyzer = LearnedAnalyzer(idf=learn([first, second]).idf)
        simhashes, features = Fingerprinter(analyzer).fingerprint_many([first, second])

        assert word_tokens(first) != word_tokens(second)
        assert simhashes[0] != simhashes[1]
        assert features.all()
        assert len(set(Batch([first, second]).sketch().digests)) == 2
        assert word_tokens(first) == word_tokens(pair[0])


def test_emoji_are_no_part_of_a_text():
    texts = LANGUAGES["emoji"]
    plain = ["".join(c for c in text if unicodedata.category(c) not in ("So", "Sk", "Cf")) for text in texts]
    index = make_index(texts)

    for at, text in enumerate(plain):
        assert text != texts[at]
        [match] = index.query(text).matches
        assert (match.id, match.exact) == (str(at), True)
    with pytest.raises(EmptyDocument):
        index.add("alone", "🎉👩🏽‍🍳❤️")


@pytest.mark.parametrize("text", ["é", "कि", "ก", "한", "й", "أ", "が", "鄉", "Ａ", "７"])
def test_one_letter_is_a_document(text):
    index = create_index("memory:", learn_from=[text])
    index.add("one", text)

    [match] = index.query(decomposed(text)).matches
    assert match.exact
