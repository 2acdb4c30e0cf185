"""Fingerprints of the languages that jieba does not know, in every process that cuts for them."""

import pickle
from random import Random

import numpy as np
import pytest

from simhash_hbase import create_index
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.idf import learn
from simhash_hbase.profile import Profile

RUSSIAN = "Сегодня утром президент подписал новый закон о налогах"
LETTERS = {
    "Russian": "абвгдежзиклмнопрстуфхцчшэюя",
    "Greek": "αβγδεζηθικλμνξοπρστυφχψωάέήίό",
    "Arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "Hebrew": "אבגדהוזחטיכלמנסעפצקרשת",
    "Hindi": ["क", "ख", "गा", "घि", "चु", "छे", "ज", "टो", "डी", "त", "दा", "नि", "पु", "बे", "मो", "र", "ली", "स"],
    "French": "abcdefghilmnoprstuvéèàêôç",
    "Vietnamese": "abcdeghiklmnopqrstuvxyăâđêôơưáàảãạ",
    "Korean": "가나다라마바사아자차카타파하고노도로모보소오조초",
    "Thai": "กขคงจชซญดตถทนบปผพฟภมยรลวสหอะาเแโใไ",
    "Japanese": "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほ",
}
UNSPACED = {"Thai", "Japanese"}


def documents(language, count, words=250):
    """Make documents of which half the words are of a topic of their own and half are everybody's."""
    random = Random(language)
    vocabulary = ["".join(random.choices(LETTERS[language], k=random.randint(2, 8))) for _ in range(900)]
    common = vocabulary[:80]
    for _ in range(count):
        topic = random.sample(vocabulary, 60)
        yield [random.choice(topic if random.random() < 0.5 else common) for _ in range(words)]


def analysis(analyzer, texts):
    if analyzer == "jieba":
        return Analysis(Profile.resolve(analyzer="jieba"))
    idf = learn(texts).idf
    return Analysis(Profile.resolve(analyzer="learned", idf=idf.digest()), idf)


@pytest.mark.parametrize("analyzer", ["learned", "jieba"])
@pytest.mark.parametrize("language", LETTERS)
def test_unrelated_documents_are_far_apart_and_edited_copies_near(language, analyzer):
    joint = "" if language in UNSPACED else " "
    lists = list(documents(language, 100))
    texts = [joint.join(words) for words in lists]
    edited = [joint.join([*words[:100], "".join(LETTERS[language][:5]), *words[101:]]) for words in lists]
    entries = analysis(analyzer, texts).texts([str(n) for n in range(200)], texts + edited).entries
    originals, copies = entries.simhashes[:100], entries.simhashes[100:]
    apart = np.bitwise_count(originals[:, None] ^ originals[None, :])[np.triu_indices(100, 1)]

    assert (apart <= 3).mean() == 0
    assert (apart <= 7).mean() < 0.002
    assert np.median(np.bitwise_count(originals ^ copies)) <= 3
    assert entries.features.min() > 60


def test_a_worker_s_copy_of_an_analysis_cuts_alike():
    texts = [RUSSIAN, "L'été à Orléans", "用TF-IDF算权重", "けさ大統領は"] * 3
    idf = learn(texts).idf
    made = Analysis(Profile.resolve(analyzer="learned", idf=idf.digest()), idf)

    sent = pickle.loads(pickle.dumps(made))

    ids = [str(number) for number in range(len(texts))]
    assert sent.texts(ids, texts).entries.simhashes.tolist() == made.texts(ids, texts).entries.simhashes.tolist()


def test_an_idf_is_learned_from_the_words_of_the_index():
    with create_index("memory:", learn_from=[RUSSIAN, RUSSIAN]) as index:
        assert set(index.analysis.analyzer.idf.frequencies) == set(RUSSIAN.lower().split())


def test_full_width_and_upper_case_copies_are_found_under_learned():
    texts = ["AI大模型GPT发布2024年第3版，IP地址", "Apple releases new MacBook Pro"]
    with create_index("memory:", learn_from=texts) as index:
        for text in texts:
            index.add(text, text)
        for copy in ("ＡＩ大模型ＧＰＴ发布２０２４年第３版，ｉｐ地址", "APPLE RELEASES NEW ＭＡＣＢＯＯＫ PRO"):
            assert [(match.distance, match.exact) for match in index.query(copy).matches] == [(0, True)]
