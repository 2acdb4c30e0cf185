"""What Prometheus reads."""

from collections.abc import Iterator, Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from simhash_hbase.index.reading import Searched
from simhash_hbase.stores.abilities import Networked
from simhash_hbase.stores.base import Store

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ROWS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000)


class Metrics:
    """The counters of one service, in a registry of their own."""

    def __init__(self, store: Store) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_StoreTraffic(store))
        counter = partial(Counter, registry=self._registry)
        gauge = partial(Gauge, registry=self._registry)
        histogram = partial(Histogram, registry=self._registry)
        self.requests = counter("simhash_requests", "Requests answered.", ["route", "method", "status"])
        self.seconds = histogram(
            "simhash_request_seconds",
            "Time from a request's header to the end of its answer.",
            ["route", "media"],
            buckets=SECONDS,
        )
        self.under_way = gauge("simhash_requests_in_progress", "Requests under way that were let in.")
        self.turned_away = counter("simhash_requests_turned_away", "Requests refused because there were too many.")
        self.documents = counter(
            "simhash_documents",
            "Documents answered, by what was asked and what became of them.",
            ["operation", "outcome"],
        )
        self.batch_seconds = histogram(
            "simhash_batch_seconds",
            "Time that the index takes for a batch, texts analysed already.",
            ["operation"],
            buckets=SECONDS,
        )
        self._rows = histogram("simhash_query_rows", "Block rows read for a query, the mean of a batch.", buckets=ROWS)
        self._queries = counter("simhash_queries", "Documents looked for.")
        self._candidates = counter("simhash_query_candidates", "Stored fingerprints within reach of a query.")
        self._matches = counter("simhash_query_matches", "Documents that a rule accepted.")
        self._truncated = counter("simhash_answers_truncated", "Answers that a limit cut.")

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
