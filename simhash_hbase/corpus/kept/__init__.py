"""The originals of a corpus, in the form that the input has."""
