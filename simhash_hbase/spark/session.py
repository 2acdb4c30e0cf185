"""A Spark session: one of this process, one on a cluster, or the one that ``spark-submit`` has begun."""

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.inputs.meter import Meter
from simhash_hbase.stores.hbase.launcher import Downloads, cache_folder

SUBMITTED = "PYSPARK_GATEWAY_PORT"  # A variable that spark-submit sets for the program that it starts.
LOCAL = "local["
DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # A row is a document: a batch of Arrow is to fit into memory.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    # Frames that are repartitioned here are split by size already; bounds that move would only cost.
    "spark.sql.adaptive.enabled": "false",
}
PARTITIONS_A_CORE = 3
POLL_S = 1.0


@dataclass(frozen=True)
class SparkOptions:
    """Where Spark runs, here or on a cluster, and its settings."""

    master: str | None = None  # None: the choice of ``spark-submit``, else this machine.
    workers: int | None = None  # Processors of this machine; None are all.
    partitions: int | None = None  # Partitions of a shuffle; None: three a core.
    settings: Mapping[str, str] = field(default_factory=dict)  # Spark's own.


@contextmanager
def session(options: SparkOptions) -> Iterator[SparkSession]:
    """Yield a Spark session, and stop it at the end; an error of Spark itself becomes `StoreUnavailable`."""
    # Nothing here gives pandas' own types to PySpark.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    settings = {**DEFAULTS, **options.settings}
    try:
        builder = SparkSession.builder.appName("simhash-hbase")
        if SUBMITTED not in os.environ:
            master = options.master or f"{LOCAL}{options.workers or '*'}]"
            builder = builder.master(master)
            if master.startswith("local"):
                settings = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", **settings}
            # A Java of this machine, or the runtime that HBase gets, too.
            java = Downloads(cache_folder()).java().resolve()
            os.environ.setdefault("JAVA_HOME", str(java.parent.parent))
            # Without it the workers run the Python that is first on the path.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        most = options.partitions or PARTITIONS_A_CORE * spark.sparkContext.defaultParallelism
        spark.conf.set("spark.sql.shuffle.partitions", str(most))
        try:
            yield spark
        finally:
            spark.stop()
    except (PySparkException, Py4JJavaError) as error:
        # The deepest cause in a trace of Java or of a Python worker.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        causes = [line for line in lines if line.startswith(("Caused by:", "simhash_hbase.errors."))]
        reason = (causes or lines or ["no reason was given"])[-1 if causes else 0].rstrip(".")
        raise StoreUnavailable(f"Spark: {reason}") from error


@contextmanager
def measured(spark: SparkSession, meter: Meter) -> Iterator[None]:
    """Report once a second, within the block, to a meter how many tasks Spark has finished."""
    ended = Event()

    def watch() -> None:
        tracker = spark.sparkContext.statusTracker()
        finished: dict[int, int] = {}  # By stage.
        running: set[int] = set()
        while not ended.wait(POLL_S):
            # A stage that has ended is looked at once more.
            now = set(tracker.getActiveStageIds())
            for stage in running | now:
                if (stage_info := tracker.getStageInfo(stage)) is not None:
                    finished[stage] = stage_info.numCompletedTasks
            running = now
            meter.show(sum(finished.values()))

    watching = Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()
