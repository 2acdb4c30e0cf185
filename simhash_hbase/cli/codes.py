"""Exit codes."""

from signal import SIGPIPE

DONE = 0
FAILED = 1
WRONG_USAGE = 2
SOME_REFUSED = 3
SIGNAL_CODES = 128  # A process that a signal ended has this more than its number as its exit code; ours has it, too.
PIPE_CLOSED = SIGNAL_CODES + SIGPIPE  # Other programs are ended by this signal when nobody reads their output.


def after(refused: int) -> int:
    """Return the code of a command that finished, with so many records refused."""
    return SOME_REFUSED if refused else DONE
