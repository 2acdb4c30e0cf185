"""Features: from a text to its weighted features, its fingerprint and its sketch."""
