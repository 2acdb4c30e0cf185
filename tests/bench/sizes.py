"""Sizes of a run: the numbers of documents, queries and repetitions."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Numbers of documents and queries; the default makes a run of some minutes."""

    sets: tuple[str, ...] = ("laws-zh", "laws-en", "lctt", "graph")  # Sets of documents, by `bench.documents`.
    repeats: int = 3  # Repetitions, of which the best counts.
    rounds: int = 7  # The same where the best of three differs by a third from run to run.
    texts: int = 300  # Documents of a set that are fingerprinted by everyone.
    warm_texts: int = 2_000  # Other documents of the set that come before, for tables that fill as words are seen.
    fingerprints: int = 1_000_000  # Uniform fingerprints in the index that is queried.
    queries: int = 100_000  # Queries of the largest batch; the others are a tenth, and single ones a hundredth of it.
    index_fingerprints: int = 1_000_000  # Fingerprints for PyPI simhash's index, which takes about 1 KB each.
    flat_queries: int = 200  # Queries that are compared with every fingerprint.
    documents: int = 100_000  # Documents that are put or loaded into a folder or HBase for time and bytes.
    dedup_documents: int = 2_000  # Documents of a set that ``dedup`` decides.
    text_documents: int = 5_000  # Documents of a set that go from a file to rows.
    memory_documents: tuple[int, int] = (50_000, 200_000)  # Between these two, the memory of ``dedup`` is seen to grow.
    held: int = 20_000  # Documents in the index before others are claimed, or sent to a service one by one.
    service_documents: int = 4_000  # Documents that are sent to a service in one stream.
    service_singles: int = 500  # Single calls of the library beside a service.
    service_clients: tuple[int, ...] = (1, 8, 32, 128)  # Clients at a time.
    service_seconds: float = 5.0  # Seconds of each.
    claim_batch: int = 2_000  # Documents that are claimed at a time.
    hbase_singles: int = 300  # Single queries that every client of HBase answers in a round.
    hbase_warm: int = 2_000
    """Queries that each client of HBase answers before: Java compiles what was called ten thousands of times."""
    hbase_files: tuple[tuple[str, str], ...] = (
        ("NONE", "NONE"),
        ("FAST_DIFF", "NONE"),
        ("FAST_DIFF", "SNAPPY"),
        ("FAST_DIFF", "LZ4"),
        ("FAST_DIFF", "ZSTD"),
    )
    """Data block encodings and codecs under which HBase writes its files anew."""
    passage_documents: tuple[int, ...] = (100_000, 1_000_000)
    """Documents in the folders that are asked for clues."""
    passage_queries: int = 200
    growth: tuple[int, ...] = (100_000, 1_000_000, 10_000_000)
    """Documents in the indexes whose costs are compared, the smallest first."""
    growth_queries: int = 1_000  # Single queries of each; a batch has ten times as many.
    growth_rate: int = 4_000  # Lookups a second that are asked of the largest.
    growth_minutes: float = 10.0  # For so long.


DEFAULT = Sizes()
LARGE = Sizes(fingerprints=10_000_000, flat_queries=50)
TINY = Sizes(
    sets=("graph",),
    repeats=1,
    rounds=2,
    texts=5,
    warm_texts=5,
    fingerprints=3_000,
    queries=100,
    index_fingerprints=2_000,
    flat_queries=8,
    documents=300,
    dedup_documents=40,
    text_documents=40,
    memory_documents=(2_000, 5_000),
    held=60,
    service_documents=30,
    service_singles=5,
    service_clients=(1, 3),
    service_seconds=0.05,
    claim_batch=20,
    hbase_singles=10,
    hbase_warm=5,
    hbase_files=(("NONE", "NONE"), ("FAST_DIFF", "SNAPPY")),
    passage_documents=(200,),
    passage_queries=5,
    growth=(300, 900),
    growth_queries=20,
    growth_rate=200,
    growth_minutes=0.02,
)
