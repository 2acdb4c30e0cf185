"""Comparisons: why two texts are near, or are not."""
