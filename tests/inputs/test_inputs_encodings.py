"""The encoding of a file that does not say is found."""

import pytest
from support.corpora import first_texts

from simhash_hbase.inputs import InputOptions, read
from simhash_hbase.inputs.encodings import detect

SAMPLES = [
    ("utf-8", "今天的天气很好，我们去公园。"),
    ("gb18030", "今天的天气很好，我们和孩子们去公园散步，大家都很高兴。"),
    ("big5", "今天的天氣很好，我們和孩子們去公園散步，大家都很高興。"),
    ("cp932", "今日は天気がいいので、公園へ散歩に行きました。"),
    ("cp949", "오늘은 날씨가 좋아서 공원에 산책을 갔습니다."),
    ("cp1251", "Сегодня хорошая погода, и мы пошли гулять в парк."),
    ("cp1252", "Le café était très agréable, voilà l’été."),
]


@pytest.mark.parametrize(("codec", "text"), SAMPLES)
def test_auto_reads_a_file_in_its_encoding(tmp_path, codec, text):
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(codec))
    (got,) = read([str(path)], InputOptions(encoding="auto"))

    assert got.text == text


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_sample_cut_inside_a_character_is_still_utf_8(cut):
    assert detect("今天的天气很好".encode()[:-cut]) == "utf-8"


@pytest.mark.slow
@pytest.mark.parametrize(("corpus", "codec"), [("lctt_zh_edit", "gb18030"), ("laws_tw_versions", "big5")])
@pytest.mark.parametrize("size", [200, 5000])
def test_corpus_documents_are_detected(corpus, codec, size):
    found = [detect(text.encode(codec, "ignore")[:size]) for text in first_texts(corpus, 100)]
    assert found.count(codec) >= 99
