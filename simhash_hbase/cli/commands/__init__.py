"""Commands: one file each."""
