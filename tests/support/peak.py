"""How much memory a call takes."""

import tracemalloc


def peak_bytes(act):
    """Count the bytes of Python objects that a call adds to those before it, at its peak."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        act()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
