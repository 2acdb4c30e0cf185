"""What an index may be made with, by name, and what it is made with by default; imported by help, so without numpy."""

from typing import Literal, NamedTuple

from simhash_hbase.errors import InvalidArgument

AnalyzerName = Literal["jieba", "learned", "shingle", "weighted"]
"""How a text becomes weighted features; see `simhash_hbase.features.analyzers`."""
HashName = Literal["murmur3", "times33", "jenkins", "md5", "none"]
"""How a feature becomes 64 bits; see `simhash_hbase.features.fingerprints.HASHES`."""
MatchName = Literal["distance", "verified"]
"""When two documents match; see `simhash_hbase.profile.matching.MatchRule`."""
NearName = Literal["subject", "text"]
"""What near copies have in common: most of their text and the words that tell its subject, or most of their text."""

ANALYZER: AnalyzerName = "learned"
FORMER_ANALYZER: AnalyzerName = "jieba"  # Of 1.0, and of a profile that names none.
TOP = 200  # Of analyzer jieba; the others keep all features.
SHINGLE = 4
HASH: HashName = "murmur3"
SEED = 0
SCHEME = "5x2"
DISTANCE = 3
MATCH: MatchName = "verified"  # Of an index that keeps sketches.
SIMILARITY = 0.77
BANDS = 6
BAND_BINS = 4
NEAR: NearName = "subject"


class NearLimits(NamedTuple):
    """How far documents may be that share sketch rows, and from how far on more is asked of their sketches."""

    band_distance: tuple[int, ...]
    free_distance: int


NEAR_LIMITS: dict[NearName, NearLimits] = {
    # Exact copies share all their sketch rows, whatever blanks in words have made of the fingerprint.
    "subject": NearLimits((16, 22, 64), 10),
    "text": NearLimits((64,), 64),
}
FORMER_LIMITS = NearLimits((16, 22, 32), 10)  # Of an index of 1.0.0.
BAND_FIELDS = ("band_bins", "near", *NearLimits._fields)  # Of a profile: all are None without bands.
# Below which sizes a text is called short. Sketch rows find edited copies by characters in a row, whatever the script.
SHORT_DEFAULTS = {"short": 10, "short_characters": 80}
SHORT_WITHOUT_BANDS = {"short": 30, "short_characters": 0}
TEXT_FORM = 2  # See `Profile.text_form`.
MAX_ROWS_PER_PREFIX = 50_000
MAX_MEMBERS = 1_000
LEASE_S = 30.0
GRACE_S = 3600.0


def check_share(share: object) -> None:
    """Raise `InvalidArgument` for what is no least share of the shingles of a near copy; None asks for none."""
    if share is not None and not (isinstance(share, int | float) and 0 < share <= 1):
        raise InvalidArgument(f"contained is {share!r}: wanted a share above 0 and up to 1")
