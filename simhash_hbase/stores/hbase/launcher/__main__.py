"""The command behind ``scripts/hbase``: it needs no package besides this one."""

import argparse
import signal
import sys
from pathlib import Path

from simhash_hbase.errors import SimhashError
from simhash_hbase.stores.hbase.launcher import ACTIONS, KINDS, carry_out

ABOUT = """SIMHASH_HBASE_HOME stands for --dir. SIMHASH_HBASE_CACHE keeps the jars (default: the user's cache),
HBASE_HEAP (1g) and THRIFT_HEAP (256m) size the JVMs; HBASE_SITE adds properties, one "name value" a line."""


def main() -> int:
    """Run one command; 1 is the exit code of a failure, and of ``status`` where no server answers."""
    parser = argparse.ArgumentParser(prog="hbase", description="A real HBase on the loopback address.", epilog=ABOUT)
    actions = parser.add_subparsers(dest="action", required=True)
    for name, text in ACTIONS.items():
        action = actions.add_parser(name, help=text, description=text)
        folders = "folder of this server (default .cache/hbase/server; of a container .cache/hbase/container)"
        action.add_argument("--dir", type=Path, help=folders)
        kinds = f"as processes, or as a container (default {KINDS[0]})"
        action.add_argument("--with", dest="kind", choices=KINDS, default=KINDS[0], help=kinds)
        if name == "status":
            action.add_argument("--json", action="store_true", help="everything, for programs")
    arguments = parser.parse_args()
    # As Ctrl-C does: started processes are stopped again.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        as_json = getattr(arguments, "json", False)
        return carry_out(arguments.action, folder=arguments.dir, kind=arguments.kind, as_json=as_json)
    except SimhashError as error:
        print(f"hbase: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("hbase: interrupted; what was started is stopped again", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
