"""The cost and the worth of ``dedup --exact`` on whole sets.

Run by ``scripts/evaluate --exact [SET…]``. Each set is decided by the command, with the sketches and with the texts, in
a process of its own with one worker, whose processor time and greatest memory the system counts. Recall is the share of
the listed pairs with a similarity at the threshold or above of which at most one document was kept; precision is the
share of duplicates whose similarity to the original that they name is at the threshold or above.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evaluate import REQUIRED_RECALL

from simhash_hbase.profile import Profile
from support.labelled import Corpus, Similarities, documents_file, read_corpus
from support.results import command

THRESHOLD = Profile.resolve().similarity
HEAD = "| set | judged by | duplicates | recall | precision | processor time | memory |\n|---|---|--:|--:|--:|--:|--:|"


class Run(NamedTuple):
    """One run of the command."""

    decisions: list[dict[str, str]]
    seconds: float
    megabytes: float


def decided(path: Path, words: Sequence[str]) -> Run:
    """Decide a file in a process of its own."""
    run = command("dedup", path, "--workers", 1, "--quiet", *words)
    with tempfile.TemporaryFile() as out, subprocess.Popen(run, stdout=out) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 3):
            raise RuntimeError(f"{' '.join(run)} ended with {process.returncode}")
        out.seek(0)
        decisions = [json.loads(line) for line in out]
    return Run(decisions, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def row(corpus: Corpus, exact: Similarities, name: str, run: Run) -> str:
    at = {document: number for number, document in enumerate(corpus.ids)}
    pairs = [(at[decision["id"]], at[decision["of"]]) for decision in run.decisions if decision["of"]]
    originals = {at[decision["id"]] for decision in run.decisions if not decision["of"]}
    alike = [pair for pair in corpus.pairs if exact.of(pair) >= THRESHOLD]
    recall = sum(not originals.issuperset(pair) for pair in alike) / len(alike)
    precision = sum(exact.of((min(pair), max(pair))) >= THRESHOLD for pair in pairs) / len(pairs)
    return (
        f"| `{corpus.name}` | {name} | {len(pairs):,} | {recall:.3f} | {precision:.3f} | {run.seconds:.1f} s"
        f" | {run.megabytes:,.0f} MB |"
    )


def main(arguments: list[str]) -> int:
    print(HEAD)
    for name in arguments or list(REQUIRED_RECALL):
        corpus = read_corpus(name)
        exact = Similarities(corpus.texts)
        for judged, words in (("sketches", []), ("texts", ["--exact"])):
            print(row(corpus, exact, judged, decided(documents_file(name), words)), flush=True)
    return 0
