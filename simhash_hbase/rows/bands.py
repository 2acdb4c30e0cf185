"""Which bands an index may have: how many groups of a sketch's minima, of how many each."""

from simhash_hbase.rows.layout import MAX_TABLES, SKETCH_BYTES

DEFAULT_BANDS = 6
BAND_DEFAULTS = {"band_bins": 4, "band_distance": 24, "free_distance": 10}
BAND_FIELDS = ("bands", *BAND_DEFAULTS)
# A sketch keeps one bit of each.
MINIMA = 8 * SKETCH_BYTES


def band_problem(bands: int, bins: int | None, distance: int | None, free: int | None, tables: int) -> str | None:
    """Say what is wrong with the bands of a profile whose scheme has so many tables."""
    if free is not None and not bands:
        return f"free_distance {free}: it goes with bands"
    if (bins is None, distance is None) != (not bands,) * 2:
        return f"bands {bands}: band_bins and band_distance go with bands, and bands with both"
    if bands * (bins or 0) > MINIMA:
        return f"{bands} bands of {bins} minima: a sketch has {MINIMA} minima"
    if tables + bands > MAX_TABLES:
        return f"{tables} tables and {bands} bands: a row key's flag has room for {MAX_TABLES} in all"
    return None
