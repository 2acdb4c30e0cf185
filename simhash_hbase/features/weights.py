"""Features and their weights as integers, so that no sum depends on an order."""

from collections.abc import Iterable
from math import isfinite, sqrt

from simhash_hbase.errors import InvalidArgument

SCALE = 65536  # Integer units of a weight of 1.
MAX_WEIGHT = 1e9  # No feature weighs more: a larger weight is a mistake.
MAX_TOTAL = 1 << 62  # All weights of a document together stay below it, in integer units.

Feature = str | int | tuple[str | int, float]  # A feature, which weighs 1, or a pair of feature and weight.


def _integer_weight(weight: float) -> int:
    if not isfinite(weight) or abs(weight) > MAX_WEIGHT:
        raise InvalidArgument(f"weight {weight}: wanted a finite number of at most {MAX_WEIGHT:.0e}")
    return round(weight * SCALE)


def integer_weights(features: Iterable[Feature]) -> tuple[list[str | int], list[int]]:
    """Split features from their weights, and these in units of 1/65,536."""
    names: list[str | int] = []
    weights: list[int] = []
    for feature in features:
        name, weight = feature if isinstance(feature, tuple) else (feature, 1)
        names.append(name)
        weights.append(_integer_weight(weight))
    return names, weights


def count_features(features: Iterable[Feature]) -> int:
    """Count the distinct features whose weights, added up, are not 0.

    Examples
    --------
    >>> count_features([("x", 3), ("x", -3), ("y", 1), ("y", 2), ("z", 1e-6)])
    1
    """
    return sum(weight != 0 for weight in _summed(features).values())


def cosine(a: Iterable[Feature], b: Iterable[Feature]) -> float:
    """Compute the cosine of two documents' weights.

    Parameters
    ----------
    a, b : iterable of str, int or (feature, weight)
        Plain features weigh 1; repeated ones add up.

    Returns
    -------
    float
        1 for equal directions, 0 where nothing is shared or a side weighs nothing.

    Examples
    --------
    >>> round(cosine("我 喜欢 看 电视".split(), "我 喜欢 看 电影".split()), 3)
    0.75
    """
    first, second = _summed(a), _summed(b)
    dot = sum(weight * second.get(name, 0) for name, weight in first.items())
    norms = sum(w * w for w in first.values()) * sum(w * w for w in second.values())
    return dot / sqrt(norms) if norms else 0.0


def _summed(features: Iterable[Feature]) -> dict[str | int, int]:
    sums: dict[str | int, int] = {}
    for name, weight in zip(*integer_weights(features), strict=True):
        sums[name] = sums.get(name, 0) + weight
    return sums
