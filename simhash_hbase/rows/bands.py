"""Which bands an index may have: how many groups of a sketch's minima, of how many each."""

from collections.abc import Collection, Mapping, Sequence

from simhash_hbase.rows.layout import MAX_TABLES, SKETCH_BYTES

DEFAULT_BANDS = 6
BAND_DISTANCE = (16, 22, 32)
BAND_DEFAULTS = {"band_bins": 4, "band_distance": BAND_DISTANCE, "free_distance": 10}
# Below which sizes a text is called short. Sketch rows find edited copies by characters in a row, whatever the script.
SHORT_DEFAULTS = {"short": 10, "short_characters": 80}
SHORT_WITHOUT = {"short": 30, "short_characters": 0}
# A sketch keeps one bit of each.
MINIMA = 8 * SKETCH_BYTES


def with_band_defaults(given: Mapping[str, object]) -> dict[str, object]:
    """Fill in the options that an index with bands has when nobody asks for others."""
    return {**BAND_DEFAULTS, **SHORT_DEFAULTS, **given}


def follow_bands(made: dict[str, object], given: Collection[str], before: int) -> None:
    """Fit the options that nobody gave to a number of bands that was another one before."""
    for name, default in BAND_DEFAULTS.items():
        if name not in given and not (before and made["bands"]):
            made[name] = default if made["bands"] else None
    old, new = (SHORT_DEFAULTS if bands else SHORT_WITHOUT for bands in (before, made["bands"]))
    made |= {name: new[name] for name in new if name not in given and made[name] == old[name]}


def following_bands(mine: int, other: int) -> Collection[str]:
    """Name the options that differ between two profiles because one of them has bands."""
    return () if bool(mine) == bool(other) else (*BAND_DEFAULTS, *SHORT_DEFAULTS)


def with_limits(fields: dict[str, object]) -> dict[str, object]:
    """Take a number as the limit for any number of shared sketch rows: users may write it so.

    Examples
    --------
    >>> with_limits({"band_distance": 24})
    {'band_distance': (24,)}
    """
    limits = fields.get("band_distance")
    return {**fields, "band_distance": (limits,)} if isinstance(limits, int) else fields


def band_problem(
    bands: int, bins: int | None, limits: Sequence[int] | None, free: int | None, tables: int
) -> str | None:
    """Say what is wrong with the bands of a profile whose scheme has so many tables."""
    if free is not None and not bands:
        return f"free_distance {free}: it goes with bands"
    if (bins is None, limits is None) != (not bands,) * 2:
        return f"bands {bands}: band_bins and band_distance go with bands, and bands with both"
    if limits is not None and list(limits) != sorted(limits):
        return f"band_distance {limits}: documents that share more sketch rows may not have to be nearer"
    if bands * (bins or 0) > MINIMA:
        return f"{bands} bands of {bins} minima: a sketch has {MINIMA} minima"
    if tables + bands > MAX_TABLES:
        return f"{tables} tables and {bands} bands: a row key's flag has room for {MAX_TABLES} in all"
    return None
