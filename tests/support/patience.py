"""Waiting for what has to happen: so long that even a machine at a tenth of its speed gets there."""

END_S = 600.0

START = {"START_TIMEOUT": f"{END_S:.0f}"}
"""A variable for whatever starts an HBase."""
