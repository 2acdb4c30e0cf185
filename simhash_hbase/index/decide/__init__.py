"""Decisions: which documents are originals, in the order of the input."""
