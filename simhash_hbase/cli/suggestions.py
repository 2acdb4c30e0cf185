"""Names that are suggested where a word is unknown: those that mean the same elsewhere, then those spelt alike."""

from collections.abc import Collection
from difflib import get_close_matches

_ALIKE = 0.75  # By difflib's measure: --threshold is no --results, --anlyzer is --analyzer.

_OPTIONS = {
    "--similarity": "threshold jaccard score min-similarity minimum-similarity cutoff",
    "--distance": "hamming hamming-distance max-distance k bits",
    "--analyzer": "analyser tokenizer tokeniser",
    "--text-field": "text-column text-key column field content-field",
    "--id-field": "id-column id-key key",
    "--output": "out output-file out-file save kept clean",
    "--results": "decisions",
    "--report": "html",
    "--workers": "jobs threads processes num-workers n-jobs parallel cores",
    "--limit": "top top-k max-results first",
    "--resume": "continue restart",
    "--input-format": "type input-type",
    "--learn-from": "learn train sample corpus",
    "--from": "ids file",
    "--rejects": "errors refused bad",
    "--quiet": "silent no-progress",
}
_COMMANDS = {
    "add": "insert index ingest put upsert write",
    "create": "init new make",
    "dedup": "deduplicate deduplication dedupe unique uniq clean",
    "explain": "compare diff similarity distance",
    "export": "dump list ls",
    "fingerprint": "hash simhash sketch",
    "get": "show fetch lookup",
    "load": "import bulk bulk-load bulkload",
    "query": "search find near match ask",
    "remove": "delete rm del forget",
    "serve": "server start api http",
    "stats": "info status count size",
    "vacuum": "gc compact cleanup prune",
    "verify": "check fsck validate repair",
}


def perhaps(word: str, known: Collection[str]) -> str:
    """Return how a sentence about an unknown option or command goes on.

    Examples
    --------
    >>> perhaps("--threshold", ["--results", "--similarity"]), perhaps("dedupp", ["dedup", "add"])
    (': perhaps --similarity', ': perhaps dedup')
    >>> perhaps("--threshold", ["--results"])
    ''
    """
    meanings = _OPTIONS if word.startswith("-") else _COMMANDS
    said = word.lower().lstrip("-").replace("_", "-")
    same = [name for name, words in meanings.items() if name in known and said in words.split()]
    found = same or get_close_matches(word, known, cutoff=_ALIKE)
    return f": perhaps {' or '.join(found)}" if found else ""
