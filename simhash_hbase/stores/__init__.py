"""Places that keep rows: the seam in `base`, their addresses, and one module or package for each kind of store."""
