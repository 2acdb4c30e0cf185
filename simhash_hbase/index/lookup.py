"""The rows by which documents meet: the block rows of their fingerprints, and the sketch rows of their sketches."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.profile import Profile
from simhash_hbase.profile.near import MatchRule, Sketches
from simhash_hbase.rows.entries import Entries
from simhash_hbase.rows.keys import BlockRows, band_prefixes, band_rows, block_rows


def check_bands(profile: Profile, entries: Entries) -> None:
    """Refuse documents whose sketches come without the bands that the index needs: rows would be missing."""
    held = entries.segments.shape[1]
    if held != profile.bands and entries.sketched.any():
        raise InvalidArgument(f"the documents have {held} bands, the index has {profile.bands}: analyse them by it")


def asked_prefixes(profile: Profile, entries: Entries, rule: MatchRule) -> NDArray[np.uint64]:
    """Compute the prefixes of all rows that a rule reads, shape (n, tables) or (n, tables + bands)."""
    blocks = profile.blocks.prefixes(entries.simhashes)
    if rule.band_reach is None or not profile.bands:
        return blocks
    return np.hstack([blocks, entry_band_prefixes(profile, entries)])


def entry_band_prefixes(profile: Profile, entries: Entries) -> NDArray[np.uint64]:
    """Compute the prefixes of documents' sketch rows, shape (n, bands); `NO_PREFIX` where there is no sketch."""
    return band_prefixes(profile.blocks, entry_segments(profile, entries), entries.sketched)


def entry_segments(profile: Profile, entries: Entries) -> NDArray[np.uint32]:
    """Take the segments of documents, as many as the index has bands; entries without a sketch may come with none."""
    check_bands(profile, entries)
    segments = entries.segments
    return segments if segments.shape[1] == profile.bands else np.zeros((len(entries), profile.bands), np.uint32)


def entry_rows(profile: Profile, entries: Entries) -> BlockRows:
    """List all rows of documents."""
    blocks = block_rows(profile.blocks, entries.simhashes)
    return BlockRows.merged(blocks, entry_band_rows(profile, entries)) if profile.bands else blocks


def entry_band_rows(profile: Profile, entries: Entries) -> BlockRows:
    """List the sketch rows of documents."""
    return band_rows(entry_band_prefixes(profile, entries), entries.simhashes)


def stored_rows(profile: Profile, simhashes: NDArray[np.uint64], sketches: Sequence[bytes]) -> BlockRows:
    """List all rows of stored documents, by what their members hold."""
    blocks = block_rows(profile.blocks, simhashes)
    if not profile.bands:
        return blocks
    held = Sketches.unpacked(list(sketches), profile.bands)
    return BlockRows.merged(blocks, band_rows(band_prefixes(profile.blocks, held.segments, held.present), simhashes))
