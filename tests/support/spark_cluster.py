"""A standalone Spark: a master and two workers, each a process as a user starts it."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from simhash_hbase.stores.hbase.launcher import Downloads, cache_folder
from support.listening import free_port, wait_for_port
from support.patience import END_S

__all__ = ["standalone"]

CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
PACKAGE = "org.apache.spark.deploy"
HERE = "127.0.0.1"
WORKERS = 2


def java_home():
    return str(Downloads(cache_folder()).java().resolve().parents[1])


@contextmanager
def process(folder, name, *words):
    """Start a program of Spark, and end it; its log is in the folder."""
    log = folder / f"{name}.log"
    environment = {
        **os.environ,
        "JAVA_HOME": java_home(),
        "SPARK_LOCAL_IP": HERE,
        "SPARK_DAEMON_MEMORY": "512m",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_WORKER_DIR": str(folder / name),
    }
    with log.open("wb") as taken:
        started = subprocess.Popen([CLASS, *words], env=environment, stdout=taken, stderr=taken)
    try:
        yield started, log
    finally:
        started.terminate()
        started.wait()


def await_workers(log):
    end = time.monotonic() + END_S
    while log.read_text().count("Registering worker") < WORKERS:
        assert time.monotonic() < end, log.read_text()[-2000:]
        time.sleep(0.1)


@contextmanager
def standalone(folder):
    """Yield the address of a master that has two workers of one core each."""
    port = free_port()
    url = f"spark://{HERE}:{port}"
    with ExitStack() as all_:
        master = process(folder, "master", f"{PACKAGE}.master.Master", "--host", HERE, "--port", str(port),
                         "--webui-port", str(free_port()))  # fmt: skip
        started, log = all_.enter_context(master)
        wait_for_port(port, started, log)
        for number in range(WORKERS):
            words = ["--host", HERE, "--cores", "1", "--memory", "1g", "--webui-port", str(free_port()), url]
            all_.enter_context(process(folder, f"worker{number}", f"{PACKAGE}.worker.Worker", *words))
        await_workers(log)
        yield url
