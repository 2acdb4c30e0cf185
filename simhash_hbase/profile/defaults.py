"""Names and default values of the options of an index, and of commands that fill it.

It does not import numpy, since the command line's help imports it.
"""

from typing import Literal, NamedTuple, TypeVar

from simhash_hbase.errors import InvalidArgument, short_repr

T = TypeVar("T")

AnalyzerName = Literal["jieba", "learned", "shingle", "weighted"]
"""Names of analyzers, which turn a text into weighted features; see `simhash_hbase.features.analyzers`."""
HashName = Literal["murmur3", "times33", "jenkins", "md5", "none"]
"""Names of hashes, which turn a feature into 64 bits; see `simhash_hbase.features.fingerprints.HASHES`."""
MatchName = Literal["distance", "verified", "copied"]
"""Names of the rules by which documents match; see `simhash_hbase.profile.matching.MatchRule`."""
FoldName = Literal["hans"]
"""Names of foldings of characters: by ``hans``, traditional Chinese characters count as the simplified ones."""
NearName = Literal["subject", "text"]
"""Names of presets for near copies: they share most of their text, under ``subject`` the words of its subject, too."""

ANALYZER: AnalyzerName = "learned"
FORMER_ANALYZER: AnalyzerName = "jieba"  # The analyzer of 1.0, and of a profile that names none.
TOP = 200  # Features that analyzer jieba keeps; the others keep all.
SHINGLE = 4
HASH: HashName = "murmur3"
SEED = 0
SCHEME = "5x2"
DISTANCE = 3
MATCH: MatchName = "verified"  # The rule of an index that keeps sketches.
SIMILARITY = 0.77
SHARE = 0.5  # Least share of the rare passages, under rule copied.
COPIED_PASSAGES = 50  # Passages of an index with rule copied.
RARE = 8
"""A passage is rare if at most this number of fingerprints have it."""
LEAST_PASSAGES = 2
"""Least number of rare passages in common under rule ``copied``; a document with fewer is judged by ``verified``."""
BANDS = 6
BAND_BINS = 4
NEAR: NearName = "subject"
GROUP_MB = 256
"""Memory, in units of 2**20 bytes, of the rows that a long run holds before it writes them to a folder."""


class NearLimits(NamedTuple):
    """Limits of the Hamming distance of documents that share sketch rows (LSH bands), as a preset of `near` sets them.

    `band_distance` has the largest distance of documents that share one sketch row, two, …; `free_distance` is the one
    above which each further bit requires more similar sketches. A sketch row has a hash of a part (band) of the sketch
    in its key: very similar texts share one or more.
    """

    band_distance: tuple[int, ...]
    free_distance: int


NEAR_LIMITS: dict[NearName, NearLimits] = {
    # Exact copies share all their sketch rows, whatever blanks in words have made of the fingerprint.
    "subject": NearLimits((16, 22, 64), 10),
    "text": NearLimits((64,), 64),
}
FORMER_LIMITS = NearLimits((16, 22, 32), 10)  # The limits of an index of 1.0.0.
BAND_FIELDS = ("band_bins", "near", *NearLimits._fields)  # Fields of a profile that are all None without bands.
# A text with fewer features or characters is called short. Sketch rows find edited copies by characters in a row,
# whatever the script.
SHORT_DEFAULTS = {"short": 10, "short_characters": 80}
SHORT_WITHOUT_BANDS = {"short": 30, "short_characters": 0}
TEXT_FORM = 3  # See `Profile.text_form`.
FOLD: FoldName = "hans"
FOLDING = ("learned", "shingle")  # Analyzers that fold; the constants of jieba are of unfolded words.
# Characters of the runs that are hashed: the short ones for passages of at most MOST_FOR_SHORT_GRAM characters.
SHORT_GRAM = 12
MOST_FOR_SHORT_GRAM = 60
LONG_GRAM = 16
MAX_ROWS_PER_PREFIX = 50_000
MAX_MEMBERS = 1_000
LEASE_S = 30.0
GRACE_S = 3600.0


class TextForm(NamedTuple):
    """The version of text normalisation, which is used before texts are sketched, digested and cut into words.

    Without arguments it is that of a new index.
    """

    version: int = TEXT_FORM
    """See `Profile.text_form`."""
    fold: FoldName | None = FOLD
    """See `Profile.fold`."""


FORM = TextForm()


LEAST_GRAM = 8
"""Least number of characters of the runs that are hashed for passages, and so of a clue."""


def passage_gram(passages: int) -> int:
    """Return the default length, in characters, of the runs that are hashed for passages of this length."""
    return SHORT_GRAM if passages <= MOST_FOR_SHORT_GRAM else LONG_GRAM


ITEM_SHARE = 0.5
"""Least share of an item's passages for a text to hold the item; a text that only shares a phrase has less."""


def checked_share(name: str, share: T) -> T:
    """Return the value of the parameter called `name` if it is a number above 0 and up to 1.

    Otherwise `InvalidArgument` is raised.
    """
    if not (isinstance(share, int | float) and 0 < share <= 1):
        raise InvalidArgument(f"{name} is {short_repr(share)}: wanted a share above 0 and up to 1", parameter=name)
    return share
