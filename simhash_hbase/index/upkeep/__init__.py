"""Upkeep: counting, checking, repairing and cleaning what is stored."""
