"""A second implementation of ``schema/README.md``, written from that page alone, without the package."""

import math
import struct
import unicodedata
from collections import Counter
from functools import cache
from hashlib import blake2b, md5
from itertools import combinations
from pathlib import Path

import mmh3
import msgspec

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
MASK32 = (1 << 32) - 1
BINS = 512

IGNORABLES = frozenset(
    chr(number)
    for first, last in (
        (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
        (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
    )
    for number in range(first, last + 1)
)  # fmt: skip


def mix(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def stored_id(collection, name):
    if collection is None:
        return "\0\0" + name if name.startswith("\0") else name
    return f"\0{collection}\0{name}"


def collection_of(stored):
    return stored[1:].partition("\0")[0] or None if stored.startswith("\0") else None


def masked(collection, simhash, found, secret=b""):
    """Return the fingerprint and the segments as a collection keeps them."""
    mask = bytes(12) if collection is None else blake2b(collection.encode(), digest_size=12, key=secret).digest()
    own, others = struct.unpack(">QI", mask)
    return simhash ^ own, [segment ^ others for segment in found]


def id_digest(name):
    return blake2b(name.encode(), digest_size=16).digest()


def is_mark(character):
    number = ord(character)
    is_combining = 0x300 <= number <= 0x1FFFF and unicodedata.combining(character) != 0
    return is_combining or number in (0xF73, 0xF75, 0xF81, 0xFF9E, 0xFF9F)


def bounded(text):
    found, run = "", 0
    for character in text:
        run = run + 1 if is_mark(character) else 0
        if run == 31:
            found, run = found + "\u034f", 1
        found += character
    return found


@cache
def joining():
    every = [chr(number) for number in range(0x20000)]
    found = {*filter(is_mark, every), *every[0x1161:0x1176], *every[0x11A8:0x11C3]}
    for character in every:
        parts = unicodedata.decomposition(character).split()
        if len(parts) == 2 and "<" not in parts[0]:
            found.add(chr(int(parts[1], 16)))
    return found


def is_neither_cased_nor_ignorable(character):
    # Python has no such property; a final sigma shows it.
    return ("AΣ" + character + "A").lower()[1] == "ς"


def cut(text):
    first = 65_536
    places = range(first, min(first + 4_096, len(text)))
    loose = [place for place in places if text[place] not in joining()]
    good = [place for place in loose if is_neither_cased_nor_ignorable(text[place - 1])]
    if good or loose:
        return (good or loose)[0]
    return first if len(text) > first + 4_096 else len(text)


def pieces(text):
    while len(text) > 65_536:
        place = cut(text)
        yield text[:place]
        text = text[place:]
    yield text


@cache
def simplified():
    file = Path(__file__).parents[2] / "simhash_hbase" / "kernel" / "hans.txt"
    groups = file.read_text("utf-8").split("\n\n")[-1].split()
    return {ord(other): group[0] for group in groups for other in group[1:]}


def normalized(text, form=3, fold="hans"):
    dropped = IGNORABLES if form > 1 else frozenset(map(chr, range(0xFE00, 0xFE10)))
    if form > 1:
        text = "".join(c for c in text if c not in dropped)
    lowered = "".join(unicodedata.normalize("NFKC", bounded(piece)).lower() for piece in pieces(text))
    if fold == "hans":
        lowered = lowered.translate(simplified())
    return "".join(c for c in lowered if unicodedata.category(c)[0] in "LNM" and c not in dropped)


def text_digest(plain):
    return blake2b(plain.encode(), digest_size=16).digest()


def shingle_hashes(plain):
    points = [ord(c) for c in plain]
    if points:
        points += [0x110000] * (5 - len(points))
    found = []
    for at in range(len(points) - 4):
        c0, c1, c2, c3, c4 = points[at : at + 5]
        x = ((c0 << 42) + (c1 << 21) + c2) * GOLDEN & MASK
        x ^= x >> 32
        x = (x + (c3 << 21) + c4) * GOLDEN & MASK
        found.append(mix(x))
    return found


@cache
def orders():
    return [sorted(range(BINS), key=lambda j: mix((BINS * i + j + 1) * GOLDEN & MASK)) for i in range(BINS)]


def own_minima(plain):
    minima = {}
    for value in shingle_hashes(plain):
        minima[value >> 55] = min(value, minima.get(value >> 55, MASK))
    return {place: value for place, value in minima.items() if value != MASK}


def filled_minima(plain):
    minima = own_minima(plain)
    if not minima:
        return [MASK] * BINS
    return [
        minima[i] if i in minima else minima[next(j for j in order if j in minima)] for i, order in enumerate(orders())
    ]


def shingle_count(plain):
    minima = own_minima(plain).values()
    waited = sum((value & (1 << 55) - 1) >> 20 for value in minima) + (BINS - len(minima) << 35) or 1
    return min((len(minima) * 2**44 + waited // 2) // waited, MASK32)


def containment(similar, n, m):
    return None if similar is None else round(min(1.0, max(similar, similar * (n + m) / ((1 + similar) * n))), 4)


def sketch(minima):
    bits = "".join(str(value & 1) for value in minima)
    return int(bits, 2).to_bytes(64, "big")


def segments(minima, profile):
    size = profile.get("band_bins", 0)
    order = sorted(range(BINS), key=lambda i: mix((i + 1) * GOLDEN & MASK))
    found = []
    for group in range(profile["bands"]):
        value = GOLDEN
        for place in order[group * size : (group + 1) * size]:
            value = mix((value * GOLDEN + minima[place]) & MASK)
        found.append(value >> 32)
    return found


def passage_hashes(plain, length, gram):
    """Return the hashes of the passages of a normalised text, ascending, as members hold them."""
    hashes = []
    for at in range(len(plain) - gram + 1):
        x = 0
        for character in plain[at : at + gram]:
            x = (x * GOLDEN + ord(character)) & MASK
        hashes.append(mix(x))
    window = length - gram + 1
    return sorted({min(hashes[at : at + window]) for at in range(max(1, len(hashes) - window + 1))}) if hashes else []


def passage_rows(hashes, simhash):
    return sorted(struct.pack(">IBQ", value >> 32, 252, simhash) for value in hashes)


def rotated(x, bits):
    return (x << bits | x >> 32 - bits) & MASK32


def lookup3(data):
    """Bob Jenkins' hashlittle2 with both seeds 0."""
    a = b = c = (0xDEADBEEF + len(data)) & MASK32
    for at in range(0, len(data), 12):
        x, y, z = struct.unpack("<3I", data[at : at + 12].ljust(12, b"\0"))
        a, b, c = (a + x) & MASK32, (b + y) & MASK32, (c + z) & MASK32
        # Each step is that of a, then of b, then of c.
        if at + 12 < len(data):
            for bits in (4, 6, 8, 16, 19, 4):
                a, b, c = b, c + b & MASK32, (a - c & MASK32) ^ rotated(c, bits)
        else:
            for bits in (14, 11, 25, 16, 4, 14, 24):
                a, b, c = b, (c ^ b) - rotated(b, bits) & MASK32, a
            b, c = a, b
    return c << 32 | b


def times33(data):
    x = 5381
    for byte in data:
        x = (x * 33 + byte) & MASK
    return x


def feature_hash(feature, name, seed):
    if name == "none":
        return feature
    data = feature.encode()
    if name == "murmur3":
        return mmh3.hash64(data, seed=seed, x64arch=True, signed=False)[0]
    if name == "md5":
        return int.from_bytes(md5(data, usedforsecurity=False).digest()[:8], "big")
    return lookup3(data) if name == "jenkins" else times33(data)


def fingerprint(units, *, hash="murmur3", seed=0):
    """Features come with weights in units; None where no bit is decided."""
    sums = [0] * 64
    for feature, weight in units:
        value = feature_hash(feature, hash, seed)
        for bit in range(64):
            sums[bit] += weight if value >> bit & 1 else -weight
    return sum(1 << bit for bit in range(64) if sums[bit] > 0) if any(sums) else None


def in_units(weight):
    return round(weight * 65536)


def shingle_features(plain, profile):
    size = profile["shingle"]
    runs = [plain[at : at + size] for at in range(max(1, len(plain) - size + 1))] if plain else []
    return {run: 1.0 if profile["binary"] else float(count) for run, count in Counter(runs).items()}


def learned_features(tokens, documents, frequencies):
    weights = {word: math.log(1 + documents / frequencies.get(word, 1)) for word in tokens}
    return {word: count * weights[word] for word, count in Counter(tokens).items()}


def jieba_words(tokens, stop_words):
    return [token for token in tokens if len(token.strip()) > 1 and token.lower() not in stop_words]


def heaviest(weights, top):
    """Give features and units, the heaviest first, ties by the feature."""
    ordered = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(word, in_units(weight)) for word, weight in ordered[:top]]


def tables(scheme):
    """Give for each table the bits of the fingerprint that its segment holds; bit 0 is the most significant."""
    blocks, chosen = map(int, scheme.split("x"))
    width, wider = divmod(64, blocks)
    starts = [0]
    for block in range(blocks):
        starts.append(starts[-1] + width + (block < wider))
    for choice in combinations(range(blocks), chosen):
        yield [bit for block in choice for bit in range(starts[block], starts[block + 1])][:32]


def block_rows(scheme, simhash):
    packed = simhash.to_bytes(8, "big")
    found = []
    for flag, places in enumerate(tables(scheme), 1):
        bits = "".join(str(simhash >> 63 - place & 1) for place in places)
        found.append(int(bits.ljust(32, "0"), 2).to_bytes(4, "big") + bytes([flag]) + packed)
    return found


def sketch_rows(scheme, found, simhash):
    first = len(list(tables(scheme))) + 1
    return [struct.pack(">IBQ", segment, first + group, simhash) for group, segment in enumerate(found)]


def member_row(simhash):
    packed = simhash.to_bytes(8, "big")
    return packed[:4] + b"\x00" + packed


def member_qualifier(name, digest):
    return id_digest(name) + digest[:8]


def copies_row(name):
    digest = id_digest(name)
    return digest[:4] + b"\xfd" + digest


def document_row(name):
    digest = id_digest(name)
    return digest[:4] + b"\xff" + digest


def index_row(name):
    return bytes(4) + b"\xfe" + name.encode("ascii")


def copied(query, documents, share):
    """Give the ids that rule copied joins with a query, of documents that have two passages at least, as it has."""
    rows, found = {}, {each["fingerprint"] for each in documents if each["is_found"]}
    for each in documents:
        for value in each["passages"]:
            rows.setdefault(value >> 32, set()).add(each["fingerprint"])

    def is_rare(value):
        holders = rows.get(value >> 32, set())
        counted = holders & found | ({query["fingerprint"]} if value in query["passages"] else set())
        return len(holders) <= 64 and len(counted) <= 8

    matches = []
    for each in documents:
        sides = [set(filter(is_rare, side["passages"])) for side in (query, each)]
        shared = len(sides[0] & sides[1])
        is_near = shared >= 2 and shared >= share * min(map(len, sides))
        if each["is_found"] and (is_near or query["digest"] == each["digest"] != ""):
            matches.append(each["id"])
    return matches


def msgpack(value):
    """Write MessagePack with the shortest form of each value, as msgspec does."""
    return msgspec.msgpack.encode(value)


def with_checksum(fields):
    """Write a cell with a checksum behind its fields."""
    encoded = bytes(msgpack([*fields, 2**32 - 1]))[:-4]
    return encoded + crc32(encoded).to_bytes(4, "big")


def crc32(data):
    remainder = 2**32 - 1
    for byte in data:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0xEDB88320 if remainder & 1 else 0)
    return remainder ^ 2**32 - 1


def similarity(a, b):
    differing = (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).bit_count()
    return max(0.0, 1 - differing / 256)


def judged(profile, a, b):
    """Judge two documents, each a dict with fingerprint, sketch (empty if there is none) and segments."""
    apart = (a["fingerprint"] ^ b["fingerprint"]).bit_count()
    rows = [{row[:5] for row in block_rows(profile["scheme"], each["fingerprint"])} for each in (a, b)]
    joined = not rows[0].isdisjoint(rows[1])
    if not (a["sketch"] and b["sketch"]):
        return apart, None, joined and apart <= profile["distance"]
    similar = similarity(a["sketch"], b["sketch"])
    if profile["match"] == "distance":
        return apart, similar, joined and apart <= profile["distance"]
    by_blocks = joined and apart <= min(2 * profile["distance"] + 1, 64)
    shared = sum(x == y for x, y in zip(a["segments"], b["segments"], strict=True))
    by_sketch = shared > 0 and apart <= profile["band_distance"][:shared][-1]
    wanting = max(0, apart - profile.get("free_distance", 64)) / 256
    is_similar = similar == 1 or similar - wanting >= profile["similarity"]
    return apart, similar, is_similar and (by_blocks or by_sketch)
