"""``python -m simhash_hbase``."""

from simhash_hbase_start import main

if __name__ == "__main__":
    main()
