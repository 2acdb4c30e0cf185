"""The file for ``spark-submit``: the commands of ``simhash-hbase spark``."""

import sys
from importlib import import_module

if __name__ == "__main__":
    sys.argv.insert(1, "spark")
    # Named, not imported: the command line is a layer above this one.
    import_module("simhash_hbase.__main__").main()
