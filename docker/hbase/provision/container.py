"""The server as a container of the image that ``docker/hbase/Dockerfile`` describes."""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from provision import probe
from provision.errors import ProvisionError
from provision.gateways import Gateways, on_loopback
from provision.locking import exclusive
from provision.settings import Home
from provision.waiting import await_answers

_CONTEXT = Path(__file__).parent.parent
_IMAGE = "simhash-hbase/hbase"
_STOP_S = 30
_SETTINGS = ("HBASE_HEAP", "THRIFT_HEAP", "HBASE_SITE", "START_TIMEOUT")


def engine_answers() -> bool:
    """Tell whether a Docker engine answers.

    Returns
    -------
    bool
        False also when there is no ``docker`` program.
    """
    if shutil.which("docker") is None:
        return False
    try:
        return _docker("info", check=False, timeout_s=10).returncode == 0
    except subprocess.TimeoutExpired:
        return False


@dataclass(frozen=True, kw_only=True)
class ContainerServer:
    """One container with its data volume, both named after a folder.

    Parameters
    ----------
    home : Home
        The folder: it keeps the ports.
    """

    home: Home

    @property
    def name(self) -> str:
        """Name of the container; the volume is called so too."""
        return f"simhash-hbase-{hashlib.sha256(os.fsencode(self.home.path)).hexdigest()[:12]}"

    def gateways(self) -> Gateways | None:
        """Tell where the gateways answer.

        Returns
        -------
        Gateways or None
            None when the container does not run, or a gateway gives no right answer.
        """
        ports = self.home.read_ports()
        if not ports or not self._runs():
            return None
        found = on_loopback(ports)
        return found if probe.failure(found) is None else None

    def up(self) -> Gateways:
        """Build the image, run it, unless it runs, and wait until both gateways answer a real call.

        Returns
        -------
        Gateways
            On the loopback address.

        Raises
        ------
        ProvisionError
            When no engine answers, the image cannot be built or the container does not start.
        """
        if not engine_answers():
            raise ProvisionError("No Docker engine answers; ./scripts/hbase up needs none.")
        self.home.path.mkdir(parents=True, exist_ok=True)
        with exclusive(self.home.path / "lock"):
            found = self.gateways()
            if found is not None:
                print(f"already up in container {self.name}", file=sys.stderr)
                return found
            self._remove()
            print(f"building the image {_IMAGE} (a minute or two the first time) ...", file=sys.stderr)
            _docker("build", "--quiet", "--tag", _IMAGE, str(_CONTEXT))
            return self._start()

    def down(self) -> bool:
        """Stop and remove the container; the volume stays.

        Returns
        -------
        bool
            False when nothing ran.
        """
        ran = engine_answers() and self._runs()
        if ran:
            self._remove()
        return ran

    def clean(self) -> None:
        """Stop and remove the container, and its volume."""
        self.down()
        if engine_answers():
            _docker("volume", "rm", "--force", self.name)

    def facts(self) -> dict[str, object]:
        """Tell what programs may want to know besides the ports.

        Returns
        -------
        dict[str, object]
            Container, volume and image.
        """
        return {"container": self.name, "volume": self.name, "image": _IMAGE}

    def _runs(self) -> bool:
        shown = _docker("container", "inspect", "--format={{.State.Running}}", self.name, check=False)
        return shown.stdout.strip() == "true"

    def _remove(self) -> None:
        _docker("stop", f"--time={_STOP_S}", self.name, check=False, timeout_s=2 * _STOP_S)
        _docker("rm", "--force", self.name, check=False)

    def _start(self) -> Gateways:
        started = time.monotonic()
        ports = self.home.choose_ports()
        publish = [f"--publish=127.0.0.1:{ports['thrift1']}:9090"]
        publish.append(f"--publish=127.0.0.1:{ports['thrift2']}:9091")
        settings = [f"--env={name}" for name in _SETTINGS if name in os.environ]
        options = ["--env=BIND=0.0.0.0", *settings, f"--volume={self.name}:/data"]
        print(f"starting container {self.name} ...", file=sys.stderr)
        try:
            _docker("run", "--detach", f"--name={self.name}", *publish, *options, _IMAGE)
            found = on_loopback(ports)
            # Docker's proxy accepts a connection before the gateway is there; it is closed at once then.
            await_answers(
                found,
                started,
                trouble=lambda: None if self._runs() else f"the container ended:\n{self._log_end()}",
                log_end=self._log_end,
            )
        except BaseException:
            self._remove()
            raise
        return found

    def _log_end(self) -> str:
        shown = _docker("logs", "--tail=15", self.name, check=False)
        return shown.stdout + shown.stderr


def _docker(*arguments: str, check: bool = True, timeout_s: float | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False, timeout=timeout_s)
    if check and done.returncode:
        words = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise ProvisionError(f"docker {arguments[0]} failed: {words}")
    return done
