"""``python -m simhash_hbase``."""

from simhash_hbase.cli import main

if __name__ == "__main__":
    main()
