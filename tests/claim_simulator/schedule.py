"""Schedules: the tasks of writers and the near copies that they are about; all of it follows from a seed."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from support.bruteforce import SKETCH_BITS, entries, flip

from claim_simulator.world import Trouble
from simhash_hbase.profile import Profile
from simhash_hbase.rows.collections import Collection

FULL_BITS = 64
BATCHES = (1, 4, 16, 48)
BANDS = 6
SEGMENT_BITS = 32
LEASE_S = 0.3
TTL_DAYS = 1
NARROW = 0.3
WITH_TEXTS = 0.7
SAME_FINGERPRINT = 0.4
IN_COLLECTIONS = 0.3
MOST_WRITERS = 4
COLLECTIONS = (None, "a", "b")
BESIDE = ("add", "add", "add", "remove", "remove", "dedup", "vacuum", "repair")


class Document(NamedTuple):
    """A document of a cluster of near copies."""

    id: str
    simhash: int
    sketch: int | None
    segments: tuple[int, ...] = ()  # Segments of its sketch rows; none without a sketch.
    digest: bytes = b""  # Digest of its text; empty for a ready fingerprint.


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
            made.append(Document(f"{name}.{number}", own, None))
            continue
        own_sketch = _flipped(sketch, chosen, 0, 40, bits=SKETCH_BITS)
        made.append(Document(f"{name}.{number}", own, own_sketch, _segments(name, chosen)))
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


class Task(NamedTuple):
    """One call that a writer is to make."""

    kind: str
    documents: tuple[Document, ...] = ()


class Schedule(NamedTuple):
    """Writers and their tasks, and how much goes wrong."""

    profile: Profile
    documents: list[Document]
    writers: list[list[Task]]
    trouble: Trouble


def make_schedule(chosen: Random, seed: int) -> Schedule:
    """Make the schedule of a seed, some of them with documents of two collections."""
    made = _plain_schedule(chosen, seed)
    apart = Random(f"collections {seed}")
    if apart.random() >= IN_COLLECTIONS:
        return made
    names = dict.fromkeys(document.id for document in made.documents)
    stored = {name: Collection(apart.choice(COLLECTIONS)).stored_id(name) for name in names}

    def moved(documents: Iterable[Document]) -> list[Document]:
        return [document._replace(id=stored[document.id]) for document in documents]

    writers = [[task._replace(documents=tuple(moved(task.documents))) for task in tasks] for tasks in made.writers]
    return made._replace(documents=moved(made.documents), writers=writers)


def _plain_schedule(chosen: Random, seed: int) -> Schedule:
    profile = PROFILES[chosen.choices(list(PROFILES), (6, 2, 2, 1))[0]]
    writers = chosen.choice((2, 2, 3, 3, 4))
    sketched = profile.match == "verified"
    claims = share_claims(str(seed), writers, chosen.choice((1, 1, 1, 2)), sketched=sketched)
    named = {each.id: each for batches in claims for batch in batches for each in batch}
    if chosen.random() < WITH_TEXTS:
        named = {name: each._replace(digest=chosen.randbytes(16)) for name, each in named.items()}
    documents = list(named.values())
    tasks = [[Task("claim", tuple(named[each.id] for each in batch)) for batch in batches] for batches in claims]
    if chosen.random() < NARROW:
        return _narrow(profile, documents, chosen)
    if chosen.random() < 0.5:
        documents += _second_texts(chosen, documents, tasks)
    if chosen.random() < 0.6 or profile.ttl_days is not None:
        _add_others(chosen, documents, tasks, expires=profile.ttl_days is not None)
    return Schedule(profile, documents, [task for task in tasks if task], _trouble(chosen))


def _narrow(profile: Profile, documents: list[Document], chosen: Random) -> Schedule:
    """Let three writers claim one document each, with many late requests: what needs several steps in one order."""
    few = chosen.sample(documents, min(3, len(documents)))
    events = {"kill": 0.01, "pause": 0.05}
    trouble = Trouble(stick=chosen.choice((0.3, 0.9)), late=0.4, events=events)
    return Schedule(profile, few, [[Task("claim", (document,))] for document in few], trouble)


PROFILES = {
    (match, ttl): Profile.resolve(analyzer="shingle", match=match, lease_s=LEASE_S, ttl_days=ttl, grace_s=0)
    for ttl in (None, TTL_DAYS)
    for match in ("verified", "distance")
}


def _second_texts(chosen: Random, documents: list[Document], tasks: list[list[Task]]) -> list[Document]:
    """Let some ids be claimed with the text of another document of theirs."""
    made = []
    for document in chosen.sample(documents, min(len(documents), chosen.choice((1, 1, 2)))):
        other = chosen.choice(documents)
        if chosen.random() < SAME_FINGERPRINT and document.digest:
            other = other._replace(simhash=document.simhash)
        if other.simhash != document.simhash or other.digest != document.digest:
            made.append(other._replace(id=document.id))
            chosen.choice(tasks).append(Task("claim", (made[-1],)))
    for some in tasks:
        if chosen.random() < 0.5:
            chosen.shuffle(some)
    return made


def _add_others(chosen: Random, documents: list[Document], tasks: list[list[Task]], *, expires: bool) -> None:
    kinds = chosen.choices(BESIDE, k=chosen.choice((1, 2, 3, 4))) + ["day"] * (chosen.choice((1, 2, 3)) * expires)
    for kind in kinds:
        some = tuple(chosen.sample(documents, min(len(documents), chosen.choice((1, 2, 3)))))
        named = {document.id: document for document in some}
        task = Task(kind, () if kind in ("vacuum", "repair", "day") else tuple(named.values()))
        own = chosen.choice([*tasks, *([None] if len(tasks) < MOST_WRITERS else [])])
        if own is None:
            tasks.append([task])
        else:
            own.insert(chosen.randint(0, len(own)), task)


def _trouble(chosen: Random) -> Trouble:
    """Choose how much goes wrong: in some schedules little, in some of one kind much."""

    def share(most: float) -> float:
        return chosen.choice((0.0, 0.2, 1.0)) * most

    rates = {"kill": 0.01, "pause": 0.04, "step": 0.01, "server_step": 0.004, "partition": 0.01, "compaction": 0.004}
    events = {event: share(most) for event, most in rates.items()}
    return Trouble(
        stick=chosen.choice((0.0, 0.3, 0.7, 0.95)),
        late=share(0.25),
        lost=share(0.2),
        unanswered=share(0.02),
        cut=chosen.choice((0.0, 0.3, 1.0)),
        events=events,
        compacts=events["compaction"] > 0,
    )
