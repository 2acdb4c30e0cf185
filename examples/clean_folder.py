"""Clean a folder of JSON lines: of near copies in any of its files, the first one is kept.

``python examples/clean_folder.py FOLDER CLEAN`` writes files of the same names into the folder CLEAN.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from simhash_hbase import create_index


def documents(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the place of each document, which is its id here, and its text."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                yield f"{path.name}:{number}", json.loads(line)["text"]


def clean(folder: Path, target: Path) -> tuple[int, int]:
    """Write the lines that are kept; return how many there were, and how many were kept."""
    if target.resolve() == folder.resolve():
        sys.exit("the clean files need a folder of their own")
    target.mkdir(parents=True, exist_ok=True)
    places: set[str] = set()
    # The first pass learns which words are common here, the second one decides.
    texts = (text for _, text in documents(folder))
    with create_index("memory:", learn_from=texts) as index:
        for place, decision in index.dedup_many(documents(folder)):
            # A document without usable words has no decision; here it is kept.
            if decision is None or decision.is_original:
                places.add(place)
    total = 0
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines, (target / path.name).open("w", encoding="utf-8") as kept:
            for number, line in enumerate(lines, 1):
                total += 1
                if f"{path.name}:{number}" in places:
                    kept.write(line)
    return total, len(places)


if __name__ == "__main__":
    read, written = clean(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{written} of {read} documents are in {sys.argv[2]}")
