"""``passages`` on Spark: the spans of texts that documents of an index contain, too, with the output of one machine."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, functions as F

from simhash_hbase.api import open_local_index
from simhash_hbase.corpus.contamination import TextItems, find_in_suites
from simhash_hbase.errors import SimhashError
from simhash_hbase.features.chunks import Chunk
from simhash_hbase.index.answers import ItemsAnswer, PassagesAnswer
from simhash_hbase.index.arguments import PassageSearch
from simhash_hbase.index.jsonforms import REPEATED, json_line
from simhash_hbase.index.passages import check_kept
from simhash_hbase.inputs import Document, Reject
from simhash_hbase.profile.defaults import ITEM_SHARE, checked_share
from simhash_hbase.rows.keys import id_digest
from simhash_hbase.spark.dedup import IndexPlace, opened
from simhash_hbase.spark.input import REFUSED, Input, refused_row
from simhash_hbase.spark.records import Order, rows_batch

ANSWERS = f"{REFUSED}, line string, found boolean, truncated boolean"
PASSAGES = f"{ANSWERS}, cut string, mark string"
ITEMS = f"{ANSWERS}, held array<binary>"
SUITE_BYTES = 2  # Bytes of the number of a suite before the digest of an item's id.

AnswerRow = dict[str, Any]


@dataclass(frozen=True)
class CorpusAnswers:
    """The answers for all texts of a corpus: the passages or items in each that an index holds; and counts of texts."""

    answers: DataFrame  # A row for each text, and for each refused record, which alone has a reason.
    documents: int
    found: int  # Texts of which something stands in another document.
    truncated: int

    @property
    def refused(self) -> DataFrame:
        """The rows of records that were refused."""
        return self.answers.where("reason IS NOT NULL")

    def column(self, name: str) -> DataFrame:
        """Return the JSON texts of one column as a frame with one column, ``value``, in the order of the input."""
        found = self.answers.where("reason IS NULL")
        return found.orderBy("position").select(F.col(name).alias("value"))

    @property
    def lines(self) -> DataFrame:
        """The output lines of the command ``passages``, one for each text, in the order of the input."""
        return self.column("line")


class FoundItems(NamedTuple):
    """Counts for one suite, a collection of items such as an evaluation set, that a corpus was searched for."""

    items: int  # Items that stand in some text.
    texts: int  # Texts that hold an item.


def find_passages(
    corpus: Input, place: IndexPlace, search: PassageSearch, *, longest: bool = False, rewritten: Sequence[str] = ()
) -> CorpusAnswers:
    """Find the spans of a corpus's texts that documents of an index contain, too.

    Every worker opens the index for reading.

    Parameters
    ----------
    corpus : Input
        The texts.
    place : IndexPlace
        The index.
    search : PassageSearch
        Which documents count.
    longest : bool
        Whether only the longest span of each text counts.
    rewritten : sequence of {"cut", "mark"}
        Columns to be made besides ``line``: the texts without the spans, and with them between marks.

    Raises
    ------
    InvalidArgument
        When the index keeps no passages.
    """
    with open_local_index(place.url, collection=place.collection, readonly=True) as index:
        check_kept(index.profile)
    order = corpus.order

    def answered(chunk: Chunk) -> pa.RecordBatch:
        outcomes = opened(place).repeated(chunk, search)
        rows = (_passages_row(*each, longest=longest, rewritten=rewritten) for each in outcomes)
        return _batch(PASSAGES, order, rows)

    return _answers(corpus, PASSAGES, answered)


def find_items(
    corpus: Input, suites: Mapping[str, IndexPlace], *, at_share: float = ITEM_SHARE
) -> tuple[CorpusAnswers, dict[str, FoundItems]]:
    """Find the items of suites, such as evaluation sets, that the texts of a corpus contain; and count each suite's.

    Parameters
    ----------
    corpus : Input
        The texts.
    suites : mapping
        The collection of each suite, by its name in the lines; every worker opens it for reading.
    at_share : float
        Least share of an item's passages that a text has.
    """
    at_share = checked_share("at_share", at_share)
    names, places, order = list(suites), list(suites.values()), corpus.order

    def answered(chunk: Chunk) -> pa.RecordBatch:
        outcomes = find_in_suites(list(map(opened, places)), chunk, at_share=at_share)
        return _batch(ITEMS, order, (_items_row(names, *each) for each in outcomes))

    answers = _answers(corpus, ITEMS, answered)
    held = answers.answers.select("position", F.explode("held").alias("item"))
    counted = held.groupBy(F.substring("item", 1, SUITE_BYTES).alias("suite")).agg(
        F.count_distinct("item").alias("items"), F.count_distinct("position").alias("texts")
    )
    found = {int.from_bytes(row["suite"], "big"): FoundItems(row["items"], row["texts"]) for row in counted.collect()}
    return answers, {name: found.get(at, FoundItems(0, 0)) for at, name in enumerate(names)}


def _answers(corpus: Input, columns: str, answered: Callable[[Chunk], pa.RecordBatch]) -> CorpusAnswers:
    """Return the answers that `answered` gives about all texts, and their counts; the workers call it.

    The texts are not analysed.
    """
    answers = corpus.by_chunk(lambda: None, columns, answered).persist(StorageLevel.DISK_ONLY)
    found = answers.where("reason IS NULL")
    counts = found.agg(F.count("*"), F.count_if("found"), F.count_if("truncated")).first()
    return CorpusAnswers(answers, *(counts or (0, 0, 0)))


def _batch(columns: str, order: Order, rows: Iterable[tuple[Document, AnswerRow | SimhashError]]) -> pa.RecordBatch:
    """Return answers as a record batch of rows; a document with an error in place of an answer is a refused row."""
    return rows_batch(
        columns,
        [
            refused_row(order, Reject(document.place, str(row), document.raw or b"", document.id))
            if isinstance(row, SimhashError)
            else {"position": order.position(document.place), **row}
            for document, row in rows
        ],
    )


# Functions of the module, since the forms of answers cannot be pickled for Spark's workers.
def _passages_row(
    document: Document, answer: PassagesAnswer | SimhashError, *, longest: bool, rewritten: Sequence[str]
) -> tuple[Document, AnswerRow | SimhashError]:
    if isinstance(answer, SimhashError):
        return document, answer
    shown, text = answer.longest() if longest else answer, document.text or ""
    row: AnswerRow = {
        "line": _line(REPEATED.write(shown)),
        "found": bool(shown.passages),
        "truncated": answer.truncated,
    }
    rewrite = {"cut": shown.cut, "mark": shown.mark}
    return document, row | {name: _line({"id": document.id, "text": rewrite[name](text)}) for name in rewritten}


def _items_row(
    names: Sequence[str], document: Document, answers: list[ItemsAnswer] | SimhashError
) -> tuple[Document, AnswerRow | SimhashError]:
    if isinstance(answers, SimhashError):
        return document, answers
    line = TextItems.of(document.id, names, answers)
    held = [
        at.to_bytes(SUITE_BYTES, "big") + id_digest(item.id) for at, each in enumerate(answers) for item in each.items
    ]
    row = {"line": _line(line.record()), "found": bool(held), "truncated": line.truncated, "held": held}
    return document, row


def _line(record: Mapping[str, object]) -> str:
    return json_line(record)[:-1].decode()
