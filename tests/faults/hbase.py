"""Faults of a cluster under traffic."""

import random
import time
from contextlib import suppress
from dataclasses import replace

from support.patience import END_S

from faults.cluster import GATEWAYS, REGION_SERVERS, Cluster
from faults.outcome import ENDING, Outcome
from faults.traffic import Traffic
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.profile import Profile
from simhash_hbase.stores.hbase import HBaseStore, parse_url
from simhash_hbase.stores.hbase.launcher.home import failure
from simhash_hbase.stores.hbase.rpc.driver import RpcDriver
from simhash_hbase.stores.hbase.table import TableSchema
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2

MASTERS = ("master", "backup")
META = "hbase:meta"
SESSION_S = 10
REGIONS = 6
# Batches of this laboratory read some hundred members of a region; a large index reads them by scans from more on.
SCANNED_ROWS = 50
FULL_S = 20


class Lab:
    """A cluster, a table in it, and the traffic on that."""

    def __init__(self, cluster: Cluster, table: str, seed: int):
        Thrift2.scanned_rows = RpcDriver.scanned_rows = SCANNED_ROWS
        self.cluster = cluster
        self.table = table
        self.chosen = random.Random(seed)
        self.traffic = Traffic(self.open_patiently, seed, use=self.open)

    def open(self, clock):
        return LocalIndex(HBaseStore.open(parse_url(self.cluster.url(self.table))), clock=clock)

    def open_patiently(self, clock):
        """Open the index for a check, which is not to fail because the machine is slow."""
        options = replace(parse_url(self.cluster.url(self.table)), timeout_s=END_S / 4, deadline_s=END_S)
        return LocalIndex(HBaseStore.open(options), clock=clock)

    def revive(self):
        """Start what ended, and let go on what was paused."""
        cluster, end = self.cluster, time.monotonic() + END_S
        states = {name: cluster.state(name) for name in cluster.server.started()}
        for verb, state in (("resume", "paused"), ("start", "dead")):
            for name in [name for name in states if states[name] == state]:
                # Another run of the laboratory may have been faster.
                with suppress(InvalidArgument):
                    cluster.change(verb, name)
        while not self._is_whole():
            assert time.monotonic() < end, "the cluster did not recover"
            time.sleep(0.2)

    def is_up(self, name):
        return self.cluster.state(name) == "alive" and self.cluster.server.is_ready(name)

    def _is_whole(self):
        cluster = self.cluster
        ready = [cluster.server.is_ready(name) for name in REGION_SERVERS]
        gateways = {name: cluster.ports[name] for name in cluster.ports if name.startswith("thrift")}
        return all(ready) and any(map(cluster.server.is_ready, MASTERS)) and failure(gateways) is None


def kill_region_server(lab):
    lab.cluster.change("kill", lab.chosen.choice([name for name in REGION_SERVERS if lab.is_up(name)]))


def pause_region_server(lab):
    """Pause one for less or for more than its session: then it ends when it goes on."""
    _pause(lab, lab.chosen.choice(REGION_SERVERS), lab.chosen.choice((SESSION_S / 2, 2 * SESSION_S)))


def kill_masters(lab):
    lab.cluster.change("kill", *(name for name in MASTERS if lab.cluster.state(name) != "dead"))


def pause_zookeeper(lab):
    """Pause it for less or for more than the sessions: then all region servers end, and an operator starts them."""
    _pause(lab, "zookeeper", lab.chosen.choice((SESSION_S / 2, 2 * SESSION_S)))
    _start_what_ends(lab)


def kill_gateway(lab):
    lab.cluster.change("kill", lab.chosen.choice([name for name in GATEWAYS if lab.is_up(name)]))


def pause_gateway(lab):
    """Pause one for less or for more than a call's time-out."""
    _pause(lab, lab.chosen.choice(GATEWAYS), lab.chosen.choice((5, 25)))


def split_region(lab):
    """Split where documents are: at a prefix that the queries read, in the middle of their pages."""
    key = f"{lab.chosen.randrange(10):x}{lab.chosen.getrandbits(36):09x}"
    _until_done(lab, lambda: lab.cluster.admin("split", lab.table, key))


def move_region(lab):
    def move():
        number = lab.chosen.randrange(lab.cluster.count_regions(lab.table))
        return lab.cluster.admin("move", lab.table, number, lab.cluster.ports[lab.chosen.choice(REGION_SERVERS)])

    _until_done(lab, move)


def move_meta(lab):
    """Move the table that says where all regions are."""

    def move():
        ports = [lab.cluster.ports[name] for name in REGION_SERVERS]
        others = [port for port in ports if str(port) not in (lab.cluster.admin("regions", META) or "")]
        return lab.cluster.admin("move", META, 0, lab.chosen.choice(others))

    _until_done(lab, move)


def replace_region_servers(lab):
    """Kill one after the other, and start each when the next one is dead: all end that the clients began with."""
    dead = None
    for name in REGION_SERVERS:
        lab.cluster.change("kill", name)
        if dead is not None:
            lab.cluster.change("start", dead)
        dead, since = name, time.monotonic()
        lab.traffic.await_all(since)
    lab.revive()


def merge_regions(lab):
    """Merge two regions; what was split a moment ago is compacted before."""

    def merge():
        if lab.cluster.count_regions(lab.table) < 3:
            lab.cluster.admin("split", lab.table, f"{lab.chosen.getrandbits(40):010x}")
        number = lab.chosen.randrange(max(1, lab.cluster.count_regions(lab.table) - 1))
        return lab.cluster.admin("merge", lab.table, number)

    _until_done(lab, merge)


def fill_hdfs(lab):
    """Leave HDFS no room for a while, and have the memory of the region servers flushed meanwhile."""
    with lab.cluster.full():
        flushing = lab.cluster.start_program("RegionAdmin", "flush", lab.table)
        time.sleep(FULL_S)
        assert flushing.poll() != 0, "HDFS took files although it was full"
        flushing.kill()
        flushing.wait()
    _start_what_ends(lab)


def step_clocks(lab):
    lab.traffic.step_clocks(lab.chosen)
    time.sleep(2)


def _pause(lab, name, seconds):
    lab.cluster.change("pause", name)
    time.sleep(seconds)
    lab.cluster.change("resume", name)


def _start_what_ends(lab):
    time.sleep(SESSION_S)
    lab.revive()


def _until_done(lab, act):
    """Repeat what HBase refuses while a region is in transition or has references to its parent's files."""
    end = time.monotonic() + END_S
    while act() is None:
        assert time.monotonic() < end, "HBase refused it all the time"
        lab.cluster.admin("compact", lab.table)
        time.sleep(0.5)


def hurt_at_once(lab):
    """Change regions while a region server and a gateway are dead."""
    kill_region_server(lab)
    kill_gateway(lab)
    for change in (move_region, split_region, merge_regions):
        change(lab)


FAULTS = {
    "region server killed": kill_region_server, "region server paused": pause_region_server,
    "region servers replaced": replace_region_servers, "hbase:meta moved": move_meta,
    "gateway killed": kill_gateway, "gateway paused": pause_gateway, "region split": split_region,
    "region moved": move_region, "regions merged": merge_regions, "masters killed": kill_masters,
    "ZooKeeper paused": pause_zookeeper, "HDFS full": fill_hdfs, "clocks stepped": step_clocks,
    "region server and gateway killed; region moved, split, merged": hurt_at_once,
}  # fmt: skip
IN_TURN = "all kinds in turn"
UNHARMED = {split_region, move_region, move_meta, merge_regions, step_clocks}
"""These end no process."""


def new_lab(cluster: Cluster, seed: int) -> Lab:
    """Make an index in a table of its own."""
    lab = Lab(cluster, f"faults_{time.time_ns() // 1000:x}", seed)
    store = HBaseStore.create(parse_url(cluster.url(lab.table)), TableSchema(regions=REGIONS))
    LocalIndex.create(store, Profile.resolve(analyzer="shingle", match="distance", bands=0)).close()
    return lab


def run(cluster: Cluster, scenario: str, times: int, seed: int, say) -> Outcome:
    """Hurt a cluster so many times under traffic, and check everything."""
    kinds = list(FAULTS.values()) if scenario == IN_TURN else [FAULTS[scenario]]
    lab = new_lab(cluster, seed)
    outcome = hurt(lab, scenario, [kinds[number % len(kinds)] for number in range(times)], say)
    cluster.admin("drop", lab.table)
    return outcome


def hurt(lab: Lab, scenario: str, faults, say) -> Outcome:
    """Carry out faults under one traffic, waiting for the recovery from each."""
    outcome = Outcome(scenario)
    with lab.traffic as traffic:
        for fault in faults:
            if ENDING.is_set():
                break
            since = time.monotonic()
            fault(lab)
            # What a pause hurts may be hurt only at its end: calls that are answered before prove nothing.
            done = time.monotonic()
            outcome.recovery.append(traffic.await_all(done) + done - since)
            outcome.times += 1
            if fault not in UNHARMED:
                lab.revive()
            refused = dict(traffic.log.refused)
            name = fault.__name__.replace("_", " ")
            say(f"{scenario} {outcome.times}, {name}: recovered in {outcome.recovery[-1]:.1f} s, refused {refused}")
            say("".join(f"WRONG: {line}\n" for line in traffic.log.wrong[:3]).strip() or "nothing wrong so far")
    outcome.take(traffic.log)
    return outcome
