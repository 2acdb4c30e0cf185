"""Counts documents whose fingerprints differ between the fast segmenter and plain jieba.

Run by ``scripts/count-segmenter [FOLDER]``; FOLDER holds ``docs.*.jsonl.gz``. It exits with 1 when
more than 2 in 10,000 documents differ.
"""

import gzip
import json
import os
import sys
from collections.abc import Iterator
from difflib import SequenceMatcher
from multiprocessing import get_context
from pathlib import Path

from simhash_hbase.errors import MissingExtra
from simhash_hbase.features.analyzers import JiebaAnalyzer, weigh_tokens
from simhash_hbase.features.fingerprints import Fingerprinter, fingerprint
from simhash_hbase.words.fast import fast_available
from simhash_hbase.words.segment import cut, segmenter

ANALYZER = JiebaAnalyzer(top=200, words=None)
FINGERPRINTER = Fingerprinter(ANALYZER)
CONTEXT = 3
CHUNK = 16
PROCESSES = 2
ALLOWED = 2 / 10_000


def differences(ours: list[str], theirs: list[str]) -> list[str]:
    """Show where two token lists differ, with a few tokens around."""
    blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    shown = []
    for tag, start, stop, other_start, other_stop in blocks:
        if tag != "equal":
            before = "/".join(theirs[max(0, other_start - CONTEXT) : other_start])
            after = "/".join(theirs[other_stop : other_stop + CONTEXT])
            fast, plain = "/".join(ours[start:stop]), "/".join(theirs[other_start:other_stop])
            shown.append(f"{before!r} fast {fast!r} jieba {plain!r} {after!r}")
    return shown


def compare(text: str) -> tuple[bool, list[str]]:
    """Tell whether the fingerprints of a text differ, and where the tokens do."""
    theirs = segmenter("jieba")(text)
    features = weigh_tokens(ANALYZER, theirs)
    expected = fingerprint(features) if features else 0
    simhashes, counts = FINGERPRINTER.fingerprint_many([text])
    ours = cut(text)
    differing = int(simhashes[0]) != expected or int(counts[0]) != len(features)
    return differing, [] if ours == theirs else differences(ours, theirs)


def texts(path: Path) -> Iterator[str]:
    """Read the texts of a set."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def main(arguments: list[str]) -> int:
    """Count every set of a folder."""
    shared = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(arguments[0] if arguments else os.environ.get("SIMHASH_HBASE_DATA", shared))
    paths = sorted(folder.glob("docs.*.jsonl.gz"))
    if not paths:
        print(f"count-segmenter: {folder} holds no docs.*.jsonl.gz", file=sys.stderr)
        return 2
    if not fast_available():
        raise MissingExtra("There is nothing to compare without rjieba: pip install rjieba")
    documents = different = 0
    with get_context("spawn").Pool(PROCESSES) as pool:
        for path in paths:
            in_set = different_in_set = 0
            for differing, stretches in pool.imap(compare, texts(path), CHUNK):
                in_set += 1
                different_in_set += differing
                for stretch in stretches:
                    print(f"  {stretch}", flush=True)
            name = path.name.removeprefix("docs.").removesuffix(".jsonl.gz")
            print(f"{name}: {in_set} documents, {different_in_set} differing", flush=True)
            documents += in_set
            different += different_in_set
    print(f"all: {documents} documents, {different} differing")
    return int(different > ALLOWED * documents)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
