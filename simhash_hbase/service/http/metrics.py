"""What Prometheus reads."""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from simhash_hbase.index.reading import Searched
from simhash_hbase.stores.base import Networked, Store

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ROWS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000)


class Metrics:
    """The counters of one service, in a registry of their own."""

    def __init__(self, store: Store) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_StoreTraffic(store))
        self.requests = Counter(
            "simhash_requests", "Requests answered.", ["route", "method", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "simhash_request_seconds",
            "Time from a request's header to the end of its answer.",
            ["route", "media"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self.under_way = Gauge(
            "simhash_requests_in_progress", "Requests under way that were let in.", registry=self._registry
        )
        self.turned_away = Counter(
            "simhash_requests_turned_away", "Requests refused because there were too many.", registry=self._registry
        )
        self.documents = Counter(
            "simhash_documents",
            "Documents answered, by what was asked and what became of them.",
            ["operation", "outcome"],
            registry=self._registry,
        )
        self.batch_seconds = Histogram(
            "simhash_batch_seconds",
            "Time that the index takes for a batch, texts analysed already.",
            ["operation"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._rows = Histogram(
            "simhash_query_rows",
            "Block rows read for a query, the mean of a batch.",
            buckets=ROWS,
            registry=self._registry,
        )
        self._queries = Counter("simhash_queries", "Documents looked for.", registry=self._registry)
        self._candidates = Counter(
            "simhash_query_candidates", "Stored fingerprints within reach of a query.", registry=self._registry
        )
        self._matches = Counter("simhash_query_matches", "Documents that a rule accepted.", registry=self._registry)
        self._truncated = Counter("simhash_answers_truncated", "Answers that a limit cut.", registry=self._registry)

    def searched(self, figures: Searched) -> None:
        """Count a search; any thread may call it."""
        if not figures.queries:
            return
        self._rows.observe(figures.rows / figures.queries)
        self._queries.inc(figures.queries)
        self._candidates.inc(figures.candidates)
        self._matches.inc(figures.matches)
        self._truncated.inc(figures.truncated)

    def count(self, operation: str, outcomes: Mapping[str, int]) -> None:
        """Count documents by what became of them."""
        for outcome, number in outcomes.items():
            self.documents.labels(operation, outcome).inc(number)

    def text(self) -> bytes:
        """Write all in Prometheus' text format."""
        return generate_latest(self._registry)


class _StoreTraffic:
    """Asks the store at each reading, so that nothing is counted twice."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        """Yield the figures of a store that is reached over a network."""
        if not isinstance(self._store, Networked):
            return
        traffic = self._store.traffic()
        connections = GaugeMetricFamily(
            "simhash_store_connections", "Connections to the store, by what they do.", labels=["state"]
        )
        connections.add_metric(["in_use"], traffic.in_use)
        connections.add_metric(["idle"], traffic.connections - traffic.in_use)
        yield connections
        yield GaugeMetricFamily("simhash_store_connections_limit", "Connections that there may be.", value=traffic.most)
        yield CounterMetricFamily("simhash_store_retries", "Calls of the store made again.", value=traffic.retries)
