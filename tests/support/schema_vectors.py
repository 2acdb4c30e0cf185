"""Write ``schema/vectors.json``: what the package makes of built-in texts, stage by stage.

Run ``PYTHONPATH=tests python -m support.schema_vectors > schema/vectors.json`` where a stored form changed on purpose.
"""

import json
import random
import sys
import zlib
from hashlib import blake2b

import msgspec
import numpy as np

from simhash_hbase.api import create_index
from simhash_hbase.features.analysis import Analysis, make_analyzer
from simhash_hbase.features.analyzers import WeightedAnalyzer
from simhash_hbase.features.fingerprints import (
    Fingerprinter,
    count_features,
    fingerprint,
    hash_features,
    integer_weights,
)
from simhash_hbase.features.idf import STOP_WORDS
from simhash_hbase.index.candidates import asked_prefixes
from simhash_hbase.index.documentrows import document_cells
from simhash_hbase.kernel.texts import normalize
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import Sketches, estimated_containment, hamming, judge, known_similarity
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.documentcells import Change, DocumentState, Member, Text, encode
from simhash_hbase.rows.keys import (
    document_row,
    id_digest,
    index_row,
    member_row,
    pack_prefixes,
    packed_rows,
    passage_rows,
    row_keys,
)
from support.sketching import shingle_hashes, slow_minima
from support.words import idf_of, tokens, word_tokens

CELL_VALUES = {"value": False, "with_checksum": True}
ADDED = 1_700_000_000_000
DIGEST = bytes(range(8))
OF = Text(2**64 - 8, bytes(range(248, 256)))
LISTED = 40  # A text with more features gives only their number.

ONE_ROW = (
    "露天昃列潜盈菜秋翔腾盈天水雨夜黄余霜重为来成来地闰列阳黄律吕调腾夜列出为盈宿收荒洪夜阳河"
    "列列冬秋昆荒海黄菜辰菜淡律阙冬黄结淡姜天雨宙冈月咸冬出海芥云芥昃称露盈腾"
)
TWO_ROWS = (
    "果成阙剑重翔玉海岁月果吕巨阳岁闰秋珍暑吕雨潜水洪月荒暑成闰洪阳霜冈丽张冈丽宙果生暑闰李宿"
    "盈天巨生成生地潜致天往荒珍往淡秋"
)
SHUFFLED = (
    "辰秋往文为潜珍问剑问日，，玄育位，乃，宇暑菜日洪字盈龙衣天藏结阳金称珠宙金火霜调，，文秋阳"
    "生宙陶藏字殷始文宙露国月臣闰果张姜往暑秋始戎荒月皇民调荒列伏巨火结，菜辰羽鳞往阳收往，，发"
)
TEXTS = {
    "empty": "",
    "nothing kept": " —…！ 🙂 \t",
    "one": "a",
    "two": "天地",
    "three": "a,b;c",
    "four": "Ⅳ号楼x",
    "five": "春眠不觉晓",
    "five, other marks": "春眠，不觉晓！",
    "six": "春眠不觉晓。处",
    "Chinese": "昨天下午，拖拉机手开着新买的手扶拖拉机去城里，店主说经理不在，又等了三个小时。",
    "Chinese, edited": "昨天下午，拖拉机手开着新买的手扶拖拉机去城里，店主说经理不在，等了三个小时。",
    "Chinese, longer": "昨天下午，拖拉机手开着新买的手扶拖拉机去城里，店主说经理不在，又等了三个小时吧。",
    "traditional Chinese": "昨天下午，村裡的電腦軟體工程師騎著腳踏車去𠮷野家吃飯，㐀字沒有人認得。",
    "English": "Seven boats left before dawn; they didn't return, it's 3.5 °C by the café owner's naïve cat.",
    "English, edited": "Twelve boats left before dawn; they didn't return, it's 3.5 °C by the café owner's naïve cat.",
    "Japanese": "昨日はとても寒かったので、カメラとｶﾒﾗを持って山へ行かなかった。ガラスとｶﾞﾗｽ。",
    "Korean": "오늘은 날씨가 좋아서 산책을 했다. \u1112\u1161\u11ab글도 같다.",
    "Russian": "Вчера утром поезд ушёл раньше времени, и ОБЪЯВЛЕНИЕ ещё висит у входа.",
    "Greek": "Το τρένο έφυγε νωρίς σήμερα· ΟΔΟΣ ΑΘΗΝΑΣ, ΟΔΟΣ.",
    "Turkish": "İSTANBUL'da Işık söndü, çocuk uyuyor; ß ẞ ﬁ ½ ㎡.",
    "Arabic": "ذَهَبَتِ القطة إلى السوق صباحا، ولم تعد حتى المساء. ٣٤٥",
    "Hebrew": "הרכבת יצאה מוקדם בַּבֹּקֶר ולא חזרה.",
    "Thai": "วันนี้อากาศดีมาก เราจึงไปเดินเล่นที่ริมแม่น้ำกัน",
    "Hindi": "आज मौसम बहुत अच्छा है, इसलिए हम नदी के किनारे घूमने गए।",
    "emoji": "常在河边走❤\ufe0f，👩\u200d💻 ok👍🏽 ①②③ 葛\U000e0100城",
    "combining marks": "e\u0301te\u0301 u\u0308ber a\u0323\u0302 a\u0302\u0323 na\u00efve Z\u0335a",
    "many marks": "z" + 70 * "\u0301\u0323" + "algo text",
    "full-width": "ＡＢＣ１２３ ｔｅｓｔ，（全角）ﾊﾝｶｸ",
    "shuffled": SHUFFLED,
    # Eighteen bits apart that share one sketch row, and seventeen that share two.
    "one row": ONE_ROW,
    "one row, edited": ONE_ROW.replace("列阳黄", "列羽黄").replace("吕调腾", "吕冈腾"),
    "two rows": TWO_ROWS,
    "two rows, edited": TWO_ROWS.replace("丽宙果", "丽河果"),
    "shuffled, edited": SHUFFLED.replace("往文为", "往张为").replace("玄育位", "玄往位"),
    "long": " ".join(str(number * number) for number in range(600)),
}
REPEATED = {
    "without a blank": ("ΑΣ", 35_000),
    "cut between words": ("ΑΑΑΣΑ ", 12_000),
    "joining": ("\u1175", 70_000),
    "a few marks more": ("\u0301", 69_632),
    "very long": ("天地玄黄，宇宙洪荒。ΟΔΟΣ Café e\u0301 日月盈昃，辰宿列张。寒来暑往，秋收冬藏。", 2_000),
}
PAIRS = [
    ("Chinese", "Chinese, edited"),
    ("Chinese", "Chinese, longer"),
    ("Chinese", "traditional Chinese"),
    ("five", "five, other marks"),
    ("five", "six"),
    ("English", "English, edited"),
    # Alike enough for a flat threshold, but not for one that rises with the distance.
    ("shuffled", "shuffled, edited"),
    ("one row", "one row, edited"),
    ("two rows", "two rows, edited"),
    ("long", "Hindi"),
]
COLLECTIONS = [
    ("news", "Chinese"), ("News", "Chinese"), ("新闻", "English"), ("\u00e9", "one row"), ("e\u0301", "one row"),
    ("a/b:c, d", "five"), (None, "Chinese"), (None, "\0news\0Chinese"),
]  # fmt: skip
PASSAGES = [
    ("long", 50, 12, None), ("shuffled", 50, 12, None), ("shuffled", 50, 12, "news"), ("shuffled", 100, 16, None),
    ("Chinese", 30, 8, None), ("six", 50, 12, None), ("many marks", 16, 16, None),
]  # fmt: skip
# A share, texts by the names and lengths of their parts, the ones that were removed, and the text that is asked.
COPIED = [
    # A repost, a quotation in a longer text, and a footer that all have.
    (0.5, ["a:90 f:60", "b:90 f:60", "q:30 a:90", *(f"c{n}:40 f:60" for n in range(8))], [], "h:60 a:90 t:50 f:60"),
    # Less than the share of either, and no less.
    (0.6, ["a:90 b:90", "a:120 c:40"], [], "a:90 d:90"),
    # Eight have the passage with the query, and then nine; equal texts match all the same.
    (0.5, [f"a:60 c{n}:20" for n in range(7)], [], "a:60 d:20"),
    (0.5, [f"a:60 c{n}:20" for n in range(8)], [], "a:60 c3:20"),
    (0.5, [*(f"a:60 c{n}:20" for n in range(8)), "a:60 c3:20 e:60"], [], "a:60 c3:20 e:60 d:30"),
    # Rows without a document do not count, but for prefixes with more than 64 of them.
    (0.5, [f"a:60 c{n}:20" for n in range(12)], range(1, 12), "a:60 d:20"),
    (0.5, [f"a:30 c{n}:4" for n in range(66)], range(1, 66), "a:30 d:4"),
]
WEIGHTED = [
    ("murmur3", 0, [["天地", 2.5], ["玄黄", 1], ["天地", -0.5]]),
    ("murmur3", 7, [["天地", 2.5], ["玄黄", 1]]),
    ("md5", 0, [["天地", 1], ["玄黄", 1], ["cosmos", 0.25]]),
    ("jenkins", 0, [["天地", 1], ["a feature of more than twelve bytes", 3], ["twelve bytes", 1.5]]),
    ("times33", 0, [["天地", 1], ["玄黄", 2]]),
    # A tie gives 0; a half unit is rounded to the even neighbour.
    ("none", 0, [[0b0110, 1], [0b0011, 1]]),
    ("none", 0, [[0b01, 0.5 / 65536], [0b10, 1.5 / 65536], [0b11, 2.5 / 65536]]),
    ("none", 0, [[2**64 - 1, 1], [0, 1]]),
]
HASHED = ["", "a", "天地玄黄", "twelve bytes", "a feature of more than twelve bytes"]
WORDS = "我爱北京的秋天，HBase 里的行很多；秋天的 Café 很美，很美。"
SAMPLE = ["我爱秋天的风", "北京的秋天", "HBase 的行很多", "很美的 café"]
SCHEMES = ["5x2", "4x1", "6x3", "3x2", "64x63", "7x5"]
SIMHASH = 0x0123456789ABCDEF


def build():
    return json.loads(written())


def written():
    return json.dumps(vectors(), ensure_ascii=False, indent=1) + "\n"


def vectors():
    shingled = Profile.resolve(analyzer="shingle")
    texts = [text_vector(shingled, name, text, 1) for name, text in TEXTS.items()]
    texts += [text_vector(shingled, name, text, times) for name, (text, times) in REPEATED.items()]
    return {
        "unicode": "14.0.0",
        "profiles": [
            json.loads(profile.encode())
            for profile in (
                shingled,
                Profile.resolve(analyzer="shingle", bands=0),
                Profile.resolve(analyzer="jieba", seed=5, top=20),
                shingled.replace(free_distance=None),
            )
        ],
        "texts": texts,
        "pairs": [pair_vector(shingled, *pair) for pair in PAIRS],
        "hashes": [hash_vector(text) for text in HASHED],
        "weighted": [weighted_vector(*each) for each in WEIGHTED],
        "words": word_vectors(),
        "schemes": [scheme_vector(name) for name in SCHEMES],
        "cells": cell_vectors(),
        "collections": [collection_vector(shingled, *each, s) for each in COLLECTIONS for s in (None, SECRET)],
        "passages": [passage_vector(*each) for each in PASSAGES],
        "copied": [copied_vector(*each) for each in COPIED],
        "copies": [copy_vector(shingled, *pair) for pair in PAIRS],
        "index_rows": {name: index_row(name).hex() for name in INDEX_ROWS},
    }


def text_vector(profile, name, text, times):
    whole = text * times
    normal = normalize(whole)
    minima = b"".join(value.to_bytes(8, "big") for value in slow_minima(whole) or [2**64 - 1] * 512)
    listed = analyzer_features(profile, None, whole)
    analysed = Analysis(profile).texts([name], [whole], [{"source": name}])
    vector = {
        "id": name,
        "text": text,
        "times": times,
        "length": len(whole),
        "normalized": normal if times == 1 else None,
        "normalized_length": len(normal),
        "digest": hash_of(normal.encode()),
        "shingle_hashes": [f"{value:016x}" for value in shingle_hashes(whole)[:3]],
        "minima_digest": hash_of(minima),
        "features": listed if len(listed) <= LISTED else None,
    }
    return vector | stored(profile, name, analysed.entries if analysed.kept else None)


def scheme_vector(name):
    rows = [key.hex() for key in row_keys(Scheme.parse(name), SIMHASH)]
    return {"scheme": name, "fingerprint": f"{SIMHASH:016x}", "rows": rows}


SECRET = bytes(range(32))
INDEX_ROWS = ("profile", "idf/000000", "load", "backup", "time", "secret", "digest")


def hash_of(data):
    return blake2b(data, digest_size=16).hexdigest()


def collection_vector(profile, collection, name, secret):
    """Make what is stored of a text of `TEXTS` under its name, or under a longer id that ends with it."""
    text = name.rpartition("\0")[2]
    kept = Collection(collection, secret).stored(
        Analysis(profile).texts([name], [TEXTS[text]], [{"source": text}]).entries
    )
    [stored_id] = kept.ids
    asked = {"secret": secret and secret.hex(), "collection": collection, "id": name, "text": text}
    return asked | {"stored_id": stored_id} | stored(profile, stored_id, kept)


def analyzer_features(profile, idf, text):
    names, weights = integer_weights(make_analyzer(profile, idf).features(text))
    return [list(pair) for pair in zip(names, weights, strict=True)]


def stored(profile, name, entries):
    if entries is None:
        return {"fingerprint": None}
    simhash = int(entries.simhashes[0])
    [text] = entries.texts
    state = DocumentState(name, simhash, "added", seen=ADDED, stamp=ADDED, order=(ADDED, 0), digest=text.digest)
    checksum = profile.checksums
    [member] = document_cells(entries, [Change.of(0, id_digest(name), None, state, checksum=checksum)])
    [packed] = Sketches.of_entries(entries).packed()
    prefixes = asked_prefixes(profile, entries, profile.rule)[0, len(profile.blocks.tables) :]
    bands = [key.hex() + f"{simhash:016x}" for key in pack_prefixes(prefixes)]
    return {
        "fingerprint": f"{simhash:016x}",
        "feature_count": int(entries.features[0]),
        "sketch": packed[:64].hex(),
        "shingles": int(entries.shingles[0]),
        "segments": packed[68:].hex(),
        "block_rows": [key.hex() for key in row_keys(profile.blocks, simhash)],
        "sketch_rows": bands if packed else [],
        "member": shown_cell(member),
        "document": {"row": document_row(id_digest(name)).hex(), "value": encode(state, checksum=checksum).hex()},
    }


def pair_vector(profile, first, second):
    a, b = (Analysis(profile).texts([name], [TEXTS[name]]).entries for name in (first, second))
    apart = hamming(int(a.simhashes[0]), int(b.simhashes[0]))
    joined = bool(profile.blocks.agreeing(int(a.simhashes[0]), int(b.simhashes[0])))
    sketches = (Sketches.of_entries(a), Sketches.of_entries(b))
    accepted, similar = judge(profile.rule, np.array([apart], np.uint8), *sketches, by_blocks=np.array([joined]))
    similarity = known_similarity(float(similar[0]))
    numbers = [int(each.shingles[0]) for each in (a, b)]
    return {
        "ids": [first, second],
        "distance": apart,
        "similarity": similarity,
        "containment": [estimated_containment(similarity, *each) for each in (numbers, numbers[::-1])],
        "matches": bool(accepted[0]),
    }


def copy_vector(profile, original, name):
    entries = Analysis(profile).texts([name], [TEXTS[name]], [{"source": name}]).entries
    decided = DocumentState(
        name, int(entries.simhashes[0]), "duplicate", ADDED, ADDED, (ADDED, 0), of=original, distance=0
    )
    [cell] = document_cells(entries, [Change.of(0, id_digest(name), None, decided, checksum=profile.checksums)])
    return {"ids": [original, name], **shown_cell(cell)}


def passage_vector(name, length, gram, collection):
    profile = Profile.resolve(analyzer="shingle", passages=length, passage_gram=gram)
    entries = Collection(collection).stored(Analysis(profile).texts([name], [TEXTS[name]]).entries)
    [stored_id], simhash = entries.ids, int(entries.simhashes[0])
    state = DocumentState(stored_id, simhash, "added", ADDED, ADDED)
    change = Change.of(0, id_digest(stored_id), None, state, checksum=profile.checksums)
    [member] = document_cells(entries, [change])
    [packed] = entries.packed_passages
    return {
        "text": name,
        "passages": length,
        "passage_gram": gram,
        "collection": collection,
        "fingerprint": f"{simhash:016x}",
        "hashes": [packed[at : at + 8].hex() for at in range(0, len(packed), 8)],
        "rows": [key.hex() for key in packed_rows(passage_rows([packed], entries.simhashes))],
        "fields": len(msgspec.msgpack.decode(member.value)),
        "last": msgspec.msgpack.decode(member.value)[7].hex(),
    }


def copied_vector(share, documents, removed, query):
    """Add documents to an index of rule copied, each by the names of its parts, remove some, and ask."""
    documents = [parts.split() for parts in documents]
    with create_index("memory:", analyzer="shingle", match="copied", share=share, passages=20) as index:
        for number, parts in enumerate(documents):
            index.add(f"d{number}", copied_text(parts))
        for _ in index.remove_many(f"d{number}" for number in removed):
            pass
        matches = index.query(copied_text(query.split())).matches
        sides = [
            copied_side(index.analysis.texts([f"d{number}"], [copied_text(parts)]).entries)
            | {"id": f"d{number}", "is_found": number not in removed}
            for number, parts in enumerate(documents)
        ]
        asked = copied_side(index.analysis.texts(["query"], [copied_text(query.split())]).entries)
    return {"share": share, "documents": sides, "query": asked, "matches": sorted(match.id for match in matches)}


def copied_side(entries):
    [packed], [text] = entries.packed_passages, entries.texts
    return {
        "fingerprint": f"{int(entries.simhashes[0]):016x}",
        "digest": text.digest.hex(),
        "passages": [packed[at : at + 8].hex() for at in range(0, len(packed), 8)],
    }


def copied_text(parts):
    """Join parts: one is a name and a number of characters, which the name decides."""
    text = ""
    for part in parts:
        name, _, count = part.partition(":")
        chosen = random.Random(name)
        text += "".join(chr(chosen.randrange(0x4E00, 0x9FA5)) for _ in range(int(count)))
    return text


def shown_cell(cell):
    return {name: getattr(cell, name).hex() for name in ("row", "qualifier", "value")}


def hash_vector(text):
    named = [("murmur3", 0), ("murmur3", 7), ("md5", 0), ("jenkins", 0), ("times33", 0)]
    values = [[hash, seed, f"{hash_features([text], hash=hash, seed=seed)[0]:016x}"] for hash, seed in named]
    return {"feature": text, "hashes": values}


def weighted_vector(hash, seed, features):
    pairs = [tuple(pair) for pair in features]
    fingerprinter = Fingerprinter(WeightedAnalyzer(), hash=hash, seed=seed)
    simhashes, counts = fingerprinter.fingerprint_features_many([pairs])
    found = f"{simhashes[0]:016x}" if counts[0] else None
    if hash == "none":
        features = [[f"{value:016x}", weight] for value, weight in features]
    return {"hash": hash, "seed": seed, "features": features, "count": count_features(pairs), "fingerprint": found}


def word_vectors():
    table = idf_of(word_tokens(text) for text in SAMPLE)
    learned = Profile.resolve(analyzer="learned", idf=table.digest())
    jieba = Profile.resolve(analyzer="jieba", top=4)
    idf = {"idf_table": zlib.decompress(table.encode()).hex(), "idf": table.digest()}
    return [
        word_vector(learned, table, word_tokens(WORDS)) | idf,
        word_vector(jieba, None, tokens(WORDS)) | {"stop_words": sorted(STOP_WORDS)},
    ]


def word_vector(profile, idf, words):
    return {
        "analyzer": profile.analyzer,
        "text": WORDS,
        "tokens": words,
        "top": profile.top,
        "features": analyzer_features(profile, idf, WORDS),
        "fingerprint": f"{fingerprint(make_analyzer(profile, idf).features(WORDS)):016x}",
    }


def cell_vectors():
    decided = DocumentState("b", 7, "original", seen=ADDED, stamp=ADDED, order=(ADDED, 3))
    known = DocumentState("b", 7, "added", seen=ADDED, stamp=ADDED, order=(ADDED, 3), digest=OF.digest)
    copy = DocumentState(
        "a", 2**64 - 1, "duplicate", ADDED + 5, ADDED, (ADDED, 0), b"", "b", 3, 0.8125, 0.9375, None, DIGEST, OF
    )
    claim = DocumentState("b", 8, "pending", ADDED + 9, ADDED + 9, (ADDED + 9, 1), b"\x00\x01\xff", previous=decided)
    other = DocumentState(
        "b", 7, "yielded", ADDED + 9, ADDED + 9, (ADDED + 9, 1), b"\xff", previous=known, digest=DIGEST
    )
    gone = DocumentState("天地", 1, "removed", ADDED, ADDED)
    brought = DocumentState("b", 7, "original", ADDED, ADDED, (ADDED, 3), batch="周一")
    moved = DocumentState("b", 8, "pending", ADDED + 9, ADDED + 9, (ADDED + 9, 1), b"\xff", previous=brought)
    ready = Member("own fingerprint", ADDED, 0, 0, b"", b"", None)
    return [cell_vector(record) for record in (decided, copy, claim, other, gone, ready, brought, moved)]


def cell_vector(record):
    kind = type(record).__name__
    at = document_row(id_digest(record.id)) if kind == "DocumentState" else member_row(0)
    fields = msgspec.to_builtins(msgspec.structs.asdict(record), builtin_types=(bytes,))
    values = {name: encode(record, checksum=checksum).hex() for name, checksum in CELL_VALUES.items()}
    return {"kind": kind, "row": at.hex(), "fields": shown(fields, kind), **values}


def shown(fields, kind):
    """Write bytes as hexadecimal digits, and the decision before by the names of its fields."""
    plain = {name: value.hex() if isinstance(value, bytes) else value for name, value in fields.items()}
    if kind == "Member":
        return plain
    if plain["batch"] is None:
        del plain["batch"]
    # Many readers of JSON have no integers of 64 bits.
    plain["simhash"] = f"{plain['simhash']:016x}"
    if plain["of_text"] is not None:
        simhash, digest = plain["of_text"]
        plain["of_text"] = {"simhash": f"{simhash:016x}", "digest": digest.hex()}
    if plain["previous"] is not None:
        names = DocumentState.__struct_fields__
        plain["previous"] = shown(dict(zip(names, plain["previous"], strict=True)), kind)
    return plain


if __name__ == "__main__":
    sys.stdout.write(written())
