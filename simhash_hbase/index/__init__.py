"""The index: documents in, near-duplicates out, over any store."""
