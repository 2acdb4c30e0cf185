"""The server that a test run uses, as ``SIMHASH_HBASE_TEST_SERVER`` chooses it."""

import json
import os
import subprocess
from pathlib import Path

from provision import probe
from provision.container import engine_answers
from provision.errors import ProvisionError
from provision.gateways import Gateways, parse_gateways

_SCRIPT = Path(__file__).parent.parent.parent.parent / "scripts" / "hbase"


def start(choice: str | None = None) -> Gateways:
    """Make sure of a server, and tell where it answers; one that is up already is used as it is.

    Parameters
    ----------
    choice : str, optional
        ``docker``, ``local``, or an existing cluster's addresses as
        :func:`provision.gateways.parse_gateways` reads them. By default
        ``SIMHASH_HBASE_TEST_SERVER``; when that is empty, ``docker`` where an engine answers, else
        ``local``.

    Returns
    -------
    Gateways
        Both, or those that were given.

    Raises
    ------
    ProvisionError
        When it cannot be started, or a given cluster does not answer.
    """
    choice = choice or os.environ.get("SIMHASH_HBASE_TEST_SERVER") or default_choice()
    if choice not in ("docker", "local"):
        return _existing(choice)
    done = _run("up", choice)
    if done.returncode:
        raise ProvisionError(f"./scripts/hbase up --with {choice} failed:\n{done.stderr.strip()}")
    facts = json.loads(_run("status", choice, "--json").stdout)
    return Gateways(thrift1=facts["thrift1"], thrift2=facts["thrift2"])


def default_choice() -> str:
    """Choose where nobody has.

    Returns
    -------
    str
        ``docker`` where an engine answers, else ``local``.
    """
    return "docker" if engine_answers() else "local"


def _existing(choice: str) -> Gateways:
    gateways = parse_gateways(choice)
    missing = probe.failure(gateways)
    if missing is not None:
        raise ProvisionError(f"SIMHASH_HBASE_TEST_SERVER={choice} does not answer: {missing}")
    return gateways


def _run(command: str, kind: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(_SCRIPT), command, "--with", kind, *options], capture_output=True, text=True, check=False
    )
