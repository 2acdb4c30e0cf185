"""Your own features: near copies among programs, by their identifiers in place of their words.

``python examples/own_fingerprints.py file:programs.index FOLDER`` prints the Python files of a folder that are near
copies of others. Without a text there is no sketch, so the rule is ``distance``.
"""

import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from simhash_hbase import Entries, LocalIndex, create_index, fingerprint

IDENTIFIER = re.compile(r"[^\W\d]\w+")


def simhash_of(source: str) -> int | None:
    """Return the fingerprint of a program: an identifier weighs as much as it occurs often."""
    counts = Counter(IDENTIFIER.findall(source))
    return fingerprint([(name, float(count)) for name, count in counts.items()]) if counts else None


def make(url: str) -> LocalIndex:
    """Make or open an index that takes fingerprints only."""
    return create_index(url, analyzer="weighted", match="distance", distance=3, if_not_exists=True)


def add(index: LocalIndex, simhashes: dict[str, int]) -> None:
    """Add fingerprints by the names of what they belong to."""
    index.add_entries(Entries.of_fingerprints(list(simhashes), np.array(list(simhashes.values()), np.uint64)))


if __name__ == "__main__":
    url, folder = sys.argv[1:]
    sources = {path.name: simhash_of(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).glob("*.py"))}
    simhashes = {name: simhash for name, simhash in sources.items() if simhash is not None}
    with make(url) as programs:
        add(programs, simhashes)
        for name, simhash in simhashes.items():
            for match in programs.query_simhash(simhash).matches:
                if match.id != name:
                    print(f"{name} is near {match.id}: {match.distance} bits")
