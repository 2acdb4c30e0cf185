"""The server as plain processes, one HBase with two gateways, which outlive the command that starts them.

Other processes are never taken for one of these. A process id alone says little: after a reboot, or after enough forks,
it belongs to somebody else. So the start time is kept with it, and a mark (the folder of the server) must be in the
command line.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from simhash_hbase.stores.hbase.launcher.downloads import Downloads
from simhash_hbase.stores.hbase.launcher.home import FILES, HOST, Home, await_answers, exclusive, failure

HBASE = "org.apache.hadoop.hbase"
LOG_LINES = 15
LOADING_S = 5.0
STOP_S = 30.0
KILL_S = 5.0


@dataclass(frozen=True)
class Role:
    """How one process of a server is started; ``{name}`` in its arguments stands for the port of that name."""

    name: str
    kind: str
    main: str
    arguments: str
    heap: tuple[str, str]  # A variable that sizes it, and the default.
    ready: str = ""  # Words in its log once it is ready; a gateway is asked instead.

    def command(self, ports: Mapping[str, int]) -> list[str]:
        """Return the end of the java command for this process: heap size, main class, and arguments with its ports."""
        variable, default = self.heap
        words = self.arguments.format_map(ports).split()
        return [f"-Xmx{os.environ.get(variable, default)}", f"-Dservice={self.name}", self.main, *words]


@dataclass(frozen=True)
class Layout:
    """The processes of a server, in stages: one is started when the one before it is ready, and stopped before it."""

    stages: tuple[tuple[Role, ...], ...]
    ports: tuple[str, ...]
    properties: tuple[Path, ...]  # Files; of two properties with one name HBase takes the later.
    jvm: tuple[str, ...] = ()

    @property
    def roles(self) -> dict[str, Role]:
        """How each process of the server is started, by its name, in the order of starting."""
        return {role.name: role for stage in self.stages for role in stage}


def master(name: str, heap: str, arguments: str, ready: str) -> Role:
    """Return how a master is started; `ready` are the words in its log once it is ready."""
    return Role(name, "master", f"{HBASE}.master.HMaster", arguments, ("HBASE_HEAP", heap), ready)


def gateway(name: str, heap: str) -> Role:
    """Return how a gateway is started, whose name begins with its Thrift version, as ``thrift2`` does."""
    main = f"{HBASE}.{'thrift2' if name.startswith('thrift2') else 'thrift'}.ThriftServer"
    return Role(name, "gateway", main, f"-b {HOST} -p {{{name}}}", ("THRIFT_HEAP", heap))


SITE = FILES / "site.properties"
INITIALIZED = "Master has completed initialization"
ABORTED = "ABORTING master"

SINGLE = Layout(
    stages=((master("master", "1g", "start", INITIALIZED), gateway("thrift1", "256m"), gateway("thrift2", "256m")),),
    ports=("zookeeper", "master", "regionserver", "thrift1", "thrift2"),
    properties=(SITE,),
)


@dataclass(frozen=True)
class Process:
    """A process that the launcher has started, with what tells it from a later one of the same id."""

    pid: int
    started: str  # When it started, as the system writes it: only compared.
    mark: str  # Text in its command line.

    def is_running(self) -> bool:
        """Return whether this process still runs, and not a later one with the same id."""
        return self.state() != "dead"

    def state(self) -> str:
        """Return ``alive``, ``paused`` or ``dead`` for this process; a later one with the same id counts as dead."""
        found = _look(self.pid)
        if found is None or found[1] != self.started or self.mark not in found[2]:
            return "dead"
        return "paused" if found[0][0] in "Tt" else "alive"

    def send(self, number: int) -> None:
        """Send a signal by its number, if this process, and not a later one with the same id, still runs."""
        if self.is_running():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


@dataclass(frozen=True)
class LocalServer:
    """A local HBase, as processes with one folder; several may run side by side in different folders."""

    home: Home
    downloads: Downloads
    layout: Layout = SINGLE

    @property
    def _processes_file(self) -> Path:
        return self.home.path / "processes.json"

    def started(self) -> dict[str, Process]:
        """Return the processes that `up` has started, by name and in the order of starting; some may have ended."""
        if not self._processes_file.exists():
            return {}
        written = json.loads(self._processes_file.read_text("utf-8"))
        return {name: Process(**fields) for name, fields in written.items()}

    def processes(self) -> dict[str, Process]:
        """Return the running processes of this server by their names, in the order of starting."""
        return {name: process for name, process in self.started().items() if process.is_running()}

    def ports(self) -> dict[str, int] | None:
        """Return the ports by name if all processes run and all gateways answer; else None."""
        ports = self.home.read_ports()
        if set(self.processes()) != set(self.layout.roles) or not ports:
            return None
        return ports if failure(ports) is None else None

    def up(self) -> dict[str, int]:
        """Start the server, unless it runs, and return its ports; after a failure stop the processes it started."""
        with self.alone():
            if (ports := self.ports()) is not None:
                print(f"already up in {self.home.path}", file=sys.stderr)
                return ports
            self._stop()
            java, jars = self.downloads.java(), self.downloads.jars()
            started = time.monotonic()
            ports = self.home.choose_ports(self.layout.ports)
            self.home.write_conf(ports, self.layout.properties)
            for folder in (self.home.data, self.home.logs):
                folder.mkdir(exist_ok=True)
            print(f"starting HBase in {self.home.path}, which takes up to a minute ...", file=sys.stderr)
            try:
                self.prepare(java, jars)
                for stage in self.layout.stages:
                    for role in stage:
                        self.launch(role, java, jars, ports)
                    self._await(stage, ports)
            except BaseException:
                self._stop()
                raise
            print(f"ready after {time.monotonic() - started:.1f} s", file=sys.stderr)
            return ports

    def down(self) -> bool:
        """Stop the server, the gateways first; False when nothing ran."""
        if not self.home.path.is_dir():
            return False
        with self.alone():
            return self._stop()

    def clean(self) -> None:
        """Stop the server and remove its data, logs and configuration; the folder itself and its ports stay."""
        self.down()
        for folder in (self.home.data, self.home.logs, self.home.conf):
            shutil.rmtree(folder, ignore_errors=True)

    def is_ready(self, name: str) -> bool:
        """Return whether the log of the process of this name says that it is ready."""
        return self._log_has(name, self.layout.roles[name].ready)

    def prepare(self, java: Path, jars: Path) -> None:
        """Do nothing; a subclass whose processes need folders or files before their first start makes them here."""

    def facts(self) -> dict[str, object]:
        """Return what programs may want to know about the server besides its ports: folders and process ids."""
        return {
            "conf": str(self.home.conf),
            "logs": str(self.home.logs),
            "jars": str(self.downloads.jars_folder()),
            "pids": {name: process.pid for name, process in self.processes().items()},
        }

    def alone(self) -> AbstractContextManager[None]:
        """Return a block that holds the server's lock: other commands that change the server wait for its end."""
        return exclusive(self.home.path / "lock")

    def _stop(self) -> bool:
        running = self.processes()
        names = [{role.name for role in stage} for stage in self.layout.stages]
        for stage in reversed(names):
            stop_all([process for name, process in running.items() if name in stage and name != "master"])
            stop_all([process for name, process in running.items() if name in stage])
        self._processes_file.unlink(missing_ok=True)
        return bool(running)

    def _await(self, stage: Sequence[Role], ports: Mapping[str, int]) -> None:
        """Wait until the processes of a stage are ready; raise an error if one ends."""

        def trouble() -> str | None:
            for service in set(self.started()) - set(self.processes()):
                return f"{service} ended:\n{self._log_end(service)}"
            # The process of a master that gave up may live on for minutes.
            return f"it gave up:\n{self._log_end('master')}" if self._log_has("master", ABORTED) else None

        await_answers(
            # A gateway asked before the master is there remembers that, and answers late.
            {role.name: ports[role.name] for role in stage if role.kind == "gateway"},
            trouble=trouble,
            log_end=lambda: "\n".join(self._log_end(role.name) for role in stage if not self.is_ready(role.name)),
            is_prepared=lambda: all(self.is_ready(role.name) for role in stage),
        )

    def launch(self, role: Role, java: Path, jars: Path, ports: Mapping[str, int]) -> None:
        """Start the process of a role, and note it in the file of this server's processes."""
        log = self._log(role.name)
        if log.exists():
            os.replace(log, log.with_suffix(".log.1"))
        mark = f"-Dprovision.home={self.home.path}"
        options = [f"@{FILES / 'jvm.options'}", *self.layout.jvm, mark, "-cp", self.class_path(jars)]
        process = start([str(java), *options, *role.command(ports)], mark, log)
        written = {name: asdict(running) for name, running in {**self.started(), role.name: process}.items()}
        self._processes_file.write_text(json.dumps(written, indent=1) + "\n", "utf-8")

    def class_path(self, jars: Path) -> str:
        """Return Java's class path: the folder of the configuration, and all jars."""
        return f"{self.home.conf}{os.pathsep}{jars}/*"

    def _log(self, service: str) -> Path:
        return self.home.logs / f"{service}.log"

    def _log_has(self, service: str, words: str) -> bool:
        log = self._log(service)
        return log.exists() and words in log.read_text("utf-8", errors="replace")

    def _log_end(self, service: str) -> str:
        """Return some lines of the log of a process for an error: from the first error on, or else the last ones."""
        lines = self._log(service).read_text("utf-8", errors="replace").splitlines()
        first = next((n for n, line in enumerate(lines) if " ERROR " in line), -LOG_LINES)
        return "\n".join([*lines[first:][:LOG_LINES], f"(all of it: {self._log(service)})"])


def start(command: Sequence[str], mark: str, log: Path) -> Process:
    """Start a process that outlives this one, append its output to a log, and return it.

    `mark` is text in its command line, by which it is known again.
    """
    with log.open("ab") as output:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    found = _look(child.pid)
    # Popen returns when the program is being loaded: for a moment there is no command line yet.
    end = time.monotonic() + LOADING_S
    while found is not None and mark not in found[2] and time.monotonic() < end:
        time.sleep(0.005)
        found = _look(child.pid)
    child.returncode = 0  # it is left to run: no warning when the object goes
    return Process(child.pid, found[1] if found else "", mark)


def stop_all(processes: Sequence[Process], grace_s: float = STOP_S) -> None:
    """Send SIGTERM to the processes that run, wait up to `grace_s` seconds, then send SIGKILL to those left."""
    for number, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, KILL_S)):
        running = [process for process in processes if process.is_running()]
        for process in running:
            process.send(number)
            # A paused process would not receive the signal.
            process.send(signal.SIGCONT)
        end = time.monotonic() + wait_s
        while any(process.is_running() for process in running) and time.monotonic() < end:
            time.sleep(0.05)


def _look(pid: int) -> tuple[str, str, str] | None:
    """Return state, start time and command line of a process; None if it has ended."""
    if not Path("/proc/self/stat").exists():
        # macOS.
        words = ["ps", "-ww", "-o", "state=,lstart=,command=", "-p", str(pid)]
        environment = {**os.environ, "LC_ALL": "C"}
        shown = subprocess.run(words, capture_output=True, text=True, check=False, env=environment).stdout
        fields = shown.split(None, 6)
        if len(fields) < 7 or fields[0].startswith("Z"):  # noqa: PLR2004 - state, five words of lstart, command
            return None
        return fields[0], " ".join(fields[1:6]), fields[6]
    try:
        # The name in parentheses may hold blanks and parentheses itself.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    state, started = fields[0], fields[19]
    return None if state in "ZX" else (state, started, command.replace(b"\0", b" ").decode(errors="replace"))
