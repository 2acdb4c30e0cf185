"""Words that are looked up in the file that lists them, against all of them in a dictionary."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.words.installed import jieba_file
from simhash_hbase.words.lexicon import Lexicon, beginnings_in

WORDS = {"天": "1", "天上": "2", "天上人间": "3", "人间": "4", "a": "5", "\U00020000字": "6", "c++": "7", "天a": "8"}
CONTENT = "".join(f"{word} {number} n\n" for word, number in WORDS.items()).encode()

words = st.text(st.sampled_from("天上人间a+é\U00020000\U0001f600"), min_size=1, max_size=5)


def named(text, table):
    """Give the words whose beginning a text has."""
    beginnings = beginnings_in(text)
    return {word: number for word, number in table.items() if word[:2] in beginnings}


def test_a_lexicon_has_the_words_of_a_text():
    lexicon = Lexicon(CONTENT)

    assert lexicon.all() == WORDS
    assert lexicon.words(beginnings_in("上天上人")) == {"天": "1", "天上": "2", "天上人间": "3"}
    assert lexicon.words(["\U00020000字", "无", " ", "\n", "天 ", "\ud800"]) == {"\U00020000字": "6", "天": "1"}
    asked = ["天上人间", "天上人", "人", "a", "天a", "c++", "c+", "", "\ud800", "天 1", "\n"]
    assert [lexicon.get(word) for word in asked] == ["3", None, None, "5", "8", "7", None, None, None, None, None]


@given(st.lists(st.tuples(words, st.integers(0, 99999).map(str))), st.text(max_size=8), st.booleans())
def test_any_words_are_found_as_in_a_dictionary_of_which_the_last_line_counts(lines, text, has_end):
    content = "\n".join(f"{word} {number}" for word, number in lines) + "\n" * (has_end and bool(lines))
    table = dict(lines)
    lexicon = Lexicon(content.encode())

    assert lexicon.all() == table
    assert {word: lexicon.get(word) for word in table} == table
    assert lexicon.get(text) == table.get(text)
    for asked in (text, "".join(table)):
        within = lexicon.words_in(asked)
        assert {word: number for word, number in table.items() if word in asked}.items() <= within.items()
        assert within.items() <= table.items()
        found = lexicon.words(beginnings_in(asked))
        # A blank in the text asks for a single character as that character does.
        assert named(asked, table).items() <= found.items() <= table.items()


@pytest.mark.parametrize("names", [("dict.txt",), ("analyse", "idf.txt")])
def test_the_files_of_jieba_are_read_to_the_last_line(names):
    content = jieba_file(*names).read_bytes()
    table = dict(line.split(" ")[:2] for line in content.decode().splitlines())
    lexicon = Lexicon(content)

    assert lexicon.all() == table
    some = sorted(table)[::37]
    assert [lexicon.get(word) for word in some] == [table[word] for word in some]
    assert lexicon.words(beginnings_in("".join(some))).items() >= {word: table[word] for word in some}.items()


def test_a_file_is_looked_through_in_pieces(monkeypatch):
    whole = Lexicon(CONTENT)
    monkeypatch.setattr("simhash_hbase.words.lexicon._PIECE", 3)
    cut = Lexicon(CONTENT)

    assert cut.starts.tolist() == whole.starts.tolist()
    assert [cut.get(word) for word in WORDS] == list(WORDS.values())


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n"])
def test_a_lexicon_of_no_words_has_none(content):
    assert Lexicon(content).all() == Lexicon(content).words(["天"]) == {}
    assert Lexicon(content).get("天") is None


def test_lines_may_end_as_in_windows():
    lexicon = Lexicon("天 1\r\n天上 2\r\n".encode())

    assert lexicon.all() == lexicon.words(["天", "天上"]) == {"天": "1", "天上": "2"}
    assert lexicon.get("天上") == "2"


def test_a_line_without_a_number_is_an_error_in_a_sentence():
    for ask in (Lexicon.all, lambda lexicon: lexicon.words(["天上"])):
        with pytest.raises(CorruptIndex, match="a line without a number"):
            ask(Lexicon("天上\n".encode()))


def test_a_process_finds_the_words_of_a_text_without_a_cache(tmp_path):
    program = "from simhash_hbase.words.segment import cut; cut('手扶拖拉机 and 3 more')"

    subprocess.run([sys.executable, "-c", program], check=True, env={"XDG_CACHE_HOME": str(tmp_path)})

    assert list(tmp_path.iterdir()) == []
