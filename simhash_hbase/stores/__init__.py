"""Places that keep rows: the seam in `base`, and one module or package for each kind of store."""
