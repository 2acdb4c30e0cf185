"""The parts of the benchmark by name; each gives tables."""

from collections.abc import Callable

from bench.claiming import measure_claim
from bench.deduping import measure_dedup
from bench.fingerprints import measure_fingerprints
from bench.growth import measure_growth, measure_growth_in_hbase
from bench.hbase import measure_hbase
from bench.loading import measure_load
from bench.lsh import measure_lsh
from bench.queries import measure_queries
from bench.rows import measure_rows
from bench.service import measure_service
from bench.service_singles import measure_singles, measure_singles_in_hbase
from bench.sizes import Sizes
from bench.tables import Table
from bench.throughput import measure_text

__all__ = ["DEFAULT_PARTS", "PARTS"]

PARTS: dict[str, Callable[[Sizes], list[Table]]] = {
    "fingerprints": measure_fingerprints,
    "queries": measure_queries,
    "rows": measure_rows,
    "lsh": measure_lsh,
    "load": measure_load,
    "dedup": measure_dedup,
    "text": measure_text,
    "service": lambda sizes: [*measure_service(sizes), *measure_singles(sizes)],
    "claim": measure_claim,
    "hbase": measure_hbase,
    "service-hbase": measure_singles_in_hbase,
    "growth": measure_growth,
    "growth-hbase": measure_growth_in_hbase,
}
# `growth` takes hours and 20 GB of disk; the others start an HBase.
DEFAULT_PARTS = ("fingerprints", "queries", "rows", "lsh", "load", "dedup", "text", "service")
