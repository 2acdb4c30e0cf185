"""Entry point of the program ``simhash-hbase``, also ``python -m simhash_hbase``: imports the command line and runs it.

Only the standard library is imported at the top, before `main` has set a handler for Ctrl-C and opened closed standard
streams. Ctrl-C during an import would print a traceback, and the first file that is opened would get the descriptor 0,
1 or 2 of a closed stream.
"""

import gc
import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130

# New objects after which Python's garbage collector looks for cycles: some ten megabytes. By its own number, 700, it
# goes through the modules again and again while they are imported, an eighth of a short command's time. Half of this
# number comes together before the first result of `create`, and to look through them takes a hundredth of a second.
_OBJECTS = 100_000


def main() -> None:
    """Import the command line, run it, and end the process with its exit code."""
    _fill_closed_streams()
    handles_interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handles_interrupts:
        signal.signal(signal.SIGINT, _end)
    gc.set_threshold(_OBJECTS)
    # Nothing here is worth threads of numpy's linear algebra, and to start them takes a third of numpy's own start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from simhash_hbase.cli import main as run

    try:
        run()
    finally:
        # Python's last look for cycles frees nothing that the end does not; after 20,000 documents it takes .03 s.
        gc.freeze()
        if handles_interrupts:
            # Nothing is left to clean up: an interrupt of Python's own end would print a traceback.
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end(_number: int, _frame: FrameType | None) -> None:
    """Handle Ctrl-C while the command line is imported: print a message and end the process at once, with code 130.

    An exception could be swallowed by a module that is being imported, and there is nothing to clean up yet.
    """
    os.write(2, b"simhash-hbase: interrupted\n")
    os._exit(INTERRUPTED)


def _fill_closed_streams() -> None:
    """Open the null device under each of the descriptors 0, 1 and 2 that is closed, so that no other file gets it.

    Standard input is opened for writing only, standard output for reading only: using them fails, as it would if they
    were closed. Text for a closed standard error is lost.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one, since those below it are filled.
            os.set_inheritable(os.open(os.devnull, mode), True)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    main()
