"""The command behind ``scripts/hbase``.

Results go to standard output, and its last line is the address that an index's URL needs;
progress goes to standard error.
"""

import argparse
import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from provision.container import ContainerServer
from provision.environment import cache_folder
from provision.errors import ProvisionError
from provision.gateways import Gateways
from provision.local import LocalServer
from provision.settings import Home

_EPILOG = """SIMHASH_HBASE_HOME stands for --dir. SIMHASH_HBASE_CACHE (default .cache/hbase) keeps the jars,
HBASE_HEAP (1g) and THRIFT_HEAP (256m) size the JVMs, HBASE_SITE adds properties, one "name value" a line."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hbase", description="A real HBase on the loopback address.", epilog=_EPILOG)
    commands = parser.add_subparsers(dest="command", required=True)
    about = {
        "up": "start it, wait until both gateways answer, print their addresses",
        "down": "stop it; the data stays",
        "status": "print the addresses; exit 1 when it does not answer",
        "clean": "stop it and remove its data",
    }
    for name, text in about.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--dir", type=Path, help="folder of this server (default .cache/hbase/server)")
        command.add_argument("--with", dest="kind", choices=("local", "docker"), default="local")
        if name == "status":
            command.add_argument("--json", action="store_true", help="everything, for programs")
    return parser


def main() -> int:
    """Run one command.

    Returns
    -------
    int
        Exit code: 1 when it failed, or for ``status`` when the server does not answer.
    """
    arguments = _parser().parse_args()
    # As Ctrl-C does: what was started is stopped again.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _run(arguments)
    except ProvisionError as error:
        print(f"hbase: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("hbase: interrupted; what was started is stopped again.", file=sys.stderr)
    return 1


def _run(arguments: argparse.Namespace) -> int:
    server = _server(arguments)
    match arguments.command:
        case "up":
            _print_addresses(server.up(), server.home)
        case "down":
            print("stopped" if server.down() else "nothing was running", file=sys.stderr)
        case "clean":
            server.clean()
            print("stopped, and its data is removed", file=sys.stderr)
        case _:
            return _status(server, as_json=arguments.json)
    return 0


def _server(arguments: argparse.Namespace) -> LocalServer | ContainerServer:
    cache = cache_folder()
    default = cache / ("container" if arguments.kind == "docker" else "server")
    path = arguments.dir or Path(os.environ.get("SIMHASH_HBASE_HOME", default))
    home = Home(path=path.absolute())
    return ContainerServer(home=home) if arguments.kind == "docker" else LocalServer(home=home, cache=cache / "jars")


def _print_addresses(gateways: Gateways, home: Home) -> None:
    print(f"Folder: {home.path}")
    print(f"Thrift 1: {gateways.thrift1}")
    print("Thrift 2, for hbase://…:")
    print(gateways.thrift2)


def _status(server: LocalServer | ContainerServer, *, as_json: bool) -> int:
    gateways = server.gateways()
    if as_json:
        print(json.dumps(_facts(server, gateways), indent=1))
    elif gateways is None:
        print(f"not up in {server.home.path}", file=sys.stderr)
    else:
        _print_addresses(gateways, server.home)
    return 0 if gateways else 1


def _facts(server: LocalServer | ContainerServer, gateways: Gateways | None) -> dict[str, object]:
    return {
        "up": gateways is not None,
        "with": "docker" if isinstance(server, ContainerServer) else "local",
        "folder": str(server.home.path),
        **(asdict(gateways) if gateways else {"thrift1": None, "thrift2": None}),
        "ports": server.home.read_ports(),
        **server.facts(),
    }


if __name__ == "__main__":
    sys.exit(main())
