"""A cluster of plain processes to be hurt: its processes, and its regions."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.patience import END_S

from faults.cluster_server import QUIET, REGION_ADMIN, ClusterServer

GATEWAYS = ("thrift2", "thrift2-b")
DFS_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"
# HDFS gives a new block only if a whole one fits: 128 MiB, or 256 MiB for a write-ahead log. Unused memory is free.
DISK = 8 << 30
# Less than a block, and more than is written meanwhile to open blocks, for which HDFS keeps room on a disk of its own.
LEFT = 64 << 20


class Cluster:
    """A running cluster of ``scripts/faults cluster up``."""

    def __init__(self, folder: Path | None = None):
        self.server = ClusterServer(folder)
        self.folder = self.server.home.path
        self._admin = None
        self._turn = threading.Lock()

    @classmethod
    @contextmanager
    def started(cls, folder: Path | None = None) -> Iterator["Cluster"]:
        """Start a cluster and remove it in the end; one that runs already, maybe hurt by others, stays."""
        cluster = cls(folder)
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
        return f"hbase://{','.join(f'127.0.0.1:{self.ports[name]}' for name in GATEWAYS)}/{table}"

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
