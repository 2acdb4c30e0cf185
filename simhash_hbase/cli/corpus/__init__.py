"""A corpus on the command line: where documents come from, and where decisions and kept documents go."""
