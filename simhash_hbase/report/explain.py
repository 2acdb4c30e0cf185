"""The comparison of two documents that `explain` shows: distance, similarity, shared block rows, differing features."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from simhash_hbase.errors import EmptyDocument, no_words
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.fingerprints import GivenFeature, hash_signs, summed_weights
from simhash_hbase.index.agree import agreed_value
from simhash_hbase.index.copied import PassagePair
from simhash_hbase.kernel.texts import cut
from simhash_hbase.profile import Profile
from simhash_hbase.profile.defaults import LEAST_PASSAGES, NEAR_LIMITS
from simhash_hbase.profile.matching import MatchRule, accept, hamming
from simhash_hbase.rows.analysed import Entries, Metadata
from simhash_hbase.rows.layout import PASSAGE_BYTES, SIMHASH_BITS

SHOWN_FEATURES = 20

WeightedFeatures = Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """One of the two documents that are compared: its name, its analysis and its features, if they are known."""

    name: str
    entries: Entries
    features: WeightedFeatures | None = None  # None for a stored document: the index keeps no text.
    decision: Mapping[str, Any] | None = None  # The decision about a copy, of which the index keeps no sketch.

    @classmethod
    def of_text(cls, name: str, text: str, analysis: Analysis) -> "ComparedDocument":
        """Return a text as a document to compare, analysed; raise `EmptyDocument` if it has no usable words."""
        analysed = analysis.texts([name], [text])
        if analysed.refused:
            raise EmptyDocument(no_words(name))
        return cls(name, analysed.entries, analysis.analyzer.features(text))

    @classmethod
    def of_features(
        cls, name: str, features: Sequence[tuple[str | int, float]], analysis: Analysis
    ) -> "ComparedDocument":
        """Return a document to compare from the caller's own weighted features.

        The weights of a repeated feature are added.
        """
        analysed = analysis.features([name], [features])
        if analysed.refused:
            raise EmptyDocument(f"{name}: {analysed.refused[0]}")
        weights: dict[str, float] = {}
        for feature, weight in features:
            weights[str(feature)] = weights.get(str(feature), 0.0) + weight
        return cls(name, analysed.entries, list(weights.items()))

    def with_metadata(self, metadata: Metadata | None) -> "ComparedDocument":
        """Return the document with this metadata, for an index in which near copies must agree in a metadata field."""
        return replace(self, entries=replace(self.entries, metadata=[metadata]))

    @property
    def simhash(self) -> int:
        """The 64-bit fingerprint of the document."""
        return int(self.entries.simhashes[0])

    def misses_sketches(self, other: "ComparedDocument") -> bool:
        """Return whether sketches cannot be compared as one document is a stored duplicate: its sketch is not kept."""
        sides = (self, other)
        sketched = all(side.decision or side.entries.sketched[0] for side in sides)
        return sketched and any(side.decision for side in sides)


def compare(
    a: ComparedDocument, b: ComparedDocument, profile: Profile, passages: PassagePair | None = None
) -> dict[str, object]:
    """Return the comparison of two documents as the fields that `explain` shows.

    A value that would need the sketch of a stored copy, which is not kept, is None. `passages` compares the passages of
    both for rule ``copied``, which takes an index; without it ``found`` is None where passages decide. ``agrees`` is
    None where a document has no value in the field on which near copies must agree: it may be a copy of any document.
    """
    scheme = profile.blocks
    distance = hamming(a.simhash, b.simhash)
    tables = [table.flag for table in scheme.agreeing(a.simhash, b.simhash)]
    unknown = a.misses_sketches(b)

    def found(rule: MatchRule) -> tuple[bool | None, float | None]:
        """Return whether a rule accepts the two documents (None: not known) and their estimated similarity."""
        accepted, similarity = accept(rule, distance, a.entries, b.entries, by_blocks=bool(tables))
        undecided = unknown and not accepted and rule.asks_sketches(distance, by_blocks=bool(tables))
        return None if undecided else accepted, similarity

    is_found, similarity = found(profile.rule)
    if profile.match == "copied":
        is_found = _found_by_passages(a, b, passages, verified=is_found)
    agrees = None if profile.agree is None else _agrees(a, b, profile.agree)
    record: dict[str, object] = {
        "a": {"id": a.name, "simhash": f"{a.simhash:016x}", **(a.decision or {})},
        "b": {"id": b.name, "simhash": f"{b.simhash:016x}", **(b.decision or {})},
        "distance": distance,
        "bits": f"{a.simhash ^ b.simhash:064b}",
        "differing_blocks": list(scheme.differing_blocks(a.simhash, b.simhash)),
        "tables": tables,
        "similarity": similarity,
        **({} if profile.agree is None else {"agrees": agrees}),
        "found": agrees is not False and is_found,
    }
    if passages is not None:
        record["passages"] = {**passages._asdict(), "counted": len(passages.counted)}
    if profile.bands:
        if profile.match == "verified":
            rules = {near: profile.replace(near=near).rule for near in NEAR_LIMITS}
            record["found_near"] = {near: agrees is not False and found(rule)[0] for near, rule in rules.items()}
        record["bands"] = None if unknown else []
        if a.entries.sketched[0] and b.entries.sketched[0]:
            joined = np.flatnonzero(a.entries.segments[0] == b.entries.segments[0])
            record["bands"] = (joined + len(scheme.tables) + 1).tolist()
    if a.features is None or b.features is None:
        return record
    apart = pulls(a.features, b.features, a.simhash ^ b.simhash, hash=profile.hash, seed=profile.seed)
    left, right = dict(a.features), dict(b.features)
    shared = [[name, weight, right[name]] for name, weight in a.features if name in right]
    only_a = [[name, weight] for name, weight in a.features if name not in right]
    only_b = [[name, weight] for name, weight in b.features if name not in left]
    return {
        **record,
        "cosine": cosine(a.features, b.features),
        "features": {"shared": len(shared), "only_a": len(only_a), "only_b": len(only_b)},
        "shared": shared[:SHOWN_FEATURES],
        "only_a": only_a[:SHOWN_FEATURES],
        "only_b": only_b[:SHOWN_FEATURES],
        "pulls": [list(pull) for pull in apart[:SHOWN_FEATURES]],
    }


def _agrees(a: ComparedDocument, b: ComparedDocument, field: str) -> bool | None:
    """Return whether two documents have the same value in a metadata field; None if one of them has no value."""
    one, other = (agreed_value(side.entries.metadata[0], field) for side in (a, b))
    return one == other if one and other else None


def _found_by_passages(
    a: ComparedDocument, b: ComparedDocument, passages: PassagePair | None, *, verified: bool | None
) -> bool | None:
    """Return whether two documents match by rule ``copied``; None if that is not known.

    `passages` compares their passages, None without an index; `verified` is the result by rule ``verified``, for
    documents with too few passages.
    """
    if a.decision or b.decision:
        # The index keeps no passages of a copy.
        return None
    if passages is not None:
        return verified if passages.is_copied is None else passages.is_copied
    least = LEAST_PASSAGES * PASSAGE_BYTES
    decide = all(len(side.entries.packed_passages[0]) >= least for side in (a, b))
    return None if decide else verified


def cosine(a: Iterable[GivenFeature], b: Iterable[GivenFeature]) -> float:
    """Return the cosine similarity of the feature weights of two documents; 0 if a document has no weight at all.

    Features without a weight weigh 1; the weights of repeated ones are added.

    Examples
    --------
    >>> round(cosine("我 喜欢 看 电视".split(), "我 喜欢 看 电影".split()), 3)
    0.75
    """
    first, second = summed_weights(a), summed_weights(b)
    dot = sum(weight * second.get(name, 0) for name, weight in first.items())
    norms = sum(w * w for w in first.values()) * sum(w * w for w in second.values())
    return dot / sqrt(norms) if norms else 0.0


def word_cosine(a: str, b: str) -> float:
    """Return the cosine similarity of the word counts of two texts, without idf weights.

    Examples
    --------
    >>> a, b = "我 喜欢 看 电视，不 喜欢 看 电影", "我 不 喜欢 看 电视，也 不 喜欢 看 电影"
    >>> round(word_cosine(a, b), 3)
    0.938
    """
    left, right = ([word for word in cut(text) if any(map(str.isalnum, word))] for text in (a, b))
    return cosine(left, right)


def pulls(
    a: WeightedFeatures, b: WeightedFeatures, differing: int, *, hash: str = "murmur3", seed: int = 0
) -> list[tuple[str, float, float, float]]:
    """Return the features that make two fingerprints differ, with the largest share first.

    Each is (name, weight in a, weight in b, share). `differing` has a 1 for each bit that differs. The gap at a
    differing bit is the sum of the features' weights there, with the signs of their hashes, in `a` less that in `b`;
    both sides are scaled to length 1, since a fingerprint does not change with the scale. A feature's share is its part
    in the gaps of all differing bits.
    """
    left, right = dict(a), dict(b)
    names = list(dict.fromkeys([*left, *right]))
    if not differing:
        return []
    own, other = (np.array([weights.get(name, 0.0) for name in names]) for weights in (left, right))
    apart = own / np.linalg.norm(own) - other / np.linalg.norm(other)
    gaps = apart[:, None] * hash_signs(names, hash=hash, seed=seed)
    here = np.array([differing >> bit & 1 for bit in reversed(range(SIMHASH_BITS))], dtype=np.bool_)
    total = gaps.sum(axis=0)[here]
    shares = gaps[:, here] @ np.sign(total) / np.abs(total).sum()
    order = [at for at in np.argsort(-shares, kind="stable").tolist() if shares[at] > 0]
    return [(names[at], left.get(names[at], 0.0), right.get(names[at], 0.0), float(shares[at])) for at in order]
