"""Stores, which keep rows: their interface in `base`, their addresses, and one module or package for each kind."""
