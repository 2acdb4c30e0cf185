"""HTTP: one request at a time, from its connection to its line in the log."""
