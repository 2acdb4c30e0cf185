"""``python -m simhash_hbase.demo [FOLDER]``: the demonstration corpus as JSON lines, or as web pages in a folder."""

import sys
from argparse import ArgumentParser

import msgspec

from simhash_hbase.demo.corpus import documents
from simhash_hbase.demo.pages import write_pages


def main() -> None:
    """Write the corpus to standard output, or some of it as pages into the folder that is named."""
    parser = ArgumentParser("python -m simhash_hbase.demo", description="Write a made corpus as JSON lines.")
    parser.add_argument("folder", nargs="?", help="write some of it as web pages into this folder instead")
    if folder := parser.parse_args().folder:
        print(f"{write_pages(documents(), folder)} pages in {folder}")
        return
    encoder = msgspec.json.Encoder()
    for text in documents():
        sys.stdout.buffer.write(encoder.encode(text) + b"\n")


if __name__ == "__main__":
    main()
