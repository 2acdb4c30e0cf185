"""What `dedup --output` writes: the documents that are kept, in the form of their input."""
