"""Words: a text in its normal form, and the words that it is cut into."""
