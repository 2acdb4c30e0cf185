"""The parts of the benchmark by name; each gives tables."""

from collections.abc import Callable

from bench.claiming import measure_claim
from bench.deduping import measure_dedup
from bench.fingerprints import measure_fingerprints
from bench.hbase import measure_hbase
from bench.loading import measure_load
from bench.lsh import measure_lsh
from bench.queries import measure_queries
from bench.service import measure_service
from bench.sizes import Sizes
from bench.tables import Table

__all__ = ["DEFAULT_PARTS", "PARTS"]

PARTS: dict[str, Callable[[Sizes], list[Table]]] = {
    "fingerprints": measure_fingerprints,
    "queries": measure_queries,
    "lsh": measure_lsh,
    "load": measure_load,
    "dedup": measure_dedup,
    "service": measure_service,
    "claim": measure_claim,
    "hbase": measure_hbase,
}
# The others start an HBase.
DEFAULT_PARTS = ("fingerprints", "queries", "lsh", "load", "dedup", "service")
