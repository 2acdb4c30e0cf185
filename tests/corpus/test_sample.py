"""A sample of a corpus to learn from: lines of JSON that leave it again are not decoded."""

import pytest
from support.corpus import write_jsonl

from simhash_hbase.corpus import Watch, sample
from simhash_hbase.corpus.sample import NothingToLearn, texts_of
from simhash_hbase.inputs import InputOptions, lines


@pytest.fixture
def corpus_file(tmp_path, monkeypatch):
    """Return a writer of JSON lines, of which a sample has four."""
    monkeypatch.setattr(sample, "LEARN_FROM", 4)
    return lambda *texts: str(write_jsonl(tmp_path / "corpus.jsonl", [{"text": text} for text in texts]))


def test_only_lines_that_the_sample_keeps_are_decoded(corpus_file, monkeypatch):
    decoded, decode = [], lines.json_record
    monkeypatch.setattr(lines, "json_record", lambda line: decoded.append(line) or decode(line))
    path = corpus_file(*(f"text {number}" for number in range(50)))
    texts = list(texts_of([path], InputOptions(), Watch()))

    assert len(set(texts)) == len(texts) == len(decoded) == 4


def test_refused_records_of_the_sample_are_counted_and_the_first_is_named(corpus_file):
    notes = []
    path = corpus_file("one", "", "three", None)

    assert list(texts_of([path], InputOptions(), Watch(note=notes.append))) == ["one", "three"]
    assert notes == [f"2 records of the sample were refused, the first: {path}:2: the text is empty"]


def test_a_sample_of_refused_records_names_the_first(corpus_file):
    with pytest.raises(
        NothingToLearn, match=r"no document to learn the idf from: .*corpus\.jsonl:1: the text is empty"
    ):
        list(texts_of([corpus_file("", "")], InputOptions(), Watch()))
