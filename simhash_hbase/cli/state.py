"""What the place that reports errors has to know of the command that failed."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Setting:
    """A value of an option that was not on the command line."""

    source: str  # The variable, or the key and the file.
    value: object


@dataclass
class State:
    """One run of the command line; click hands it from context to context."""

    debug: bool  # Print tracebacks.
    settings: Mapping[str, Setting] = field(default_factory=dict)  # By the names of the options.
    interrupted: str = "what was acknowledged stays"  # How the sentence about an interrupt goes on.
