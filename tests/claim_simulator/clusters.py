"""Near copies, and which writers claim them: all of it follows from a seed."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from support.bruteforce import SKETCH_BITS, entries, flip

FULL_BITS = 64
BATCHES = (1, 4, 16, 48)
BANDS = 6
SEGMENT_BITS = 32


class Document(NamedTuple):
    """A document of a cluster of near copies."""

    id: str
    simhash: int
    sketch: int | None
    cluster: str
    segments: tuple[int, ...] = ()
    """Of its sketch rows; none without a sketch."""
    digest: bytes = b""
    """Of its text; empty for a ready fingerprint."""


def share_claims(name: str, writers: int, clusters: int, *, sketched: bool) -> list[list[list[Document]]]:
    """Return for each writer its batches of groups of near copies; at least two writers claim each group.

    The name is a seed, and part of all ids.
    """
    chosen = Random(name)
    claims: list[list[Document]] = [[] for _ in range(writers)]
    for number in range(clusters):
        made = _cluster(f"{name}/{number}", chosen, sketched=sketched)
        for document, owners in zip(made, _owners(chosen, len(made), writers), strict=True):
            for owner in owners:
                claims[owner].append(document)
    return [_batches(chosen, claimed) for claimed in claims]


def as_entries(documents: Sequence[Document]):
    sketches = [document.sketch for document in documents]
    given = sketches if any(sketch is not None for sketch in sketches) else None
    bands = None if given is None else [document.segments or (0,) * BANDS for document in documents]
    pairs = [(document.id, document.simhash) for document in documents]
    return entries(pairs, sketches=given, bands=bands, digests=[document.digest for document in documents])


def _cluster(name: str, chosen: Random, *, sketched: bool) -> list[Document]:
    """Make near copies: all within reach of each other, or each of the next one only, or anything between.

    Where there are sketches, some are so by their fingerprints, some by their sketches alone.
    """
    simhash, sketch = chosen.getrandbits(FULL_BITS), chosen.getrandbits(SKETCH_BITS) if sketched else None
    shape, made = chosen.choice(("copies", "star", "chain", "chain", *(["characters"] * 2 if sketched else []))), []
    for number in range(chosen.randint(1, 6)):
        if shape == "chain":
            simhash = _flipped(simhash, chosen, 2, 3)
        own = _flipped(simhash, chosen, 0, {"copies": 1, "star": 3, "chain": 0, "characters": 11}[shape])
        if sketch is None:
            made.append(Document(f"{name}.{number}", own, None, name))
            continue
        own_sketch = _flipped(sketch, chosen, 0, 40, bits=SKETCH_BITS)
        made.append(Document(f"{name}.{number}", own, own_sketch, name, _segments(name, chosen)))
    return made


def _segments(name: str, chosen: Random) -> tuple[int, ...]:
    """Give each band the cluster's segment or another one: copies share some, all or none."""
    shared = Random(name)
    kept = chosen.choice((0.2, 0.5, 0.9))
    return tuple(
        segment if chosen.random() < kept else chosen.getrandbits(SEGMENT_BITS)
        for segment in (shared.getrandbits(SEGMENT_BITS) for _ in range(BANDS))
    )


def _flipped(value: int, chosen: Random, least: int, most: int, *, bits: int = FULL_BITS) -> int:
    return flip(value, chosen.sample(range(bits), chosen.randint(least, most)))


def _owners(chosen: Random, documents: int, writers: int) -> list[list[int]]:
    """Give each document to some writers, and the cluster to two at least."""
    owners = [chosen.sample(range(writers), min(writers, chosen.choice((1, 1, 1, 2, 3)))) for _ in range(documents)]
    if len({owner for some in owners for owner in some}) == 1:
        owners[0] = chosen.sample(range(writers), 2)
    return owners


def _batches(chosen: Random, claims: list[Document]) -> list[list[Document]]:
    """Put claims into an order of this writer's own, not far from the others', and cut it."""
    places = {id(claim): place + chosen.uniform(0, 4) for place, claim in enumerate(claims)}
    ordered = sorted(claims, key=lambda claim: places[id(claim)])
    batches = []
    while ordered:
        size = chosen.choice(BATCHES)
        batches.append(ordered[:size])
        ordered = ordered[size:]
    return batches
