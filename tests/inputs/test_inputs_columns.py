"""Documents as columns: each is the document that it was made of, without its text."""

from dataclasses import replace

from simhash_hbase.inputs import Document, Place
from simhash_hbase.inputs.columns import DocumentColumns

DOCUMENTS = [
    Document("a", "text", None, None, {"site": "x"}, Place("one.jsonl", 1), b"{}", 0.5, source="x"),
    Document("b", "text", None, None, None, Place("one.jsonl", 2), None, remainder=b"sketch"),
    Document("c", "text", None, None, None, Place("two.jsonl", 0), b"", None, source=""),
]
WITHOUT_TEXTS = [replace(document, text=None) for document in DOCUMENTS]


def test_columns_are_the_documents_without_their_texts():
    columns = DocumentColumns.of(DOCUMENTS)
    assert list(columns) == WITHOUT_TEXTS
    assert columns[-1] == WITHOUT_TEXTS[-1]
    assert DocumentColumns.of(columns) is columns


def test_stretches_that_are_joined_are_the_documents_in_their_order():
    columns = DocumentColumns.of(DOCUMENTS)
    assert list(DocumentColumns.joined([columns[2:], columns[:2]])) == WITHOUT_TEXTS[2:] + WITHOUT_TEXTS[:2]
    assert len(DocumentColumns.joined([])) == 0
