"""Write small indexes of this version, with what they answer; every later version has to open them and answer alike.

``./scripts/released`` runs it once at a release. It writes a folder of that version below ``tests/rows/formats``, which
`rows/test_formats.py` then reads.
"""

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import simhash_hbase
from simhash_hbase import EmptyDocument, LocalIndex, create_index

FORMATS = Path(__file__).parents[1] / "rows" / "formats"
PASSAGES = Path(__file__).with_name("languages.jsonl")

# Texts whose words or normal form a later version might be tempted to change.
SPECIAL = {
    "blank between Han": " ".join("昨天傍晚，城东的老码头又恢复了渡轮，头一班船上坐满了赶去对岸看灯的人。"),
    "U+200B between Han": "\u200b".join("昨天傍晚，城东的老码头又恢复了渡轮，头一班船上坐满了赶去对岸看灯的人。"),
    "without them": "昨天傍晚，城东的老码头又恢复了渡轮，头一班船上坐满了赶去对岸看灯的人。",
    "line ends inside sentences": "仓库里的货箱要按\n照编号堆放，靠墙的\n一排留给易碎品，其\n余的依次摆在过道两\n侧。",
    "variation selectors": "葛\U000e0100城市役所は明日の朝九時から受付を始めます。番号は入口で配ります。",
    "joiners and fillers": "The co\u034fmbining joiner, the filler \u3164 and the Khmer vowel \u17b4 are not seen.",
    "soft hyphens": "An extra\u00adordinarily long word is hyphen\u00adated where the type\u00adsetter's page ends.",
    "joined names": "AT&T的IP地址和C++程序在Wi-Fi下的T恤销量，3.5英寸、24小时、iPhone15与5G的关系",
    "full width": "ＡＴ＆Ｔ的ＩＰ地址，全角字母和数字１２３４５与半角的写法不同，读者却看不出分别来。",
    "traditional": "倉庫裡的貨箱要按照編號堆放，靠牆的一排留給易碎品，其餘的依次擺在過道兩側。",
    "two characters": "早安",
    "two characters apart": "早 安",
    "Thai": "เรือข้ามฟากที่ท่าเรือเก่าทางตะวันออกของเมืองกลับมาให้บริการอีกครั้งเมื่อเย็นวานนี้",
}


# Kinds that 1.0.0 could not write; the options of each.
LATER_KINDS = {"copied": {"match": "copied"}, "batches": {}, "agree": {"agree": "title"}}


def documents() -> dict[str, str]:
    """Return the texts by id: passages in eleven languages, and `SPECIAL`."""
    passages = [json.loads(line) for line in PASSAGES.read_text("utf-8").splitlines()]
    texts = {row["id"]: row["text"] for n, row in enumerate(passages) if n % 3 == 0}
    return texts | SPECIAL


def kinds(texts: list[str]) -> dict[str, dict[str, Any]]:
    """Return the options of `create_index` by the name of the kind."""
    return {
        "learned": {"learn_from": texts},
        "jieba": {"analyzer": "jieba"},
        "shingle": {"analyzer": "shingle"},
        "distance": {"analyzer": "jieba", "match": "distance", "top": 20, "scheme": "4x1"},
        "top": {"analyzer": "jieba", "top": 5},
        **{name: {"analyzer": "shingle", **LATER_KINDS[name]} for name in LATER_KINDS},
    }


def answers_of(index: LocalIndex, texts: dict[str, str]) -> dict[str, list[Any]]:
    """Return what the index says is near each text: id, distance, similarity, containment, whether it is equal."""
    return {
        name: [[m.id, m.distance, m.similarity, m.containment, m.exact] for m in index.query(text).matches]
        for name, text in texts.items()
    }


def stored_of(index: LocalIndex) -> list[list[Any]]:
    """Return what the index holds, in the order of the export."""
    return [[s.id, f"{s.simhash:016x}", s.state, s.of, s.distance, s.similarity, s.containment] for s in index.export()]


def batches_of(index: LocalIndex) -> list[list[Any]]:
    """Return the name of each batch, how many documents it has, and how many of them are duplicates."""
    return [[each.batch, each.documents, each.duplicates] for each in index.batches()]


def write_kind(folder: Path, name: str, options: dict[str, Any]) -> None:
    """Write the index of one kind, ``NAME.mdb.gz``, its answers, ``.json``, and its export, ``.export.jsonl.gz``."""
    texts = documents()
    with tempfile.TemporaryDirectory() as place:
        with create_index(f"file:{place}/index", **options) as index:
            # One commit: a disk takes some hundredths of a second for each.
            with index.write_groups() as groups, groups.batch():
                for number, (document, text) in enumerate(list(texts.items())):
                    metadata = {"title": document} if number % 4 == 0 else None
                    batch = ("monday", "周二")[number % 2] if name == "batches" and number % 3 else None
                    try:
                        (index.add if number % 2 else index.claim)(document, text, metadata=metadata, batch=batch)
                    except EmptyDocument:  # None of jieba's words is left.
                        del texts[document]
                index.claim("copy", next(iter(texts.values())) + " 。")
                index.add("gone", "吊民伐罪，周发殷汤。坐朝问道，垂拱平章。爱育黎首，臣伏戎羌。")
                index.remove("gone")
                shelf = index.in_collection("shelf")
                shelf.add("in a collection", SPECIAL["traditional"])
            known = {
                "version": simhash_hbase.__version__,
                "profile": json.loads(index.profile.encode()),
                "documents": list(texts.items()),
                "stored": stored_of(index),
                "answers": answers_of(index, texts),
                "shelf": answers_of(shelf, {"traditional": SPECIAL["traditional"]}),
                "rows": index.stats(exact=True).rows,
                "batches": sorted(batches_of(index), key=str),
            }
        pages = (Path(place) / "index" / "data.mdb").read_bytes()
        export = [sys.executable, "-m", "simhash_hbase", "export", f"file:{place}/index"]
        exported = subprocess.run(export, capture_output=True, check=True).stdout
    (folder / f"{name}.json").write_text(json.dumps(known, ensure_ascii=False, indent=None) + "\n", "utf-8")
    (folder / f"{name}.mdb.gz").write_bytes(gzip.compress(pages, mtime=0))
    (folder / f"{name}.export.jsonl.gz").write_bytes(gzip.compress(exported, mtime=0))


def main() -> None:
    """Write all kinds."""
    folder = FORMATS / simhash_hbase.__version__
    if folder.exists():
        sys.exit(f"{folder} is there already: what a release wrote is not written anew")
    folder.mkdir()
    for name, options in kinds(list(documents().values())).items():
        write_kind(folder, name, options)
        print(f"{folder.name}/{name}")


if __name__ == "__main__":
    main()
