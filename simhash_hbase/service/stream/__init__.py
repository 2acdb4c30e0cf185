"""Streams: requests of many lines, answered line by line in their order."""
