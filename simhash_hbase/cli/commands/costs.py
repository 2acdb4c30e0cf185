"""Costs of a block scheme: estimated rows, bytes and times for a number of documents, as the command ``plan`` shows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.profile.defaults import passage_gram
from simhash_hbase.rows.layout import PASSAGE_BYTES, SEGMENT_BYTES

if TYPE_CHECKING:
    from simhash_hbase.rows.blocks import Scheme

# All measured on two cores of an AMD EPYC, with uniform fingerprints, sketches, ids of 40 bytes and no metadata.
# Bytes in use and CPU time after `load` of 200,000 documents into an empty folder: 621 bytes and 14.3 µs a document.
EMBEDDED_BYTES_A_ROW = 24.4
EMBEDDED_BYTES_A_DOCUMENT = 377
# Size of the file after `dedup` of the same 200,000 documents in batches of 2,000, all of them kept: 1,393 bytes a
# document, 1,961 with six sketch rows. It was measured with cells of 24 bytes less a document, which are added here.
# Five more, for the number of shingles and the containment, are in none of these figures.
EMBEDDED_DEDUP_BYTES_A_ROW = 90.7
EMBEDDED_DEDUP_BYTES_A_DOCUMENT = 510
EMBEDDED_SECONDS_A_ROW = 0.24e-6
EMBEDDED_SECONDS_A_DOCUMENT = 12e-6
# Bytes of HFiles after a major compaction, FAST_DIFF in blocks of 8 KB, one replica: a block row (of 10.2 million), and
# the member and document cells of a document (of 100,000). ./scripts/bench hbase prints them.
HBASE_BYTES = {"NONE": (16.2, 305), "SNAPPY": (13.9, 186), "ZSTD": (12.0, 173)}
# CPU time of `load` with HFiles, Java included: 10.2 million block rows in 11.3 s, all of 200,000 documents in 8.7 s.
HBASE_SECONDS_A_ROW = 1.1e-6
HBASE_SECONDS_A_DOCUMENT = 32e-6
# Fingerprint and sketch of Chinese articles of 3,700 characters, one core: tests/bench/README.md.
DOCUMENTS_A_SECOND = 550
CHARACTERS_A_DOCUMENT = 3_700
# Where HBase splits a region by default: hbase.hregion.max.filesize.
REGION_BYTES = 10 * 2**30
HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class PlannedScheme:
    """A block scheme with the rows, bytes and times that it would take for a number of documents."""

    scheme: str
    distance: int  # Complete up to so many bits.
    tables: int  # Scans of block rows that a query makes.
    bands: int  # Scans of sketch rows; unrelated texts have none in common.
    passage_rows: int  # Passage rows of a document of 3,700 letters, numbers and marks; 0 without passages.
    rows: int  # Block rows, sketch rows and passage rows in all.
    rows_a_scan: int  # Unrelated rows that one scan reads, for the tables with the most bits.
    rows_a_query: int  # All scans alike: tables times `rows_a_scan`, as the write-ups of the method count.
    rows_a_query_exact: float  # Each table by its own bits.
    embedded_bytes: int  # On disk in a ``file:`` index after `load`.
    embedded_dedup_bytes: int  # The same after `dedup`, `claim` or `add` in batches.
    embedded_load_hours: float  # `load` of ready fingerprints into a ``file:`` index.
    compression: str  # Codec of the files in HBase.
    hbase_bytes: int  # On disk in HBase, one replica.
    hbase_regions: int  # Regions of 10 GiB, at least one.
    load_hours: float  # `load` of ready fingerprints into HBase by HFiles, one writer.
    fingerprint_hours: float  # Hours of one core that fingerprints and sketches take before.


def plan_scheme(
    scheme: "Scheme", documents: int, *, bands: int = 0, passages: int | None = None, compression: str = "NONE"
) -> PlannedScheme:
    """Return estimates of the rows, bytes and times that an index with a block scheme takes for some documents.

    Fingerprints are taken as spread evenly. `passages` is the option of the profile, a number of characters, or None.
    Bytes and times are sums of measured constants, one a block row and one a document; they stand at the head of this
    module with their conditions.

    Examples
    --------
    >>> from simhash_hbase.rows.blocks import Scheme
    >>> planned = plan_scheme(Scheme.parse("5x2"), 2**34)
    >>> planned.tables, planned.rows_a_scan, planned.rows_a_query, planned.rows_a_query_exact
    (10, 256, 2560, 3584.0)
    """
    if documents < 1:
        raise InvalidArgument(f"documents is {documents}: wanted at least 1", parameter="documents")
    if compression not in HBASE_BYTES:
        raise InvalidArgument(
            f"compression {compression!r}: measured were {', '.join(HBASE_BYTES)}", parameter="compression"
        )
    tables = len(scheme.tables)
    # Winnowing keeps two of w + 1 hashes on average, for windows of w (Schleimer, Wilkerson, Aiken 2003).
    windows = 0 if passages is None else passages - passage_gram(passages) + 1
    passage_rows = round(2 * CHARACTERS_A_DOCUMENT / (windows + 1)) if windows else 0
    per_document = tables + bands + passage_rows
    rows = documents * per_document
    segments = SEGMENT_BYTES * bands + PASSAGE_BYTES * passage_rows
    a_scan = round(documents / 2 ** max(table.bits for table in scheme.tables))

    def cost(a_row: float, a_document: float) -> float:
        return documents * (per_document * a_row + a_document)

    def hours(seconds: float) -> float:
        return round(seconds / HOUR_S, 4)

    a_row, a_document = HBASE_BYTES[compression]
    hbase_bytes = round(cost(a_row, a_document + segments))
    return PlannedScheme(
        scheme=str(scheme),
        distance=scheme.distance,
        tables=tables,
        bands=bands,
        passage_rows=passage_rows,
        rows=rows,
        rows_a_scan=a_scan,
        rows_a_query=a_scan * tables,
        rows_a_query_exact=round(scheme.expected_rows(documents), 4),
        embedded_bytes=round(cost(EMBEDDED_BYTES_A_ROW, EMBEDDED_BYTES_A_DOCUMENT + segments)),
        embedded_dedup_bytes=round(cost(EMBEDDED_DEDUP_BYTES_A_ROW, EMBEDDED_DEDUP_BYTES_A_DOCUMENT + segments)),
        embedded_load_hours=hours(cost(EMBEDDED_SECONDS_A_ROW, EMBEDDED_SECONDS_A_DOCUMENT)),
        compression=compression,
        hbase_bytes=hbase_bytes,
        hbase_regions=max(1, -(-hbase_bytes // REGION_BYTES)),
        load_hours=hours(cost(HBASE_SECONDS_A_ROW, HBASE_SECONDS_A_DOCUMENT)),
        fingerprint_hours=hours(documents / DOCUMENTS_A_SECOND),
    )
