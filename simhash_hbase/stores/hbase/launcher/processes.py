"""Processes that outlive the command that starts them, and that are never mistaken for others.

A process id alone says little: after a reboot, or after enough forks, it belongs to somebody else. So the start time is
kept with it, and a mark (the folder of the server) must be in the command line.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LOADING_S = 5.0
STOP_S = 30.0
KILL_S = 5.0


@dataclass(frozen=True)
class Process:
    """A process that was started here."""

    pid: int
    started: str  # When it started, as the system writes it: only compared.
    mark: str  # Text in its command line.

    def is_running(self) -> bool:
        """Tell whether this very process still runs."""
        return self.state() != "dead"

    def state(self) -> str:
        """Tell whether it is alive, paused or dead."""
        found = _look(self.pid)
        if found is None or found[1] != self.started or self.mark not in found[2]:
            return "dead"
        return "paused" if found[0][0] in "Tt" else "alive"

    def send(self, number: int) -> None:
        """Send a signal, if this very process still runs."""
        if self.is_running():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def start(command: Sequence[str], mark: str, log: Path) -> Process:
    """Start a process in a session of its own; its output is appended to a log."""
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
    """Send SIGTERM to those that run, wait for all of them, then send SIGKILL to those that are left."""
    for number, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, KILL_S)):
        running = [process for process in processes if process.is_running()]
        for process in running:
            process.send(number)
            # One that is paused would not hear of it.
            process.send(signal.SIGCONT)
        end = time.monotonic() + wait_s
        while any(process.is_running() for process in running) and time.monotonic() < end:
            time.sleep(0.05)


def _look(pid: int) -> tuple[str, str, str] | None:
    """Return state, start time and command line of a process that has not ended."""
    if not Path("/proc/self/stat").exists():
        return _look_with_ps(pid)
    try:
        # The name in parentheses may hold blanks and parentheses itself.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    state, started = fields[0], fields[19]
    return None if state in "ZX" else (state, started, command.replace(b"\0", b" ").decode(errors="replace"))


def _look_with_ps(pid: int) -> tuple[str, str, str] | None:
    """Ask ps, where there is no /proc (macOS)."""
    words = ["ps", "-ww", "-o", "state=,lstart=,command=", "-p", str(pid)]
    environment = {**os.environ, "LC_ALL": "C"}
    shown = subprocess.run(words, capture_output=True, text=True, check=False, env=environment).stdout.split(None, 6)
    if len(shown) < 7 or shown[0].startswith("Z"):  # noqa: PLR2004 - state, five words of lstart, command
        return None
    return shown[0], " ".join(shown[1:6]), shown[6]
