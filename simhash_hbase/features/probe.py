"""Probes: whether this machine still makes the fingerprints that an index holds.

Dictionaries, tables of weights and Unicode's data come from libraries of other people, whose versions change. What they
make of built-in texts is digested when an index is created, and compared before the first text of a process is
analysed: a few milliseconds.
"""

import unicodedata
from contextlib import suppress

import msgspec

from simhash_hbase.digests import digest_of
from simhash_hbase.features.fingerprints import SCALE, Fingerprinter
from simhash_hbase.kernel.texts import Batch

_EXTRACTORS = ("trafilatura", "lxml")

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


def installed_versions(*, jieba: bool) -> dict[str, str]:
    """List what fingerprints depend on and others maintain."""
    return {"unicode": unicodedata.unidata_version, **(_versions_of("jieba") if jieba else {})}


def extractor_versions() -> dict[str, str]:
    """List what the main text of a page depends on."""
    return _versions_of(*_EXTRACTORS)


def _versions_of(*names: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    versions = {}
    for name in names:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def probe_digest(fingerprinter: Fingerprinter) -> str:
    """Digest what an analyzer and a hash make of the built-in texts."""
    simhashes, counts = fingerprinter.fingerprint_many(_TEXTS)
    sketched = Batch(_TEXTS).sketch()
    features = [
        # Weights as they count: the last bit of a logarithm is not the same on every platform.
        sorted((name, round(weight * SCALE)) for name, weight in fingerprinter.analyzer.features(text))
        for text in _TEXTS
    ]
    found = (features, simhashes.tolist(), counts.tolist(), sketched.sketches.tolist(), sketched.digests)
    return digest_of(msgspec.msgpack.encode(found))
