"""The profile of an index: all options that decide a fingerprint or an answer; they never change after its creation."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Literal, TypedDict, Unpack, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex, InvalidProfile, ProfileMismatch, other_fingerprints
from simhash_hbase.plugins import ANALYZERS, offered_names
from simhash_hbase.profile import defaults
from simhash_hbase.profile.matching import BandDistance, MatchRule
from simhash_hbase.rows import clock, layout
from simhash_hbase.rows.analysed import SKETCH_BINS, SKETCH_VERSION
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.documentcells import Bits
from simhash_hbase.rows.names import exact

FORMAT = 4  # Format of rows and cells. Formats 1 to 3 were never released.

SEGMENTING = ("jieba", "learned")  # Analyzers that cut words.
WORDS: Literal["unicode-1"] = "unicode-1"
WHOLE: Literal[5] = 5

TAKEN_FROM_MACHINE = ("fold_table", "jieba_idf", "probe")  # Fields that are compared only where both sides have them.
# Fields that 1.0.0 did not know, as its indexes have them: so a profile is written without them.
LATER_FIELDS = {
    **{"agree": None, "checksums": False, "fold": None, "fold_table": None, "idf_name": None, "near": None},
    **{"passage_gram": None, "passages": None, "secret": None, "share": None, "text_form": 1, "whole": None},
}
NEVER_COMPARED = ("versions", "extractor", "secret", "checksums")  # Fields that decide no fingerprint by themselves.

# The choices of the fields that name one of several ways.
NAMES = {
    "analyzer": get_args(defaults.AnalyzerName),
    "hash": get_args(defaults.HashName),
    "match": get_args(defaults.MatchName),
    "near": get_args(defaults.NearName),
}

Positive = Annotated[int, msgspec.Meta(ge=1)]


class ProfileOptions(TypedDict, total=False):
    """The options that a caller may choose when creating an index; the fields of `Profile` explain them.

    An option that is left out has the default of the field, or one that fits the other options.
    """

    analyzer: defaults.AnalyzerName
    top: int
    shingle: int
    binary: bool
    hash: defaults.HashName
    seed: int
    scheme: str
    distance: int
    match: defaults.MatchName
    similarity: float
    share: float
    fingerprints: int
    sketch: bool  # False: keep no sketches, and match by distance.
    bands: int
    band_bins: int
    near: defaults.NearName
    band_distance: int | Sequence[int]
    free_distance: int
    short: int
    short_characters: int
    passages: int
    passage_gram: int
    agree: str
    max_rows_per_prefix: int
    max_members: int
    ttl_days: float
    lease_s: float
    grace_s: float


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All options of an index, checked together when the object is made.

    Raises
    ------
    InvalidProfile
        When an option is out of range or does not go with another one.

    Examples
    --------
    >>> Profile(scheme="4x1").rule.distance
    3
    >>> Profile.decode(Profile(seed=7).encode()).seed
    7
    """

    format: int = FORMAT
    """Version of the format of rows and cells."""
    analyzer: str = defaults.FORMER_ANALYZER
    """Name of the analyzer, which turns a text into weighted features: an `AnalyzerName`, or one of another package."""
    top: Positive | None = None
    """Number of a text's heaviest features that count; None: all count."""
    shingle: Positive | None = None
    """Number of characters of a shingle, for analyzer ``shingle``."""
    binary: bool = False
    """Whether each shingle weighs 1, however often it occurs."""
    whole: Literal[5] | None = None
    """Texts with at most this number of letters, numbers and marks are one feature of analyzer ``learned``, after
    normalisation; None, as in indexes of 1.0.0: such texts are cut into words, too."""
    words: Literal["unicode-1"] | None = None
    """Version of the words of scripts that jieba does not know, for analyzers that cut words."""
    text_form: int = 1
    """Version of the form in which texts are sketched, digested and cut into words (see schema/README.md)."""
    fold: defaults.FoldName | None = None
    """``hans``: traditional Chinese characters count as the simplified ones that they become, in words, sketches and
    digests; None, as in older indexes and with the analyzer ``jieba``: each counts as itself."""
    fold_table: str | None = None
    """Digest of the table by which characters are folded."""
    dictionary: str | None = None
    """Digest of jieba's dictionary."""
    idf: str | None = None
    """Digest of the idf table."""
    idf_documents: int | None = None
    """Number of documents over which the idf table was counted."""
    idf_name: str | None = None
    """Name of the idf table that was shipped with the package; None: the table was learned from users' documents."""
    jieba_idf: str | None = None
    """Digest of the idf table that jieba ships, for analyzer ``jieba``."""
    probe: str | None = None
    """Digest of the analysis of built-in texts, see `simhash_hbase.features.analysis`; None is never compared."""
    versions: dict[str, str] | None = None
    """Versions installed where the probe was made: an error names them where the probe differs."""
    extractor: dict[str, str] | None = None
    """Versions of the libraries for the main text of pages, where the probe was made: a warning names them where others
    are installed."""
    secret: str | None = None
    """Digest of the index's secret, which keeps collections apart; None: an index of 1.0, which has none."""
    hash: defaults.HashName = defaults.HASH
    """Name of the hash, which turns a feature into 64 bits."""
    seed: Annotated[int, msgspec.Meta(ge=0, lt=2**32)] = defaults.SEED
    """Seed of the hash, where it takes one."""
    scheme: str = defaults.SCHEME
    """The block scheme: number of blocks x number of blocks that a table's segment has."""
    distance: Annotated[int, msgspec.Meta(ge=0, le=63)] = defaults.DISTANCE
    """Distance up to which answers are complete."""
    match: defaults.MatchName = defaults.MATCH
    """Match rule of the index: of `claim` and `dedup`, and of a query that asks for no other."""
    similarity: Annotated[float, msgspec.Meta(ge=0, le=1)] = defaults.SIMILARITY
    """Least estimated similarity of a match under rule ``verified``."""
    share: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """Least share of the rare passages of either text that both hold, under rule ``copied``; None with other rules."""
    fingerprints: int = 1
    """Number of fingerprints of a document; only 1 is supported."""
    sketch: int | None = SKETCH_VERSION
    """Version of the sketch that is kept with a document; None: none is kept."""
    bands: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Number of sketch rows of a document: groups of minima by which texts that share most of their characters meet."""
    band_bins: Positive | None = None
    """Number of minima of a group; None without bands."""
    near: defaults.NearName | None = None
    """Preset that decided `band_distance` and `free_distance`. ``subject``: near copies have most of their text in
    common and the words of their subject, so pages of one template are not near. ``text``: they have most of their text
    in common. None: the two fields were chosen themselves, or by 1.0.0."""
    band_distance: BandDistance | None = None
    """Most bits that may differ between documents that share one sketch row, two, …, for their sketches to be compared.
    The last number is for all above, and the numbers do not decrease; a number alone is for all. 64: any distance. None
    without bands."""
    free_distance: Bits | None = None
    """Bits that may differ before each further one requires 1/256 more similarity; None: `similarity` is enough at any
    distance."""
    short: Annotated[int, msgspec.Meta(ge=0)] = defaults.SHORT_WITHOUT_BANDS["short"]
    """Below so many features an answer says that the text is short; 0: never."""
    short_characters: Annotated[int, msgspec.Meta(ge=0)] = defaults.SHORT_WITHOUT_BANDS["short_characters"]
    """Below so many characters an answer says so, too; 0: never."""
    passages: Annotated[int, msgspec.Meta(ge=16, le=1000)] | None = None
    """Least number of characters, of the normalised text, of a shared passage that the index finds for certain; None:
    it keeps no passages."""
    passage_gram: Annotated[int, msgspec.Meta(ge=defaults.LEAST_GRAM, le=64)] | None = None
    """Number of characters of the runs that are hashed, and of the shortest clue; None without passages."""
    agree: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    """Field of the metadata, such as the site: near copies have equal values there, or one of them has none. Of URLs
    the hosts are compared. None: near copies may come from anywhere."""
    checksums: bool = False
    """Whether each cell of a document ends with a checksum; False, as in indexes of 1.0.0: none has one."""
    max_rows_per_prefix: Positive = defaults.MAX_ROWS_PER_PREFIX
    """Most block rows of one prefix that a query reads; an answer that lacks some is ``truncated``. With 10,000, 13
    of 200 answers were cut among 516,000 pages of the same templates; with 25,000 and more none."""
    max_members: Positive = defaults.MAX_MEMBERS
    """Most documents of one fingerprint that a query reads; an answer that lacks some is ``truncated``."""
    ttl_days: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Days after which a document that was not seen again expires; None: never."""
    lease_s: Annotated[float, msgspec.Meta(gt=0)] = defaults.LEASE_S
    """Seconds after which an undecided claim that nobody renews is given up."""
    grace_s: Annotated[float, msgspec.Meta(ge=0)] = defaults.GRACE_S
    """Seconds for which `vacuum` leaves cells alone that a running writer may need; two minutes at least where the
    store has no transactions."""

    def __post_init__(self) -> None:
        if self.words is None and self.analyzer in SEGMENTING:
            msgspec.structs.force_setattr(self, "words", WORDS)
        scheme = _parsed(self.scheme)
        problem = (
            self._format_problem()
            or self._band_problem(len(scheme.tables))
            or (
                self.distance > scheme.distance
                and f"scheme {self.scheme} is complete up to distance {scheme.distance}, not {self.distance}; "
                f"{self.distance + scheme.choose}x{scheme.choose} would be"
            )
            or (self.match != "distance" and self.sketch is None and f"match {self.match} needs sketches")
            or self._passage_problem()
            or self._copied_problem()
            or self._analyzer_problem()
        )
        if problem:
            raise InvalidProfile(str(problem))

    @classmethod
    def resolve(cls, **options: Unpack[ProfileOptions]) -> "Profile":
        """Return the profile for the options that a caller has chosen.

        An option that is None or absent gets its default, which may depend on other options.

        Raises
        ------
        InvalidProfile
            When an option is of the wrong type, out of range or unknown.
        """
        given: dict[str, object] = {
            name: exact(value) if isinstance(value, str) else value
            for name, value in options.items()
            if value is not None
        }
        analyzer = given.setdefault("analyzer", defaults.ANALYZER)
        if analyzer == "jieba":
            given.setdefault("top", defaults.TOP)
        elif "top" in given and analyzer not in SEGMENTING:
            # Profiles of 1.0.0 may have it, and it decides nothing there.
            raise InvalidProfile(f"top goes with analyzers {' and '.join(SEGMENTING)}, not {analyzer}: leave it out")
        if analyzer == "shingle":
            given.setdefault("shingle", defaults.SHINGLE)
        # Ready features come without a text that could be sketched.
        sketched = given.pop("sketch", analyzer != "weighted")
        match = given.setdefault("match", defaults.MATCH if sketched else "distance")
        bands = given.setdefault("bands", defaults.BANDS if sketched and match != "distance" else 0)
        given = {**_band_fields(given), **(defaults.SHORT_DEFAULTS if bands else {}), **given}
        if analyzer == "learned":
            given["whole"] = WHOLE
        given["checksums"] = True
        given.setdefault("text_form", defaults.TEXT_FORM)
        if analyzer in defaults.FOLDING:
            given["fold"] = defaults.FOLD
        if match == "copied":
            given = {"passages": defaults.COPIED_PASSAGES, "share": defaults.SHARE, **given}
        if isinstance(passages := given.get("passages"), int):
            given.setdefault("passage_gram", defaults.passage_gram(passages))
        return cls._convert({**given, "sketch": SKETCH_VERSION if sketched else None})

    @classmethod
    def _convert(cls, fields: dict[str, object]) -> "Profile":
        if unknown := [name for name in fields if name not in cls.__struct_fields__]:
            known = ", ".join(ProfileOptions.__annotations__)
            raise InvalidProfile(f"profile: unknown field {', '.join(unknown)}; the fields are {known}")
        for field, names in NAMES.items():
            if (name := fields.get(field)) is None or name in names:
                continue
            others = offered_names(ANALYZERS) if field == "analyzer" else []
            if name not in others:
                raise InvalidProfile(f"profile: {field} is {name!r}: wanted one of {', '.join([*names, *others])}")
        limits = fields.get("band_distance")
        if isinstance(limits, int):
            # Users may write one limit for any number of shared sketch rows.
            fields = {**fields, "band_distance": (limits,)}
        try:
            return msgspec.convert(fields, cls)
        except msgspec.ValidationError as error:
            if isinstance(error.__cause__, InvalidProfile):
                raise error.__cause__ from None
            reason, _, place = str(error).partition(" - at `$.")
            name = place.rstrip("`")
            fault = f"{name} is {fields[name]!r}: {reason}" if name in fields else str(error)
            raise InvalidProfile(f"profile: {fault}") from error

    def replace(self, **fields: object) -> "Profile":
        """Return a profile with other values of some fields, checked again.

        Fields that depend on these get new values, too.
        """
        made = {**msgspec.structs.asdict(self), **fields}
        if made["match"] != self.match and "share" not in fields:
            made["share"] = defaults.SHARE if made["match"] == "copied" else None
        if made["sketch"] is None and "bands" not in fields:
            made["bands"] = 0
        has_limits = not fields.keys().isdisjoint(defaults.NearLimits._fields)
        if not (self.bands and made["bands"]):
            # Bands are taken up, given up, or stay absent.
            made |= dict.fromkeys(defaults.BAND_FIELDS) | _band_fields({**fields, "bands": made["bands"]}) | fields
        elif fields.get("near") or (self.near and "bands" in fields and not has_limits):
            made |= _band_fields({"near": self.near, **fields, "bands": made["bands"]}) | fields
            made["band_bins"] = fields.get("band_bins", self.band_bins)
        elif has_limits:
            made["near"] = None
        old, new = (defaults.SHORT_DEFAULTS if n else defaults.SHORT_WITHOUT_BANDS for n in (self.bands, made["bands"]))
        made |= {name: new[name] for name in new if name not in fields and made[name] == old[name]}
        return self._convert(made)

    @property
    def rule(self) -> MatchRule:
        """The match rule of the index: for `claim` and `dedup`, and for queries that ask for no other."""
        return MatchRule(
            match=self.match,
            distance=self.distance,
            similarity=self.similarity,
            radius=min(2 * self.distance + 1, 64),
            band_distance=self.band_distance,
            free_distance=self.free_distance,
            share=self.share,
        )

    @property
    def form(self) -> defaults.TextForm:
        """The version of text normalisation of this index, for sketches, digests and words."""
        return defaults.TextForm(self.text_form, self.fold)

    @property
    def blocks(self) -> Scheme:
        """The block scheme that the option `scheme` names: how fingerprints are cut into the blocks of row keys."""
        return _parsed(self.scheme)

    @property
    def ttl_ms(self) -> int | None:
        """Time to live in milliseconds: a document not seen again for so long expires; None: never."""
        return None if self.ttl_days is None else round(self.ttl_days * clock.MS_A_DAY)

    def is_short(self, features: int, characters: int) -> bool:
        """Return whether a text has so few features or characters that near copies of it may be missed.

        0 stands for an unknown number.
        """
        return bool(self._are_few(features, characters))

    def are_short(self, features: NDArray[np.int32], characters: NDArray[np.int32]) -> list[bool]:
        """Return, for each of several texts, whether it is so short that near copies may be missed; see `is_short`."""
        short: list[bool] = self._are_few(features, characters).tolist()
        return short

    def _are_few(self, features: Any, characters: Any) -> Any:  # noqa: ANN401 - numbers or arrays
        few_features = (features > 0) & (features < self.short)
        return few_features | ((characters > 0) & (characters < self.short_characters))

    def oldest(self, now: int) -> int:
        """Return the time in ms since 1970: documents last seen before it have expired at time `now`, in ms, too.

        It is 0 if documents never expire.
        """
        return 0 if self.ttl_ms is None else now - self.ttl_ms

    def encode(self) -> bytes:
        """Return the profile as JSON with sorted keys, in the form that the index stores and the service returns."""
        fields = msgspec.structs.asdict(self).items()
        kept = {name: value for name, value in fields if name not in LATER_FIELDS or value != LATER_FIELDS[name]}
        return msgspec.json.encode(kept, order="sorted")

    @classmethod
    def decode(cls, value: bytes) -> "Profile":
        """Return the profile in bytes that `encode` has written.

        Raises
        ------
        CorruptIndex
            When the bytes are no profile that this version understands.
        """
        try:
            return msgspec.json.decode(value, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError, InvalidProfile) as error:
            raise CorruptIndex(f"the index's profile cannot be used: {error}") from error

    def check_same(self, wanted: "Profile") -> None:
        """Raise an error if the index was made with other options than `wanted`.

        An index with an older form of texts, or without folding, is accepted all the same.

        Raises
        ------
        ProfileMismatch
            The error names every field that differs, with both values.
        """
        mine, theirs = msgspec.structs.asdict(self), msgspec.structs.asdict(wanted)
        known = [name for name in mine if name not in TAKEN_FROM_MACHINE or None not in (mine[name], theirs[name])]
        skipped = {*NEVER_COMPARED, *self._former_defaults(wanted)}
        if self.text_form < wanted.text_form or (self.fold is None and wanted.fold):
            # The same sample has other words in another form.
            skipped |= {"text_form", "fold", "fold_table", "idf", "probe"}
            if self.idf_name and wanted.idf_name:
                # Each version ships one table.
                skipped |= {"idf_name", "idf_documents"}
        differing = [name for name in known if mine[name] != theirs[name] and name not in skipped]
        if differing == ["probe"]:
            raise ProfileMismatch(other_fingerprints(self.versions or {}, wanted.versions or {}))
        if differing:
            # Other options make other fingerprints of the probe, too; without bands their other fields are None.
            follows = {"probe"}
            if bool(self.bands) != bool(wanted.bands):
                follows |= {*defaults.BAND_FIELDS, *defaults.SHORT_DEFAULTS}
            differing = [name for name in differing if name not in follows]
            held = ", ".join(f"{name}={mine[name]!r}" for name in differing)
            asked = ", ".join(f"{name}={theirs[name]!r}" for name in differing)
            raise ProfileMismatch(f"the index was made with {held}; asked for was {asked}")

    def _former_defaults(self, wanted: "Profile") -> Iterator[str]:
        """Yield the names of fields in which an index of version 1.0.0 differs only since the defaults have changed."""
        if self.whole is None and wanted.whole == WHOLE:
            yield "whole"
        is_former = (self.band_distance, self.free_distance) == defaults.FORMER_LIMITS
        if self.near is None and wanted.near == defaults.NEAR and is_former:
            yield from ("near", "band_distance")

    def _format_problem(self) -> str | None:
        if self.format != FORMAT:
            return f"format {self.format}: this version reads and writes format {FORMAT}"
        if not 1 <= self.text_form <= defaults.TEXT_FORM:
            return f"text_form {self.text_form}: this version knows the forms 1 to {defaults.TEXT_FORM}"
        if self.fingerprints != 1:
            return f"fingerprints {self.fingerprints}: one fingerprint a document is what this version can do"
        if self.sketch not in (None, SKETCH_VERSION):
            return f"sketch version {self.sketch}: this version knows version {SKETCH_VERSION}"
        if self.bands and self.sketch is None:
            return f"bands {self.bands}: they are groups of a sketch's minima, and the index keeps no sketches"
        return None

    def _band_problem(self, tables: int) -> str | None:
        for name, value in (("near", self.near), ("free_distance", self.free_distance)):
            if value is not None and not self.bands:
                return f"{name} {value}: it goes with bands, groups of a sketch's minima, and this index has none"
        if (self.band_bins is None, self.band_distance is None) != (not self.bands,) * 2:
            return f"bands {self.bands}: band_bins and band_distance go with bands, and bands with both"
        if self.band_distance is not None and list(self.band_distance) != sorted(self.band_distance):
            return (
                f"band_distance {self.band_distance}: documents that share more sketch rows may not have to be nearer"
            )
        if self.bands * (self.band_bins or 0) > SKETCH_BINS:
            return f"{self.bands} bands of {self.band_bins} minima: a sketch has {SKETCH_BINS} minima"
        if tables + self.bands > layout.MAX_TABLES:
            return f"{tables} tables and {self.bands} bands: a row key's flag has room for {layout.MAX_TABLES} in all"
        return None

    def _passage_problem(self) -> str | None:
        if (self.passages is None) != (self.passage_gram is None):
            return "passages and passage_gram go with each other"
        if self.passages is not None and self.passage_gram is not None and self.passage_gram > self.passages:
            return f"passage_gram is {self.passage_gram}: wanted at most the {self.passages} characters of passages"
        if self.passages is not None and self.analyzer == "weighted":
            return "passages are made of texts, and analyzer weighted takes none"
        return None

    def _copied_problem(self) -> str | None:
        if self.match == "copied" and self.passages is None:
            return "match copied compares passages, and this index keeps none"
        if self.match == "copied" and self.share is None:
            return "match copied needs a share of passages"
        if self.match != "copied" and self.share is not None:
            return f"share {self.share}: it goes with match copied, not {self.match}"
        return None

    def _analyzer_problem(self) -> str | None:
        if self.analyzer == "shingle" and self.shingle is None:
            return "analyzer shingle needs the number of characters (shingle)"
        if self.analyzer != "shingle" and (self.shingle is not None or self.binary):
            return f"shingle and binary go with analyzer shingle, not {self.analyzer}"
        if self.whole is not None and self.analyzer != "learned":
            return f"whole goes with analyzer learned, not {self.analyzer}"
        for name, analyzers in {"words": SEGMENTING, "fold": defaults.FOLDING}.items():
            if getattr(self, name) is not None and self.analyzer not in analyzers:
                return f"{name} goes with analyzers {' and '.join(analyzers)}, not {self.analyzer}"
        if self.hash == "none" and self.analyzer != "weighted":
            return "hash none takes ready hashes as features, so it goes with analyzer weighted"
        return None


def near_limits(near: defaults.NearName, bands: int) -> defaults.NearLimits:
    """Return the limits of distance that a preset of `near` has for this number of bands.

    The last number of `band_distance` is for documents that share all bands. A sketch row has a hash of a part (band)
    of the sketch in its key: very similar texts share one or more.
    """
    limits = defaults.NEAR_LIMITS[near]
    return limits._replace(band_distance=limits.band_distance[-bands:])


def _band_fields(options: dict[str, object]) -> dict[str, object]:
    """Return the fields of a profile about sketch rows (bands) as the options and the preset `near` decide them.

    Empty if `bands` is 0.
    """
    bands, near = options["bands"], options.get("near")
    own = [name for name in defaults.NearLimits._fields if options.get(name) is not None]
    if near is not None and own:
        raise InvalidProfile(
            f"near {near} decides {' and '.join(defaults.NearLimits._fields)}: give it, or {' and '.join(own)}"
        )
    if not bands:
        return {}
    # A value that is unknown or of a wrong type is refused where all fields are checked.
    known = near if near in defaults.NEAR_LIMITS else defaults.NEAR
    limits = near_limits(known, bands if isinstance(bands, int) and bands > 0 else defaults.BANDS)
    return {"band_bins": defaults.BAND_BINS, "near": None if own else known, **limits._asdict()}


# Each query needs the scheme, and a scheme caches its tables.
_parsed = cache(Scheme.parse)
