"""Metrics of the service, in the format of Prometheus."""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from simhash_hbase.errors import SimhashError
from simhash_hbase.index.search import Searched
from simhash_hbase.service.limits import METRICS_FOLDER
from simhash_hbase.stores.base import Store

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ROWS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000)


class Metrics:
    """The Prometheus metrics of one service, in a registry of their own."""

    def __init__(self, store: Store) -> None:
        self._registry = CollectorRegistry()
        counter = partial(Counter, registry=self._registry)
        # The values of all living processes are added up.
        gauge = partial(Gauge, registry=self._registry, multiprocess_mode="livesum")
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
            "simhash_documents", "Documents answered, by operation and outcome.", ["operation", "outcome"]
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
        self._store = store
        if store.traffic() is not None:
            self._connections = gauge("simhash_store_connections", "Connections to the store, by state.", ["state"])
            self._connections_limit = gauge("simhash_store_connections_limit", "Connections that there may be.")
            self._retries = counter("simhash_store_retries", "Calls of the store made again.")
            self._retries_counted = 0
        self._last_backup: Gauge | None = None
        self._disk: tuple[Gauge, Gauge] | None = None

    def searched(self, figures: Searched) -> None:
        """Add a search's queries, rows read, candidates and matches to the metrics; any thread may call this."""
        if not figures.queries:
            return
        self._rows.observe(figures.rows / figures.queries)
        self._queries.inc(figures.queries)
        self._candidates.inc(figures.candidates)
        self._matches.inc(figures.matches)
        self._truncated.inc(figures.truncated)

    def count(self, operation: str, outcomes: Mapping[str, int]) -> None:
        """Add to the metric of an operation's documents, by outcome, such as ``{"original": 3, "duplicate": 1}``."""
        for outcome, number in outcomes.items():
            self.documents.labels(operation, outcome).inc(number)

    def observe_backup(self, began_ms: int | None) -> None:
        """Set the metric of when the last backup of the index began, from ms since 1970.

        None, for no backup, sets 0.
        """
        if self._last_backup is None:
            # Until the index was asked there is no such metric: 0 would fire an alert.
            self._last_backup = Gauge(
                "simhash_last_backup_timestamp_seconds",
                "When the last backup that was noted in the index began; 0 if none was.",
                registry=self._registry,
                multiprocess_mode="livemostrecent",
            )
        self._last_backup.set((began_ms or 0) / 1000)

    def observe_store(self) -> None:
        """Set the metrics of the store to what it reports: bytes on its disk, connections and retries."""
        # A disk that cannot be asked is reported by requests.
        with suppress(SimhashError):
            if (space := self._store.space()) is not None:
                for gauge, size in zip(self._disk_gauges(), space, strict=True):
                    gauge.set(size)
        if (traffic := self._store.traffic()) is None:
            return
        self._connections.labels("in_use").set(traffic.in_use)
        self._connections.labels("idle").set(traffic.connections - traffic.in_use)
        self._connections_limit.set(traffic.most)
        self._retries.inc(traffic.retries - self._retries_counted)
        self._retries_counted = traffic.retries

    def _disk_gauges(self) -> tuple[Gauge, Gauge]:
        """Return the gauges of the bytes that the index takes on its disk, and of those that are free there.

        They are made when the disk has first answered: a folder may be away for a while.
        """
        if self._disk is None:
            # All processes of a service see the same disk.
            place = partial(Gauge, registry=self._registry, multiprocess_mode="livemax")
            self._disk = (
                place("simhash_store_bytes", "Bytes of the index on its disk."),
                place("simhash_store_free_bytes", "Bytes that are free on the disk of the index."),
            )
        return self._disk

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format; of several processes of one service, the sums."""
        self.observe_store()
        if METRICS_FOLDER not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
