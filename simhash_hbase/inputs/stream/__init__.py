"""Streams of bytes: decompressed, decoded, cut into lines."""
