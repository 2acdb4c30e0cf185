"""``python -m simhash_hbase.demo [FOLDER]``: the demonstration corpus as JSON lines, or as web pages in a folder."""

import sys

import msgspec

from simhash_hbase.demo.corpus import documents
from simhash_hbase.demo.pages import write_pages


def main() -> None:
    """Write the corpus to standard output, or some of it as pages into the folder that is named."""
    if folders := sys.argv[1:]:
        print(f"{write_pages(documents(), *folders)} pages in {folders[0]}")
        return
    encoder = msgspec.json.Encoder()
    for text in documents():
        sys.stdout.buffer.write(encoder.encode(text) + b"\n")


if __name__ == "__main__":
    main()
