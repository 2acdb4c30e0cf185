"""Helpers of tests in several folders: corpora, servers, clocks, oracles."""
