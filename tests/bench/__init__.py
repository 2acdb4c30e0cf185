"""Measures this package and its peers on the same work in one run: ``./scripts/bench [--large] [PART…]``."""
