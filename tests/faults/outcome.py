"""The outcome of a scenario: a line of a table."""

import threading
from dataclasses import dataclass, field
from statistics import median

HEADER = """\
| scenario | times | recovery: median, longest (s) | longest stall (s) | acknowledged | lost | wrong |
|---|---:|---:|---:|---:|---:|---:|"""

ENDING = threading.Event()
"""Set by Ctrl-C: no further fault, but all checks of those before."""


@dataclass
class Outcome:
    """Counts of one scenario."""

    scenario: str
    times: int = 0
    recovery: list[float] = field(default_factory=list)  # Seconds from a fault until all kinds of calls were answered.
    stall: float = 0.0
    acknowledged: int = 0
    lost: int = 0
    wrong: list[str] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)  # Retryable errors that callers saw.

    @property
    def is_good(self):
        return not self.lost and not self.wrong

    def take(self, log):
        """Take what the log of a traffic says."""
        self.stall, self.refused = log.stall(), dict(log.refused)
        self.acknowledged = len(log.told)
        self.judge(log.wrong)

    def judge(self, lines):
        """Tell what is lost from what is wrong otherwise."""
        for line in lines:
            if line.endswith(" is lost"):
                self.lost += 1
            else:
                self.wrong.append(line)

    def __str__(self):
        recovery = f"{median(self.recovery):.1f}, {max(self.recovery):.1f}" if self.recovery else ""
        stall = f"{self.stall:.1f}" if self.stall else ""
        counts = f"{self.acknowledged:,} | {self.lost} | {len(self.wrong)}"
        return f"| {self.scenario} | {self.times} | {recovery} | {stall} | {counts} |"
