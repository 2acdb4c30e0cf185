"""A first pass over the input: the lines of its splits, and the texts that one machine would learn the idf from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from simhash_hbase.corpus.sample import NOTHING_TO_LEARN_FROM
from simhash_hbase.errors import InvalidInput
from simhash_hbase.features.idf import Reservoir
from simhash_hbase.features.learning import LEARN_FROM
from simhash_hbase.inputs import Document
from simhash_hbase.spark.columns import batch_of
from simhash_hbase.spark.places import InputFile
from simhash_hbase.spark.records import Counted, Records, Split

COUNTS = "name string, start long, lines long, records long"
TEXTS = "number long, text string"


def count_records(raw: DataFrame, read: Records) -> dict[Split, Counted]:
    """Count the lines of every split."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in read(batches):
            records = sum(isinstance(record, Document) for record in part.records)
            name, start = part.split
            yield batch_of(name=[name], start=[start], lines=[part.lines], records=[records])

    found: dict[Split, Counted] = {}
    for row in raw.mapInArrow(count, COUNTS).collect():
        held = found.get((row.name, row.start), Counted(0, 0))
        found[row.name, row.start] = Counted(held.lines + row.lines, held.records + row.records)
    return found


def sample_texts(
    raw: DataFrame, read: Records, files: Sequence[InputFile], counted: Mapping[Split, Counted]
) -> list[str]:
    """Take the texts that `dedup --create` learns from: the same places of the same reservoir."""
    order = [split for file in files for split in sorted(split for split in counted if split[0] == file.name)]
    before: dict[Split, int] = {}
    total = 0
    for split in order:
        before[split] = total
        total += counted[split].records
    sample: Reservoir[int] = Reservoir(limit=LEARN_FROM)
    for number in range(total):
        sample.add(number)
    wanted = frozenset(sample.items)

    def take(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in read(batches):
            whole = (record for record in part.records if isinstance(record, Document))
            for number, record in enumerate(whole, before[part.split]):
                if number in wanted:
                    yield batch_of(number=[number], text=[record.text])

    texts = {row.number: row.text for row in raw.mapInArrow(take, TEXTS).collect()}
    found = [text for number in sample.items if (text := texts.get(number))]
    if not found:
        raise InvalidInput(NOTHING_TO_LEARN_FROM)
    return found
