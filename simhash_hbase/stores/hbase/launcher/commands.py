"""What ``simhash-hbase hbase`` and ``scripts/hbase`` do.

Results go to standard output, and its last line is the address for an index's URL; progress goes to standard error.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from simhash_hbase.errors import InvalidArgument, StoreRefused
from simhash_hbase.stores.hbase.launcher.container import ContainerServer
from simhash_hbase.stores.hbase.launcher.downloads import Downloads
from simhash_hbase.stores.hbase.launcher.home import FILES, HOST, Home, cache_folder, home_folder
from simhash_hbase.stores.hbase.launcher.layouts import CLUSTER, SINGLE
from simhash_hbase.stores.hbase.launcher.local import SIGNALS, LocalServer

WORDS = {
    **dict.fromkeys((*SIGNALS, "start"), "PROCESS"),
    "regions": "TABLE",
    "move": "TABLE NUMBER [PROCESS]",
    "split": "TABLE KEY",
    "merge": "TABLE NUMBER",
}
"""What follows an action."""
ACTIONS = {
    "up": "start it, wait until the gateways answer, print their addresses",
    "down": "stop it; the data stays",
    "status": "print the addresses, and the processes of a cluster; exit 1 when it does not answer",
    "clean": "stop it and remove its data",
    "kill": "end processes at once (SIGKILL), named one by one or by kind",
    "pause": "stop processes for a while (SIGSTOP)",
    "resume": "let paused processes go on",
    "start": "start processes that ended",
    "regions": "print number, first key and server of each region of a table",
    "move": "move a region to a region server, or to any other",
    "split": "split a region at a key, in hexadecimal digits",
    "merge": "merge a region with the next one",
}
KINDS = ("local", "docker", "cluster")
QUIET = {**os.environ, "LOG_LEVEL": "OFF"}
REGION_ADMIN = FILES / "RegionAdmin.java"
ABOUT = """SIMHASH_HBASE_HOME stands for --dir. SIMHASH_HBASE_CACHE keeps the jars (default: the user's cache),
HBASE_HEAP (1g) and THRIFT_HEAP (256m) size the JVMs (less in a cluster, which has HDFS_HEAP, too),
HBASE_SITE adds properties, one "name value" a line."""

Server = LocalServer | ContainerServer


def carry_out(
    action: str, names: Sequence[str] = (), *, folder: Path | None = None, kind: str = "local", as_json: bool = False
) -> int:
    """Do one of `ACTIONS` with the server of a folder, and return the exit code."""
    _check_words(action, names)
    server = find_server(folder, kind)
    match action:
        case "up":
            _print_addresses(server.up(), server.home)
        case "down":
            print("stopped" if server.down() else "nothing was running", file=sys.stderr)
        case "clean":
            server.clean()
            print("stopped, and its data is removed", file=sys.stderr)
        case "status":
            return _status(server, as_json=as_json)
        case _:
            _hurt(server, action, names)
    return 0


def _check_words(action: str, names: Sequence[str]) -> None:
    wanted = WORDS.get(action, "").split()
    fewest, most = sum(word[0] != "[" for word in wanted), 99 if wanted == ["PROCESS"] else len(wanted)
    if not fewest <= len(names) <= most:
        raise InvalidArgument(f"{action} takes {WORDS.get(action, 'no words')}, not {' '.join(names) or 'nothing'}")


def find_server(folder: Path | None = None, kind: str = "local") -> Server:
    """Return the server of a folder, or the usual one of a kind; it need not run."""
    home = Home((folder or home_folder(kind)).absolute())
    if kind == "docker":
        return ContainerServer(home)
    return LocalServer(home, Downloads(cache_folder()), CLUSTER if kind == "cluster" else SINGLE)


def _hurt(server: Server, action: str, names: Sequence[str]) -> None:
    if isinstance(server, ContainerServer):
        raise InvalidArgument(f"{action} is for plain processes, not for a container: leave --with docker out")
    if action in (*SIGNALS, "start"):
        print(f"{action}: {', '.join(server.change(action, names))}", file=sys.stderr)
        return
    ports = {name: str(port) for name, port in server.home.read_ports().items()}
    words = [action, *names[:2], *(ports.get(name, name) for name in names[2:])]
    done = subprocess.run(
        [*server.program(REGION_ADMIN), *words], env=QUIET, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StoreRefused(f"{action} failed: {done.stderr.strip()[-2000:]}")
    print(done.stdout, end="")


def _status(server: Server, *, as_json: bool) -> int:
    ports = server.ports()
    if as_json:
        print(json.dumps(_facts(server, ports), indent=1))
        return 0 if ports else 1
    if isinstance(server, LocalServer) and server.layout is CLUSTER:
        _print_processes(server)
    if ports is None:
        print(f"not up in {server.home.path}", file=sys.stderr)
    else:
        _print_addresses(ports, server.home)
    return 0 if ports else 1


def _print_processes(server: LocalServer) -> None:
    ports, started = server.home.read_ports(), server.started()
    for name, role in server.layout.roles.items():
        if (process := started.get(name)) is not None:
            print(f"{name:<10} {role.kind:<13} {ports[name]:>5} {process.pid:>7} {process.state()}")


def _print_addresses(ports: Mapping[str, int], home: Home) -> None:
    print(f"Folder: {home.path}")
    print(f"Thrift 1: {_gateways(ports, 1)}")
    print("Thrift 2, for hbase://…:")
    print(_gateways(ports, 2))


def _gateways(ports: Mapping[str, int], version: int) -> str:
    return ",".join(f"{HOST}:{port}" for name, port in ports.items() if name.startswith(f"thrift{version}"))


def _facts(server: Server, ports: Mapping[str, int] | None) -> dict[str, object]:
    kinds = {ContainerServer: "docker", LocalServer: "local"}
    return {
        "up": ports is not None,
        "with": kinds[type(server)],
        "folder": str(server.home.path),
        **{f"thrift{version}": _gateways(ports, version) if ports else None for version in (1, 2)},
        "ports": server.home.read_ports(),
        **server.facts(),
    }
