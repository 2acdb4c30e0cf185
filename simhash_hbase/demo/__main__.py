"""``python -m simhash_hbase.demo``: print the demonstration corpus as JSON lines."""

import sys

import msgspec

from simhash_hbase.demo.corpus import documents


def main() -> None:
    """Write the corpus to standard output."""
    encoder = msgspec.json.Encoder()
    for text in documents():
        sys.stdout.buffer.write(encoder.encode(text) + b"\n")


if __name__ == "__main__":
    main()
