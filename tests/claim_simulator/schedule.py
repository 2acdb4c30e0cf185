"""What the writers of a schedule do: all of it follows from its seed."""

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from claim_simulator.clusters import Document, share_claims
from claim_simulator.world import Trouble
from simhash_hbase.profile import Profile
from simhash_hbase.rows.collections import Collection

LEASE_S = 0.3
TTL_DAYS = 1
NARROW = 0.3
WITH_TEXTS = 0.7
SAME_FINGERPRINT = 0.4
IN_COLLECTIONS = 0.3
MOST_WRITERS = 4
COLLECTIONS = (None, "a", "b")
BESIDE = ("add", "add", "add", "remove", "remove", "dedup", "vacuum", "repair")


class Task(NamedTuple):
    """What a writer is to do."""

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
    tasks = [[Task("claim", tuple(batch)) for batch in batches] for batches in claims]
    documents = list({each.id: each for batches in claims for batch in batches for each in batch}.values())
    if chosen.random() < WITH_TEXTS:
        texts = {each: each._replace(digest=chosen.randbytes(16)) for each in documents}
        documents = list(texts.values())
        tasks = [
            [task._replace(documents=tuple(texts[each] for each in task.documents)) for task in some] for some in tasks
        ]
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


def _profile(match: str, ttl_days: int | None) -> Profile:
    return Profile.resolve(analyzer="shingle", match=match, lease_s=LEASE_S, ttl_days=ttl_days, grace_s=0)


PROFILES = {
    (match, ttl_days): _profile(match, ttl_days) for ttl_days in (None, TTL_DAYS) for match in ("verified", "distance")
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
