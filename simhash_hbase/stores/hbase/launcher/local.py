"""The server as plain processes: one HBase with two gateways."""

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from simhash_hbase.stores.hbase.launcher.downloads import Downloads
from simhash_hbase.stores.hbase.launcher.home import FILES, Home, exclusive
from simhash_hbase.stores.hbase.launcher.layouts import ABORTED, SINGLE, Layout, Role
from simhash_hbase.stores.hbase.launcher.probe import await_answers, failure
from simhash_hbase.stores.hbase.launcher.processes import Process, start, stop_all

LOG_LINES = 15


@dataclass(frozen=True)
class LocalServer:
    """One HBase in one folder; several may run side by side in different folders."""

    home: Home
    downloads: Downloads
    layout: Layout = SINGLE

    @property
    def _processes_file(self) -> Path:
        return self.home.path / "processes.json"

    def started(self) -> dict[str, Process]:
        """Read which processes were started, in the order of starting; some may have ended."""
        if not self._processes_file.exists():
            return {}
        written = json.loads(self._processes_file.read_text("utf-8"))
        return {name: Process(**fields) for name, fields in written.items()}

    def processes(self) -> dict[str, Process]:
        """Find the processes of this server that run, in the order of starting."""
        return {name: process for name, process in self.started().items() if process.is_running()}

    def ports(self) -> dict[str, int] | None:
        """Return the ports when all processes run and all gateways answer."""
        ports = self.home.read_ports()
        if set(self.processes()) != set(self.layout.roles) or not ports:
            return None
        return ports if failure(ports) is None else None

    def up(self) -> dict[str, int]:
        """Start it, unless it runs, and return its ports; what was started is stopped again where that fails."""
        with self.alone():
            if (ports := self.ports()) is not None:
                print(f"already up in {self.home.path}", file=sys.stderr)
                return ports
            self._stop()
            return self._start(self.downloads.java(), self.downloads.jars())

    def down(self) -> bool:
        """Stop it, the gateways first; False when nothing ran."""
        if not self.home.path.is_dir():
            return False
        with self.alone():
            return self._stop()

    def clean(self) -> None:
        """Stop it and remove its data, logs and configuration; the folder itself and its ports stay."""
        self.down()
        for folder in (self.home.data, self.home.logs, self.home.conf):
            shutil.rmtree(folder, ignore_errors=True)

    def is_ready(self, name: str) -> bool:
        """Tell whether the log of a process that was started says that it is ready."""
        return self._log_has(name, self.layout.roles[name].ready)

    def prepare(self, java: Path, jars: Path) -> None:
        """Do what is to be done before the first process starts."""

    def facts(self) -> dict[str, object]:
        """Collect what programs may want to know besides the ports."""
        return {
            "conf": str(self.home.conf),
            "logs": str(self.home.logs),
            "jars": str(self.downloads.jars_folder()),
            "pids": {name: process.pid for name, process in self.processes().items()},
        }

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other commands waiting that change this server."""
        with exclusive(self.home.path / "lock"):
            yield

    def _stop(self) -> bool:
        running = self.processes()
        names = [{role.name for role in stage} for stage in self.layout.stages]
        for stage in reversed(names):
            stop_all([process for name, process in running.items() if name in stage and name != "master"])
            stop_all([process for name, process in running.items() if name in stage])
        self._processes_file.unlink(missing_ok=True)
        return bool(running)

    def _start(self, java: Path, jars: Path) -> dict[str, int]:
        started = time.monotonic()
        ports = self.home.choose_ports(self.layout.ports)
        self.home.write_conf(ports, self.layout.properties)
        for folder in (self.home.data, self.home.logs):
            folder.mkdir(exist_ok=True)
        print(f"starting HBase in {self.home.path} ...", file=sys.stderr)
        try:
            self.prepare(java, jars)
            for stage in self.layout.stages:
                for role in stage:
                    self.launch(role, java, jars, ports)
                # A gateway asked before the master is there remembers that, and answers late.
                asked = {role.name: ports[role.name] for role in stage if role.kind == "gateway"}
                self._await(stage, asked)
        except BaseException:
            self._stop()
            raise
        print(f"ready after {time.monotonic() - started:.1f} s", file=sys.stderr)
        return ports

    def _await(self, stage: Sequence[Role], asked: Mapping[str, int]) -> None:
        await_answers(
            asked,
            trouble=self._trouble,
            log_end=lambda: "\n".join(self._log_end(role.name) for role in stage if not self.is_ready(role.name)),
            is_prepared=lambda: all(self.is_ready(role.name) for role in stage),
        )

    def launch(self, role: Role, java: Path, jars: Path, ports: Mapping[str, int]) -> None:
        """Start one process."""
        log = self._log(role.name)
        if log.exists():
            os.replace(log, log.with_suffix(".log.1"))
        mark = f"-Dprovision.home={self.home.path}"
        options = [f"@{FILES / 'jvm.options'}", *self.layout.jvm, mark, "-cp", self.class_path(jars)]
        process = start([str(java), *options, *role.command(ports)], mark, log)
        written = {name: asdict(running) for name, running in {**self.started(), role.name: process}.items()}
        self._processes_file.write_text(json.dumps(written, indent=1) + "\n", "utf-8")

    def class_path(self, jars: Path) -> str:
        """Return the configuration and all jars."""
        return f"{self.home.conf}{os.pathsep}{jars}/*"

    def _trouble(self) -> str | None:
        for service in set(self.started()) - set(self.processes()):
            return f"{service} ended:\n{self._log_end(service)}"
        # Its process may live on for minutes.
        return f"it gave up:\n{self._log_end('master')}" if self._log_has("master", ABORTED) else None

    def _log(self, service: str) -> Path:
        return self.home.logs / f"{service}.log"

    def _log_has(self, service: str, words: str) -> bool:
        log = self._log(service)
        return log.exists() and words in log.read_text("utf-8", errors="replace")

    def _log_end(self, service: str) -> str:
        """Return the lines from the first error on, or else the last ones."""
        lines = self._log(service).read_text("utf-8", errors="replace").splitlines()
        first = next((n for n, line in enumerate(lines) if " ERROR " in line), -LOG_LINES)
        return "\n".join([*lines[first:][:LOG_LINES], f"(all of it: {self._log(service)})"])
