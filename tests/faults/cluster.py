"""A cluster of twelve processes on HDFS, to be hurt: ./scripts/faults cluster ACTION …, and what scenarios do to it."""

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.patience import END_S

from simhash_hbase.errors import InvalidArgument, SimhashError, StoreRefused
from simhash_hbase.stores.hbase.launcher import Downloads, cache_folder, print_addresses
from simhash_hbase.stores.hbase.launcher.home import FILES, Home
from simhash_hbase.stores.hbase.launcher.local import HBASE, SITE, Layout, LocalServer, Role, gateway, master

SIGNALS = {"kill": signal.SIGKILL, "pause": signal.SIGSTOP, "resume": signal.SIGCONT}
ACTIONS = {
    "up": ("", "start it, wait until the gateways answer, print their addresses"),
    "down": ("", "stop it; the data stays"),
    "clean": ("", "stop it and remove its data"),
    "status": ("", "print the addresses and the processes; exit 1 when it does not answer"),
    "kill": ("PROCESS", "end processes at once (SIGKILL), named one by one or by kind"),
    "pause": ("PROCESS", "stop processes for a while (SIGSTOP)"),
    "resume": ("PROCESS", "let paused processes go on"),
    "start": ("PROCESS", "start processes that ended"),
    "regions": ("TABLE", "print number, first key and server of each region of a table"),
    "move": ("TABLE NUMBER [PROCESS]", "move a region to a region server, or to any other"),
    "split": ("TABLE KEY", "split a region at a key, in hexadecimal digits"),
    "merge": ("TABLE NUMBER", "merge a region with the next one"),
}
"""The words that follow an action, and what the action does."""
HERE = Path(__file__).parent
QUIET = {**os.environ, "LOG_LEVEL": "OFF"}
REGION_ADMIN = HERE / "RegionAdmin.java"
HDFS = "org.apache.hadoop.hdfs.server"
FORMAT = (f"{HDFS}.namenode.NameNode", "-format", "-nonInteractive")
GATEWAYS = ("thrift2", "thrift2-b")
REGION_SERVERS = ("rs1", "rs2", "rs3")
DFS_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"
# HDFS gives a new block only if a whole one fits: 128 MiB, or 256 MiB for a write-ahead log. Unused memory is free.
DISK = 8 << 30
# Less than a block, and more than is written meanwhile to open blocks, for which HDFS keeps room on a disk of its own.
LEFT = 64 << 20


def _region_server(name):
    start = f"-Dhbase.regionserver.port={{{name}}} start"
    main = f"{HBASE}.regionserver.HRegionServer"
    return Role(name, "regionserver", main, start, ("HBASE_HEAP", "256m"), "Serving as ")


_STORAGE = (
    Role("namenode", "namenode", f"{HDFS}.namenode.NameNode", "", ("HDFS_HEAP", "128m"), "NameNode RPC up at"),
    Role("datanode", "datanode", f"{HDFS}.datanode.DataNode", "", ("HDFS_HEAP", "128m"), "successfully registered"),
    Role("zookeeper", "zookeeper", f"{HBASE}.zookeeper.HQuorumPeer", "start", ("HDFS_HEAP", "64m"), "binding to port"),
)
_SHRINKING = ("-XX:MinHeapFreeRatio=10", "-XX:MaxHeapFreeRatio=30")
CLUSTER = Layout(
    stages=(
        _STORAGE,
        (
            master("master", "256m", "start", "Master has completed initialization"),
            master("backup", "128m", "-Dhbase.master.port={backup} start --backup", "Adding backup master ZNode"),
            *map(_region_server, REGION_SERVERS),
        ),
        tuple(gateway(name, "160m") for name in ("thrift1", "thrift1-b", "thrift2", "thrift2-b")),
    ),
    ports=(
        *("namenode", "namenode-http", "datanode", "datanode-http", "datanode-ipc", "zookeeper", "master", "backup"),
        *("rs1", "rs2", "rs3", "thrift1", "thrift1-b", "thrift2", "thrift2-b"),
    ),
    properties=(SITE, HERE / "cluster.properties"),
    # Twelve processes share a small machine.
    jvm=("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms16m", *_SHRINKING),
)


def select(words) -> list[Role]:
    """Find processes by name, or all of a kind."""
    found = {}
    for word in words:
        named = [role for role in CLUSTER.roles.values() if word == role.name]
        named = named or [role for role in CLUSTER.roles.values() if word == role.kind]
        if not named:
            raise InvalidArgument(f"no process is called {word}: name one of {', '.join(CLUSTER.roles)}")
        found.update({role.name: role for role in named})
    return list(found.values())


class ClusterServer(LocalServer):
    """A cluster in a folder."""

    def __init__(self, folder: Path | None = None):
        super().__init__(Home((folder or cache_folder() / "cluster").absolute()), Downloads(cache_folder()), CLUSTER)

    def prepare(self, java, jars):
        """Make the folders of an HDFS, unless they are there."""
        for name in ("hdfs", "datanode", "static"):
            (self.home.conf / "webapps" / name).mkdir(parents=True, exist_ok=True)
        if (self.home.data / "dfs" / "name" / "current").exists():
            return
        command = [str(java), f"@{FILES / 'jvm.options'}", "-cp", self.class_path(jars), *FORMAT]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise StoreRefused(f"HDFS cannot be formatted in {self.home.data}:\n{done.stdout[-2000:]}")

    def change(self, verb, names) -> list[str]:
        """Kill, pause, resume or start single processes, and return their names."""
        with self.alone():
            running, chosen = self.processes(), select(names)
            for role in chosen:
                if (role.name in running) == (verb == "start"):
                    state = "runs already" if role.name in running else "does not run"
                    raise InvalidArgument(f"{role.name} {state} in {self.home.path}")
            for role in chosen:
                if verb == "start":
                    self.launch(role, self.downloads.java(), self.downloads.jars(), self.home.read_ports())
                else:
                    running[role.name].send(SIGNALS[verb])
        return [role.name for role in chosen]

    def program(self, source) -> list[str]:
        """Return the command that runs a Java class as a client of this cluster."""
        jars = self.downloads.jars()
        classes = self.downloads.compiled(source, jars, self.downloads.folder / "classes")
        path = os.pathsep.join([str(self.home.conf), f"{jars}/*", str(classes)])
        options = [f"@{FILES / 'jvm.options'}", "-XX:+UseSerialGC", "-Xmx128m", "-Dservice=client"]
        return [str(self.downloads.java()), *options, "-cp", path, source.stem]

    def region_command(self, action, names) -> str:
        """Have HBase's own client do something to regions, and return what it prints."""
        ports = {name: str(port) for name, port in self.home.read_ports().items()}
        words = [action, *names[:2], *(ports.get(name, name) for name in names[2:])]
        command = [*self.program(REGION_ADMIN), *words]
        done = subprocess.run(command, env=QUIET, capture_output=True, text=True, check=False)
        if done.returncode:
            raise StoreRefused(f"{action} failed: {done.stderr.strip()[-2000:]}")
        return done.stdout


class Cluster:
    """A running cluster of ``scripts/faults cluster up``."""

    def __init__(self, folder: Path | None = None, *, rpc: bool = False):
        self.rpc = rpc  # Whether its tables are reached without a gateway.
        self.server = ClusterServer(folder)
        self.folder = self.server.home.path
        self._admin = None
        self._turn = threading.Lock()

    @classmethod
    @contextmanager
    def started(cls, folder: Path | None = None, *, rpc: bool = False) -> Iterator["Cluster"]:
        """Start a cluster and remove it in the end; one that runs already, maybe hurt by others, stays."""
        cluster = cls(folder, rpc=rpc)
        was_up = bool(cluster.server.processes())
        os.environ.setdefault("START_TIMEOUT", f"{END_S:.0f}")
        try:
            if not was_up:
                cluster.mount_disk()
                cluster.server.up()
            yield cluster
        finally:
            cluster.close()
            if not was_up:
                cluster.server.down()
                cluster.unmount_disk()
                cluster.server.clean()

    @property
    def disk(self):
        return self.server.home.data / "dfs" / "data"

    def mount_disk(self):
        """Put the data node's folder into memory, where that is allowed: such a disk can be made small."""
        self.disk.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0 and not self.disk.is_mount():
            mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "tmpfs", self.disk]
            subprocess.run(mount, check=False, capture_output=True)

    def unmount_disk(self):
        """Give the memory back. A process that was just killed may have files open for a moment more."""
        if self.disk.is_mount():
            subprocess.run(["umount", "--lazy", self.disk], check=True)

    @contextmanager
    def full(self):
        """Leave no room, on the data node's disk if that is in memory, else in the quotas of HDFS."""
        if self.disk.is_mount():
            there = os.statvfs(self.disk)
            self._resize((there.f_blocks - there.f_bfree) * there.f_frsize + LEFT)
            try:
                yield
            finally:
                self._resize(DISK)
            return
        self._set_quota("-setSpaceQuota", "1")
        yield
        self._set_quota("-clrSpaceQuota")

    def _set_quota(self, *words):
        assert self.start_program(DFS_ADMIN, *words, "/hbase", "/hbase-wal").wait() == 0, words

    def _resize(self, size):
        subprocess.run(["mount", "-o", f"remount,size={size}", self.disk], check=True)

    @property
    def ports(self):
        return self.server.home.read_ports()

    def url(self, table):
        """Return the address of a table: both gateways, or one region server, which clients have to outlive."""
        scheme, names = ("hbase+rpc", REGION_SERVERS[:1]) if self.rpc else ("hbase", GATEWAYS)
        return f"{scheme}://{','.join(f'127.0.0.1:{self.ports[name]}' for name in names)}/{table}"

    def state(self, name):
        return self.server.started()[name].state()

    def change(self, verb, *names):
        self.server.change(verb, names)

    def admin(self, *words):
        """Have HBase's own client do something to regions, and return what it prints; None where HBase refuses."""
        with self._turn:
            if self._admin is None:
                self._admin = subprocess.Popen(
                    self.server.program(REGION_ADMIN),
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    text=True, env=QUIET,
                )  # fmt: skip
            self._admin.stdin.write(" ".join(map(str, words)) + "\n")
            self._admin.stdin.flush()
            answer = self._admin.stdout.readline()
        assert answer.startswith(("done", "fail")), "the client of HBase has ended"
        return answer[5:].strip() if answer.startswith("done") else None

    def start_program(self, main, *words):
        """Start one of the programs of HBase and HDFS, beside the client that `admin` keeps."""
        command = [*self.server.program(REGION_ADMIN)[:-1], main, *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=QUIET)

    def count_regions(self, table) -> int:
        return (self.admin("regions", table) or "").count(";")

    def close(self):
        if self._admin is not None:
            self._admin.stdin.close()
            self._admin.wait()
            self._admin.stdout.close()
            self._admin = None


def run_action(words) -> int:
    """Carry out one action on a cluster."""
    parser = argparse.ArgumentParser(prog="faults cluster", description=__doc__)
    parser.add_argument(
        "action", choices=ACTIONS, help="; ".join(f"{name}: {text}" for name, (_, text) in ACTIONS.items())
    )
    following = "; ".join(f"{name} {words}" for name, (words, _) in ACTIONS.items() if words)
    parser.add_argument("names", nargs="*", metavar="WORD", help=following)
    parser.add_argument("--dir", type=Path, help="folder of the cluster (default .cache/hbase/cluster)")
    given = parser.parse_args(words)
    # As Ctrl-C does: what was started is stopped again.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        check_words(given.action, given.names)
        return _carry_out(ClusterServer(given.dir), given)
    except SimhashError as error:
        print(f"faults: {error}", file=sys.stderr)
    return 1


def check_words(action, names):
    """Refuse too few or too many words behind an action."""
    wanted = ACTIONS[action][0].split()
    fewest, most = sum(word[0] != "[" for word in wanted), 99 if wanted == ["PROCESS"] else len(wanted)
    if not fewest <= len(names) <= most:
        raise InvalidArgument(f"{action} takes {ACTIONS[action][0] or 'no words'}, not {' '.join(names) or 'nothing'}")


def _carry_out(server, given) -> int:
    match given.action:
        case "up":
            print_addresses(server.up(), server.home)
        case "down":
            server.down()
        case "clean":
            server.clean()
        case "status":
            return _status(server)
        case "kill" | "pause" | "resume" | "start" as verb:
            print(f"{verb}: {', '.join(server.change(verb, given.names))}", file=sys.stderr)
        case action:
            print(server.region_command(action, given.names), end="")
    return 0


def _status(server) -> int:
    addresses = server.ports()
    ports, started = server.home.read_ports(), server.started()
    for name, role in server.layout.roles.items():
        if (process := started.get(name)) is not None:
            print(f"{name:<10} {role.kind:<13} {ports[name]:>5} {process.pid:>7} {process.state()}")
    if addresses is None:
        print(f"not up in {server.home.path}", file=sys.stderr)
        return 1
    print_addresses(addresses, server.home)
    return 0
