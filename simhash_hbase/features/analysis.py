"""Analysis: makes the fingerprints, sketches and other columns of documents (`Entries`) from their texts.

The profile of an index names the analyzer and the hash. Dictionaries, tables of weights and Unicode's data come from
libraries whose versions change. So a digest of the analysis of built-in texts, the probe, is kept when an index is
created, and compared before the first text of a process is analysed: it takes a few milliseconds.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, Self

import msgspec
import numpy as np

from simhash_hbase import errors
from simhash_hbase.features.analyzers import Analyzer, JiebaAnalyzer, LearnedAnalyzer, ShingleAnalyzer, WeightedAnalyzer
from simhash_hbase.features.fingerprints import SCALE, Fingerprinter, GivenFeature, count_features, fingerprint
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.kernel.shingles import SHINGLE
from simhash_hbase.kernel.texts import Batch, batches
from simhash_hbase.plugins import ANALYZERS, offered
from simhash_hbase.profile import Profile
from simhash_hbase.profile.profile import SEGMENTING
from simhash_hbase.profile.versions import extractor_versions, installed_versions
from simhash_hbase.rows.analysed import Entries, Metadata
from simhash_hbase.rows.digests import digest_of


class Analysed(NamedTuple):
    """The result of analysing some documents: the entries of those with a fingerprint, and why the others have none."""

    entries: Entries  # Entries of the documents that have a fingerprint, in their order.
    kept: list[int]  # Positions of these documents in the chunk.
    refused: dict[int, str]  # Positions of the other documents, and why they have no fingerprint.


def make_analyzer(profile: Profile, idf: IdfTable | None) -> Analyzer:
    """Return the analyzer that a profile names; `idf` is the table of the analyzer ``learned``, None for others."""
    match profile.analyzer:
        case "jieba":
            return JiebaAnalyzer(top=profile.top, text_form=profile.text_form)
        case "learned":
            if idf is None:
                raise errors.InvalidProfile("analyzer learned needs an idf table, learned from a sample of texts")
            whole = profile.whole or 0
            return LearnedAnalyzer(
                idf=idf, top=profile.top, text_form=profile.text_form, fold=profile.fold, whole=whole
            )
        case "shingle":
            size, binary = profile.shingle or 4, profile.binary
            return ShingleAnalyzer(size=size, binary=binary, text_form=profile.text_form, fold=profile.fold)
        case "weighted":
            return WeightedAnalyzer()
        case name:
            return offered_analyzer(name)


def offered_analyzer(name: str) -> Analyzer:
    """Return an analyzer that another installed package offers under a name, as a plugin."""
    made = offered(ANALYZERS, name)
    if made is None:
        raise errors.InvalidProfile(f"analyzer {name}: no installed package has it")
    analyzer: Analyzer = made()
    return analyzer


class Analysis:
    """Turns documents into entries, their fingerprints, sketches and other columns, by the options of one profile.

    It can be pickled, and is cheap to send to a worker process: every process makes the same entries.
    """

    def __init__(self, profile: Profile, idf: IdfTable | None = None) -> None:
        self.profile = profile
        self.analyzer = make_analyzer(profile, idf)
        self.fingerprinter = Fingerprinter(self.analyzer, hash=profile.hash, seed=profile.seed)
        self._is_probed = False

    def __getstate__(self) -> dict[str, object]:
        """Return the state to be pickled; the process that receives it compares the probe again, on its own machine."""
        return {**self.__dict__, "_is_probed": False}

    def probed(self) -> Self:
        """Put the probe and the library versions of this machine into the profile, for a new index; return self."""
        if self.profile.analyzer != "weighted":
            self.profile = self.profile.replace(
                probe=probe_digest(self.fingerprinter),
                versions=installed_versions(jieba=self.profile.analyzer in SEGMENTING),
                extractor=extractor_versions() or None,
            )
            self._is_probed = True
        return self

    def texts(
        self, ids: Sequence[str], texts: Sequence[str], metadata: Sequence[Metadata | None] | None = None
    ) -> Analysed:
        """Return the entries of texts, with fingerprints and sketches, and which texts have no fingerprint.

        Raises `ProfileMismatch` if this machine makes other fingerprints than the index was made with.
        """
        if self.profile.analyzer == "weighted":
            raise errors.InvalidProfile("analyzer weighted takes features, not texts")
        if not self._is_probed and self.profile.probe not in (None, probe_digest(self.fingerprinter)):
            here = installed_versions(jieba=self.profile.analyzer in SEGMENTING)
            raise errors.ProfileMismatch(errors.other_fingerprints(self.profile.versions or {}, here))
        self._is_probed = True
        bands, bins = self.profile.bands, self.profile.band_bins or 0
        fingerprinted = self.fingerprinter.fingerprint_batch
        length, gram = self.profile.passages, self.profile.passage_gram
        parts, passages = [], []
        for batch in batches(texts, self.profile.form):
            parts.append((*fingerprinted(batch), *batch.sketch(bands, bins)))
            if length is not None and gram is not None:
                passages += [each.packed() for each in batch.passages(length, gram)]
        *columns, digests_of_parts = zip(*parts, strict=True)
        simhashes, features, sketches, sizes, segments, shingles = map(np.concatenate, columns)
        digests = list(chain.from_iterable(digests_of_parts))
        # The sketch of one shingle alone says nothing.
        is_sketched = (sizes > SHINGLE) & (self.profile.sketch is not None)
        sketches[~is_sketched], shingles[~is_sketched] = 0, 0
        kept = np.flatnonzero(features).tolist()
        return Analysed(
            Entries(
                ids=[ids[i] for i in kept],
                simhashes=simhashes[kept],
                sketches=sketches[kept],
                shingles=shingles[kept],
                features=features[kept],
                lengths=np.fromiter((len(texts[i]) for i in kept), np.int32, len(kept)),
                digests=[digests[i] for i in kept],
                metadata=[None] * len(kept) if metadata is None else [metadata[i] for i in kept],
                bands=segments[kept] if bands else None,
                passages=None if length is None else [passages[i] for i in kept],
            ),
            kept,
            dict.fromkeys(np.flatnonzero(features == 0).tolist(), errors.no_words()),
        )

    def features(
        self,
        ids: Sequence[str],
        features: Sequence[Sequence[GivenFeature]],
        metadata: Sequence[Metadata | None] | None = None,
    ) -> Analysed:
        """Return the entries of documents that are given as weighted features; they have no sketch, no text digest."""
        simhashes, kept = [], []
        refused: dict[int, str] = {}
        for at, pairs in enumerate(features):
            try:
                simhashes.append(fingerprint(pairs, hash=self.profile.hash, seed=self.profile.seed))
                kept.append(at)
            except (errors.EmptyDocument, errors.InvalidArgument) as error:
                refused[at] = str(error)
        counts = np.array([count_features(features[at]) for at in kept], dtype=np.int32)
        entries = self.fingerprints([ids[at] for at in kept], simhashes, metadata and [metadata[at] for at in kept])
        return Analysed(replace(entries.entries, features=counts), kept, refused)

    def fingerprints(
        self, ids: Sequence[str], simhashes: Sequence[int], metadata: Sequence[Metadata | None] | None = None
    ) -> Analysed:
        """Return the entries of documents whose fingerprints were computed elsewhere; they have no sketch."""
        bare = Entries.of_fingerprints(ids, np.array(simhashes, dtype=np.uint64))
        entries = bare if metadata is None else replace(bare, metadata=metadata)
        return Analysed(entries, list(range(len(ids))), {})


_TEXTS = (
    "昨天下午，村里的拖拉机手开着新买的手扶拖拉机去县城修理，店主说经理不在，于是他又等了三个小时，没有生气。",
    "这家研究所的硕士研究生后来到京都留学，买了一件T恤，晚上和同学去唱卡拉OK，A座的灯一直亮着。",
    "拍卖会的乒乓球桌还没有卖完，登记了的和尚未登记的人都在排队；用C++17写的TF-IDF算出2.72%，版本10.4.1，见https://example.org/a_b?c=1#d。",
    "臺灣的電腦軟體與網際網路；𠮷野家の㐀字。",
    "Seven grey boats left before dawn; they didn't return, it's 3.5 °C — the naïve café owner's friends coöperate.",
    "Вчера утром поезд ушёл раньше времени, и объявление ещё висит. Το τρένο έφυγε νωρίς σήμερα· ΟΔΟΣ ΑΘΗΝΑΣ.",
    "Die größte Straßenbahn fährt über die Brücke. L'été dernier, où étais-tu allé, le cœur léger ?",
    "Hôm nay trời đẹp, chúng tôi đi chợ; včera večer přišel příliš pozdě. Işık söndü, çocuk uyuyor.",
    "昨日はとても寒かった。カメラとｶﾒﾗ、ＡＢＣ１２３。오늘은 날씨가 좋아서 산책을 했다.",
    "ذهبت القطة إلى السوق صباحا. הרכבת יצאה מוקדם בבוקר. आज मौसम बहुत अच्छा है।",
    "วันนี้อากาศดีมาก ມື້ນີ້ອາກາດດີ ថ្ងៃនេះអាកាសធាតុល្អ ဒီနေ့ ရာသီဥတု ကောင်းတယ်",
    "e\u0301 ﬁ ½ ㎡ İ ß ẞ 👩\u200d💻 \u1112\u1161\u11ab 常在河边走，我说我们的歌，我们的歌，我们的歌",
)


def probe_digest(fingerprinter: Fingerprinter) -> str:
    """Return the probe: a digest of the features, fingerprints and sketches of the texts that are built in here."""
    simhashes, counts = fingerprinter.fingerprint_many(_TEXTS)
    sketched = Batch(_TEXTS, fingerprinter.form).sketch()
    features = [
        # Weights as they count: the last bit of a logarithm is not the same on every platform.
        sorted((name, round(weight * SCALE)) for name, weight in fingerprinter.analyzer.features(text))
        for text in _TEXTS
    ]
    found = (features, simhashes.tolist(), counts.tolist(), sketched.sketches.tolist(), sketched.digests)
    return digest_of(msgspec.msgpack.encode(found))
