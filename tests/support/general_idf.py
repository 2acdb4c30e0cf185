"""Makes the idf table that the package ships, from free texts: the shared evaluation sets.

Run by ``scripts/general-idf``. The same sets, Unicode version and dictionary give the same file. A table without one of
the sets measures what the shipped one does for texts that it has not seen.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from simhash_hbase.features import idf
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.kernel.texts import BATCH, Batch, divided, document_frequencies
from support.labelled import documents_file, read_documents

SETS = ("lctt_zh_edit", "laws_tw_versions", "laws_tw_en_versions", "graph_zh_v1_beta", "minhash2500_en")
"""Chinese articles, Chinese and English laws, Chinese pages with code, English news: see README.md of the features."""
DOCUMENTS = 5_000
"""The number of documents that each set counts as, so that no set decides alone what is common."""
WORDS = 20_000
"""Most frequent words that are kept; the table of README.md of the features shows what others give."""


@cache
def frequencies(name: str) -> tuple[int, dict[str, int]]:
    """Count the documents of a set, and those that hold a word, for words that two or more hold."""
    texts = [document["text"] for document in read_documents(name)]
    parts = [Batch(part).count(folded=True, seed=0).distinct() for part in divided(texts, 4 * BATCH)]
    return len(texts), document_frequencies(parts)


def general_table(sets: Sequence[str] = SETS, *, words: int = WORDS) -> IdfTable:
    """Make the table of some sets."""
    shares: Counter[str] = Counter()
    for name in sets:
        documents, counts = frequencies(name)
        for word, count in counts.items():
            shares[word] += count * DOCUMENTS // documents
    ordered = sorted(shares, key=lambda word: (-shares[word], word))[:words]
    return IdfTable(
        documents=DOCUMENTS * len(sets), frequencies={word: shares[word] for word in ordered if shares[word] > 1}
    )


def shipped_file() -> Path:
    """Return where the shipped table is."""
    return Path(idf.__file__).with_name(f"{idf.GENERAL}.idf")


def main() -> int:
    """Write the file, or say which set is not there."""
    absent = [name for name in SETS if not documents_file(name).exists()]
    if absent:
        print(f"general-idf: there is no {documents_file(absent[0])}; set SIMHASH_HBASE_DATA to the folder of the "
              "labelled documents", file=sys.stderr)  # fmt: skip
        return 2
    table = general_table()
    shipped_file().write_bytes(table.encode())
    print(f"{shipped_file().name}: {len(table.frequencies):,} words of {table.documents:,} documents, "
          f"{shipped_file().stat().st_size:,} bytes, digest {table.digest()}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
