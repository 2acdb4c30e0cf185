"""From texts to entries: one profile's analyzer, hash and sketch, in the order of the input.

An `Analysis` pickles and is cheap to send to a worker process; entries do not depend on which process made them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np

from simhash_hbase.errors import (
    EmptyDocument,
    InvalidArgument,
    InvalidProfile,
    ProfileMismatch,
    no_words,
    other_fingerprints,
)
from simhash_hbase.features.analyzers import (
    Analyzer,
    JiebaAnalyzer,
    LearnedAnalyzer,
    ShingleAnalyzer,
    WeightedAnalyzer,
    WordedAnalyzer,
)
from simhash_hbase.features.bands import Banding
from simhash_hbase.features.fingerprints import Fingerprinter, fingerprint
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.features.passed import is_passed, key_of, note_passed
from simhash_hbase.features.probe import extractor_versions, installed_versions, probe_digest
from simhash_hbase.features.sketch import Sketched, sketches_and_digests, text_digests
from simhash_hbase.features.weights import count_features
from simhash_hbase.features.wordrows import CountedTexts
from simhash_hbase.profile import Profile
from simhash_hbase.rows.entries import SKETCH_WORDS, Entries, Metadata
from simhash_hbase.words.segment import prepare

Features = Sequence[tuple[str | int, float]]


class Analysed(NamedTuple):
    """What became of a chunk of documents."""

    entries: Entries  # Those that have a fingerprint, in their order.
    kept: list[int]  # Their positions in the chunk.
    refused: dict[int, str]  # Positions of the other documents, and why they have no fingerprint.


def make_analyzer(profile: Profile, idf: IdfTable | None) -> Analyzer:
    """Make the analyzer that a profile names."""
    segmenter = profile.segmenter or "fast"
    match profile.analyzer:
        case "jieba":
            return JiebaAnalyzer(top=profile.top, segmenter=segmenter, words=profile.words)
        case "learned":
            if idf is None:
                raise InvalidProfile("analyzer learned needs a table: create the index with --learn-from FILE")
            return LearnedAnalyzer(idf=idf, top=profile.top, segmenter=segmenter, words=profile.words)
        case "shingle":
            return ShingleAnalyzer(size=profile.shingle or 4, binary=profile.binary)
        case "weighted":
            return WeightedAnalyzer()


class Analysis:
    """Turns documents into entries as one profile says."""

    def __init__(self, profile: Profile, idf: IdfTable | None = None, *, counted: CountedTexts | None = None) -> None:
        self.profile = profile
        self.analyzer = make_analyzer(profile, idf)
        self._fingerprinter = Fingerprinter(self.analyzer, hash=profile.hash, seed=profile.seed)
        self._probed: bool | None = None
        if counted is not None:
            self._fingerprinter.take(counted)

    def __getstate__(self) -> dict[str, object]:
        """Leave behind what was probed: the process that it is sent to may be on another machine."""
        return {**self.__dict__, "_probed": None}

    def probed(self) -> Self:
        """Add the probe of this machine to the profile, for a new index."""
        # Of the probe itself the whole dictionary may be loaded, which then was not probed.
        before = self._prepare(0)
        self.profile = self.probed_profile()
        self._probed = before
        return self

    def remember_probe(self) -> None:
        """Note that this machine made the probe, so that the next process need not make it again."""
        if self._probed is not None and self.profile.probe is not None:
            note_passed(key_of(self.profile.encode(), whole=self._probed))

    def probed_profile(self) -> Profile:
        """Give the profile with the probe of this machine, for a new index."""
        if self.profile.analyzer == "weighted":
            return self.profile
        return self.profile.replace(
            probe=probe_digest(self._fingerprinter), versions=self._versions(), extractor=extractor_versions() or None
        )

    def _versions(self) -> dict[str, str]:
        return installed_versions(self.profile.segmenter)

    def _check_machine(self, texts: Sequence[str]) -> None:
        """Refuse to analyse texts otherwise than where the index was made."""
        characters = sum(map(len, texts))
        # The probe is of some texts itself, after which the whole dictionary may be worth its time.
        while self._probed != (whole := self._prepare(characters)):
            key = key_of(self.profile.encode(), whole=whole)
            if self.profile.probe is not None and not is_passed(key):
                if probe_digest(self._fingerprinter) != self.profile.probe:
                    raise ProfileMismatch(other_fingerprints(self.profile.versions or {}, self._versions()))
                note_passed(key)
            self._probed = whole

    def _prepare(self, characters: int) -> bool:
        return isinstance(self.analyzer, WordedAnalyzer) and prepare(self.analyzer.segmenter, characters)

    def texts(
        self, ids: Sequence[str], texts: Sequence[str], metadata: Sequence[Metadata | None] | None = None
    ) -> Analysed:
        """Fingerprint and sketch texts."""
        if self.profile.analyzer == "weighted":
            raise InvalidProfile("analyzer weighted takes features, not texts: name their field (--features-field)")
        self._check_machine(texts)
        simhashes, features = self._fingerprinter.fingerprint_many(texts)
        kept = np.flatnonzero(features).tolist()
        few = [texts[i] for i in kept]
        sketched = self._sketched(few)
        return Analysed(
            Entries(
                ids=[ids[i] for i in kept],
                simhashes=simhashes[kept],
                sketches=sketched.sketches,
                sketched=sketched.telling,
                features=features[kept],
                lengths=np.fromiter(map(len, few), np.int32, len(few)),
                digests=sketched.digests,
                metadata=[None] * len(kept) if metadata is None else [metadata[i] for i in kept],
                bands=sketched.bands if self.profile.bands else None,
            ),
            kept,
            dict.fromkeys(np.flatnonzero(features == 0).tolist(), no_words()),
        )

    def _sketched(self, texts: Sequence[str]) -> Sketched:
        if self.profile.sketch is None:
            none = np.zeros((len(texts), SKETCH_WORDS), np.uint64)
            return Sketched(
                none, text_digests(texts), np.zeros(len(texts), np.bool_), np.empty((len(texts), 0), np.uint32)
            )
        sketched = sketches_and_digests(texts, Banding(self.profile.bands, self.profile.band_bins or 0))
        return sketched._replace(sketches=np.where(sketched.telling[:, None], sketched.sketches, np.uint64(0)))

    def features(
        self, ids: Sequence[str], features: Sequence[Features], metadata: Sequence[Metadata | None] | None = None
    ) -> Analysed:
        """Fingerprint documents that come as weighted features; they have no sketch and no text digest."""
        simhashes, kept = [], []
        refused: dict[int, str] = {}
        for at, pairs in enumerate(features):
            try:
                simhashes.append(fingerprint(pairs, hash=self.profile.hash, seed=self.profile.seed))
                kept.append(at)
            except (EmptyDocument, InvalidArgument) as error:
                refused[at] = str(error)
        counts = np.array([count_features(features[at]) for at in kept], dtype=np.int32)
        entries = self.fingerprints([ids[at] for at in kept], simhashes, metadata and [metadata[at] for at in kept])
        return Analysed(replace(entries.entries, features=counts), kept, refused)

    def fingerprints(
        self, ids: Sequence[str], simhashes: Sequence[int], metadata: Sequence[Metadata | None] | None = None
    ) -> Analysed:
        """Take ready fingerprints; they have no sketch, so pairs with them are judged by distance."""
        bare = Entries.of_fingerprints(ids, np.array(simhashes, dtype=np.uint64))
        entries = bare if metadata is None else replace(bare, metadata=metadata)
        return Analysed(entries, list(range(len(ids))), {})
