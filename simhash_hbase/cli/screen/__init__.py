"""The terminal: results, tables, progress, errors and interrupts."""
