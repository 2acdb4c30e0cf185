"""The server as plain processes: HMaster (with ZooKeeper and the region server in it) and two gateways."""

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from provision import probe
from provision.gateways import Gateways, on_loopback
from provision.jars import fetch, locked_folder
from provision.java import find_java
from provision.locking import exclusive
from provision.processes import Process, start, stop_all
from provision.settings import Home
from provision.waiting import await_answers

_RESOURCES = Path(__file__).parent.parent
_LOG_LINES = 15
_INITIALIZED = "Master has completed initialization"
_ABORTED = "ABORTING master"
# In the order of starting; stopped the other way round, so that no gateway misses its server.
_SERVICES = {
    "master": "org.apache.hadoop.hbase.master.HMaster",
    "thrift1": "org.apache.hadoop.hbase.thrift.ThriftServer",
    "thrift2": "org.apache.hadoop.hbase.thrift2.ThriftServer",
}


@dataclass(frozen=True, kw_only=True)
class LocalServer:
    """One HBase in one folder; several may run side by side in different folders.

    Parameters
    ----------
    home : Home
        Its folder.
    cache : Path
        Where jars are kept for all servers.
    """

    home: Home
    cache: Path

    @property
    def _mark(self) -> str:
        return f"-Dprovision.home={self.home.path}"

    @property
    def _processes_file(self) -> Path:
        return self.home.path / "processes.json"

    def processes(self) -> dict[str, Process]:
        """Find the processes of this server that run.

        Returns
        -------
        dict[str, Process]
            By service, in the order of starting.
        """
        if not self._processes_file.exists():
            return {}
        written = json.loads(self._processes_file.read_text("utf-8"))
        found = {name: Process(**fields) for name, fields in written.items()}
        return {name: process for name, process in found.items() if process.is_running()}

    def gateways(self) -> Gateways | None:
        """Tell where the gateways answer.

        Returns
        -------
        Gateways or None
            None when a process is missing, or a gateway gives no right answer.
        """
        ports = self.home.read_ports()
        if set(self.processes()) != set(_SERVICES) or not ports:
            return None
        found = on_loopback(ports)
        return found if probe.failure(found) is None else None

    def up(self) -> Gateways:
        """Start it, unless it runs, and wait until both gateways answer a real call.

        Returns
        -------
        Gateways
            On the loopback address.

        Raises
        ------
        ProvisionError
            When it does not start, with the end of the log; what was started is stopped again.
        """
        with self._alone():
            found = self.gateways()
            if found is not None:
                print(f"already up in {self.home.path}", file=sys.stderr)
                return found
            self._stop()
            return self._start(find_java(), fetch(_RESOURCES / "jars.lock", self.cache))

    def down(self) -> bool:
        """Stop it: the gateways first, then HBase.

        Returns
        -------
        bool
            False when nothing ran.
        """
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
        """Tell what programs may want to know besides the ports.

        Returns
        -------
        dict[str, object]
            The client's configuration folder, the jars' and the process ids.
        """
        return {
            "conf": str(self.home.conf),
            "logs": str(self.home.logs),
            "jars": str(locked_folder(_RESOURCES / "jars.lock", self.cache)),
            "pids": {name: process.pid for name, process in self.processes().items()},
        }

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self.home.path.mkdir(parents=True, exist_ok=True)
        with exclusive(self.home.path / "lock"):
            yield

    def _stop(self) -> bool:
        running = self.processes()
        stop_all([process for name, process in running.items() if name != "master"])
        stop_all([process for name, process in running.items() if name == "master"])
        self._processes_file.unlink(missing_ok=True)
        return bool(running)

    def _start(self, java: Path, jars: Path) -> Gateways:
        started = time.monotonic()
        ports = self.home.choose_ports()
        self.home.write_conf(ports)
        for folder in (self.home.data, self.home.logs):
            folder.mkdir(exist_ok=True)
        print(f"starting HBase in {self.home.path} ...", file=sys.stderr)
        try:
            for service in _SERVICES:
                self._launch(service, java, jars, ports)
            found = on_loopback(ports)
            await_answers(
                found,
                started,
                trouble=self._trouble,
                log_end=lambda: self._log_end("master"),
                # A gateway asked before the master is there remembers that, and answers late.
                is_prepared=lambda: self._log_has("master", _INITIALIZED),
            )
        except BaseException:
            self._stop()
            raise
        return found

    def _launch(self, service: str, java: Path, jars: Path, ports: dict[str, int]) -> None:
        log = self._log(service)
        if log.exists():
            os.replace(log, log.with_suffix(".log.1"))
        if service == "master":
            heap, arguments = os.environ.get("HBASE_HEAP", "1g"), ["start"]
        else:
            heap = os.environ.get("THRIFT_HEAP", "256m")
            arguments = ["-b", "127.0.0.1", "-p", str(ports[service])]
        options = [f"@{_RESOURCES / 'jvm.options'}", f"-Xmx{heap}", f"-Dservice={service}", self._mark]
        class_path = ["-cp", f"{self.home.conf}{os.pathsep}{jars}/*"]
        command = [str(java), *options, *class_path, _SERVICES[service], *arguments]
        process = start(command, self._mark, log)
        written = {name: asdict(running) for name, running in self.processes().items()}
        written[service] = asdict(process)
        self._processes_file.write_text(json.dumps(written, indent=1) + "\n", "utf-8")

    def _trouble(self) -> str | None:
        for service in set(_SERVICES) - set(self.processes()):
            return f"{service} ended:\n{self._log_end(service)}"
        # Its process may live on for minutes.
        return f"it gave up:\n{self._log_end('master')}" if self._log_has("master", _ABORTED) else None

    def _log_has(self, service: str, words: str) -> bool:
        return words in self._log(service).read_text("utf-8", errors="replace")

    def _log(self, service: str) -> Path:
        return self.home.logs / f"{service}.log"

    def _log_end(self, service: str) -> str:
        """From the first error on, or else the last lines."""
        lines = self._log(service).read_text("utf-8", errors="replace").splitlines()
        first = next((n for n, line in enumerate(lines) if " ERROR " in line), -_LOG_LINES)
        return "\n".join([*lines[first:][:_LOG_LINES], f"(all of it: {self._log(service)})"])
