"""The server as plain processes: HMaster (with ZooKeeper and the region server in it) and two gateways."""

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from simhash_hbase.launcher.downloads import Downloads
from simhash_hbase.launcher.home import FILES, HOST, Home, exclusive
from simhash_hbase.launcher.probe import await_answers, failure
from simhash_hbase.launcher.processes import Process, start, stop_all

LOG_LINES = 15
INITIALIZED = "Master has completed initialization"
ABORTED = "ABORTING master"
# In the order of starting; stopped the other way round, so that no gateway misses its server.
SERVICES = {
    "master": "org.apache.hadoop.hbase.master.HMaster",
    "thrift1": "org.apache.hadoop.hbase.thrift.ThriftServer",
    "thrift2": "org.apache.hadoop.hbase.thrift2.ThriftServer",
}


@dataclass(frozen=True)
class LocalServer:
    """One HBase in one folder; several may run side by side in different folders."""

    home: Home
    downloads: Downloads

    @property
    def _processes_file(self) -> Path:
        return self.home.path / "processes.json"

    def processes(self) -> dict[str, Process]:
        """Find the processes of this server that run, in the order of starting."""
        if not self._processes_file.exists():
            return {}
        written = json.loads(self._processes_file.read_text("utf-8"))
        found = {name: Process(**fields) for name, fields in written.items()}
        return {name: process for name, process in found.items() if process.is_running()}

    def ports(self) -> dict[str, int] | None:
        """Return the ports when all processes run and both gateways answer."""
        ports = self.home.read_ports()
        if set(self.processes()) != set(SERVICES) or not ports:
            return None
        return ports if failure(ports) is None else None

    def up(self) -> dict[str, int]:
        """Start it, unless it runs, and return its ports; what was started is stopped again where that fails."""
        with self._alone():
            if (ports := self.ports()) is not None:
                print(f"already up in {self.home.path}", file=sys.stderr)
                return ports
            self._stop()
            return self._start(self.downloads.java(), self.downloads.jars())

    def down(self) -> bool:
        """Stop it, the gateways first; False when nothing ran."""
        if not self.home.path.is_dir():
            return False
        with self._alone():
            return self._stop()

    def clean(self) -> None:
        """Stop it and remove its data, logs and configuration; the folder itself and its ports stay."""
        self.down()
        for folder in (self.home.data, self.home.logs, self.home.conf):
            shutil.rmtree(folder, ignore_errors=True)

    def facts(self) -> dict[str, object]:
        """Collect what programs may want to know besides the ports."""
        return {
            "conf": str(self.home.conf),
            "logs": str(self.home.logs),
            "jars": str(self.downloads.jars_folder()),
            "pids": {name: process.pid for name, process in self.processes().items()},
        }

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with exclusive(self.home.path / "lock"):
            yield

    def _stop(self) -> bool:
        running = self.processes()
        stop_all([process for name, process in running.items() if name != "master"])
        stop_all([process for name, process in running.items() if name == "master"])
        self._processes_file.unlink(missing_ok=True)
        return bool(running)

    def _start(self, java: Path, jars: Path) -> dict[str, int]:
        started = time.monotonic()
        ports = self.home.choose_ports()
        self.home.write_conf(ports)
        for folder in (self.home.data, self.home.logs):
            folder.mkdir(exist_ok=True)
        print(f"starting HBase in {self.home.path} ...", file=sys.stderr)
        try:
            for service in SERVICES:
                self._launch(service, java, jars, ports)
            await_answers(
                ports,
                trouble=self._trouble,
                log_end=lambda: self._log_end("master"),
                # A gateway asked before the master is there remembers that, and answers late.
                is_prepared=lambda: self._log_has(INITIALIZED),
            )
        except BaseException:
            self._stop()
            raise
        print(f"ready after {time.monotonic() - started:.1f} s", file=sys.stderr)
        return ports

    def _launch(self, service: str, java: Path, jars: Path, ports: Mapping[str, int]) -> None:
        log = self._log(service)
        if log.exists():
            os.replace(log, log.with_suffix(".log.1"))
        if service == "master":
            heap, arguments = os.environ.get("HBASE_HEAP", "1g"), ["start"]
        else:
            heap, arguments = os.environ.get("THRIFT_HEAP", "256m"), ["-b", HOST, "-p", str(ports[service])]
        mark = f"-Dprovision.home={self.home.path}"
        options = [f"@{FILES / 'jvm.options'}", f"-Xmx{heap}", f"-Dservice={service}", mark]
        class_path = ["-cp", f"{self.home.conf}{os.pathsep}{jars}/*"]
        process = start([str(java), *options, *class_path, SERVICES[service], *arguments], mark, log)
        written = {name: asdict(running) for name, running in {**self.processes(), service: process}.items()}
        self._processes_file.write_text(json.dumps(written, indent=1) + "\n", "utf-8")

    def _trouble(self) -> str | None:
        for service in set(SERVICES) - set(self.processes()):
            return f"{service} ended:\n{self._log_end(service)}"
        # Its process may live on for minutes.
        return f"it gave up:\n{self._log_end('master')}" if self._log_has(ABORTED) else None

    def _log(self, service: str) -> Path:
        return self.home.logs / f"{service}.log"

    def _log_has(self, words: str) -> bool:
        return words in self._log("master").read_text("utf-8", errors="replace")

    def _log_end(self, service: str) -> str:
        """Return the lines from the first error on, or else the last ones."""
        lines = self._log(service).read_text("utf-8", errors="replace").splitlines()
        first = next((n for n, line in enumerate(lines) if " ERROR " in line), -LOG_LINES)
        return "\n".join([*lines[first:][:LOG_LINES], f"(all of it: {self._log(service)})"])
