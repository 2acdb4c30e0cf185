"""The known answers of ``schema/``: the package gives them, and so does what was written from the page alone."""

import ast
import json
from hashlib import blake2b
from pathlib import Path

import msgspec
import pytest
from support import plain_schema as plain, schema_vectors

from simhash_hbase.profile import Profile

FILE = Path(__file__).parents[2] / "schema" / "vectors.json"
VECTORS = json.loads(FILE.read_text("utf-8"))
PROFILE = VECTORS["profiles"][0]
TEXTS = {vector["id"]: vector for vector in VECTORS["texts"]}
WORDS = {vector["analyzer"]: vector for vector in VECTORS["words"]}
DOCUMENT = ("id", "simhash", "state", "seen", "stamp", "order", "token", "of", "distance", "similarity", "containment",
            "previous", "digest", "of_text", "batch")  # fmt: skip
MEMBER = ("id", "added", "length", "features", "digest", "sketch", "metadata")
ADDED = 1_700_000_000_000


def whole(vector):
    return vector["text"] * vector["times"]


def texts(*, stored=False):
    """Return the vectors of texts; `stored` leaves out those without a fingerprint."""
    chosen = [vector for vector in VECTORS["texts"] if vector["fingerprint"] or not stored]
    return pytest.mark.parametrize("vector", chosen, ids=lambda vector: vector["id"])


def each(name, key):
    return pytest.mark.parametrize("vector", VECTORS[name], ids=lambda vector: str(vector[key]))


def stored_segments(text):
    return plain.segments(plain.filled_minima(text), PROFILE) if len(text) > 5 else []


def document_fields(fields):
    """Return the fields of a document cell in their order, as MessagePack holds them."""
    if fields is None:
        return None
    kept = {**fields, "simhash": int(fields["simhash"], 16), "token": bytes.fromhex(fields["token"])}
    kept["previous"], kept["digest"] = document_fields(fields["previous"]), bytes.fromhex(fields["digest"])
    if text := fields["of_text"]:
        kept["of_text"] = [int(text["simhash"], 16), bytes.fromhex(text["digest"])]
    return [kept[name] for name in DOCUMENT if name in kept]


def member_fields(fields):
    return [bytes.fromhex(fields[name]) if name in ("digest", "sketch") else fields[name] for name in MEMBER]


@pytest.mark.slow
def test_the_package_gives_the_vectors():
    made = schema_vectors.build()
    assert list(made) == list(VECTORS)
    for part, vectors in VECTORS.items():
        assert made[part] == vectors


@pytest.mark.parametrize("fields", VECTORS["profiles"], ids=lambda fields: f"{fields['analyzer']} {fields['bands']}")
def test_a_profile_is_json_with_sorted_keys(fields):
    encoded = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
    assert Profile.decode(encoded).encode() == encoded


def test_the_second_implementation_knows_nothing_of_the_package():
    nodes = list(ast.walk(ast.parse(Path(plain.__file__).read_text("utf-8"))))
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    libraries = {"math", "struct", "unicodedata", "collections", "functools", "hashlib", "itertools", "pathlib"}
    assert named == {*libraries, "mmh3", "msgspec"}


@pytest.mark.slow
@texts()
def test_the_normalised_text_and_its_minima(vector):
    text = plain.normalized(whole(vector))
    minima = b"".join(value.to_bytes(8, "big") for value in plain.filled_minima(text))
    assert vector["normalized"] in (text, None)
    assert (len(text), plain.text_digest(text).hex()) == (vector["normalized_length"], vector["digest"])
    assert [f"{value:016x}" for value in plain.shingle_hashes(text)[:3]] == vector["shingle_hashes"]
    assert blake2b(minima, digest_size=16).hexdigest() == vector["minima_digest"]


@pytest.mark.slow
@texts(stored=True)
def test_the_sketch_and_its_rows(vector):
    text = plain.normalized(whole(vector))
    found = stored_segments(text)
    rows = plain.sketch_rows(PROFILE["scheme"], found, int(vector["fingerprint"], 16))
    assert vector["sketch"] == (plain.sketch(plain.filled_minima(text)).hex() if len(text) > 5 else "")
    assert vector["shingles"] == (plain.shingle_count(text) if len(text) > 5 else 0)
    assert vector["segments"] == "".join(f"{segment:08x}" for segment in found)
    assert vector["sketch_rows"] == [row.hex() for row in rows]


@texts()
def test_the_fingerprint_of_shingles(vector):
    weights = plain.shingle_features(plain.normalized(whole(vector)), PROFILE)
    units = plain.heaviest(weights, PROFILE["top"])
    found = plain.fingerprint(units)

    assert vector["features"] in ([list(pair) for pair in units], None)
    assert vector["fingerprint"] == (None if found is None else f"{found:016x}")
    if found is not None:
        assert vector["feature_count"] == len(units)
        assert vector["block_rows"] == [row.hex() for row in plain.block_rows(PROFILE["scheme"], found)]


def stored_cells(stored_id, known, simhash, segments):
    """Return what is kept of a text under a fingerprint: its member and its document cell."""
    digest, source = bytes.fromhex(known["digest"]), {"source": known["id"]}
    numbers = [known["shingles"], *segments] if known["sketch"] else []
    packed = bytes.fromhex(known["sketch"]) + b"".join(number.to_bytes(4, "big") for number in numbers)
    member = [stored_id, ADDED, known["length"], known["feature_count"], digest, packed, source, b""]
    document = [stored_id, simhash, "added", ADDED, ADDED, [ADDED, 0], b"", *[None] * 5, digest[:8], None, None]
    row, qualifier = plain.member_row(simhash).hex(), plain.member_qualifier(stored_id, digest).hex()
    return {
        "member": {"row": row, "qualifier": qualifier, "value": plain.with_checksum(member).hex()},
        "document": {"row": plain.document_row(stored_id).hex(), "value": plain.with_checksum(document).hex()},
    }


@pytest.mark.slow
@texts(stored=True)
def test_the_cells_of_a_document(vector):
    segments = stored_segments(plain.normalized(whole(vector)))
    assert vector["length"] == len(whole(vector))
    assert stored_cells(vector["id"], vector, int(vector["fingerprint"], 16), segments).items() <= vector.items()


@each("collections", "stored_id")
def test_what_a_collection_keeps_of_a_document(vector):
    known, collection, name = TEXTS[vector["text"]], vector["collection"], vector["id"]
    found = stored_segments(plain.normalized(whole(known)))
    secret = bytes.fromhex(vector["secret"] or "")
    simhash, segments = plain.masked(collection, int(known["fingerprint"], 16), found, secret)
    stored = plain.stored_id(collection, name)

    assert (vector["stored_id"], vector["fingerprint"]) == (stored, f"{simhash:016x}")
    assert plain.collection_of(stored) == collection
    rows = plain.block_rows(PROFILE["scheme"], simhash), plain.sketch_rows(PROFILE["scheme"], segments, simhash)
    assert [vector["block_rows"], vector["sketch_rows"]] == [[row.hex() for row in some] for some in rows]
    assert stored_cells(stored, known, simhash, segments).items() <= vector.items()


@each("passages", "text")
def test_the_passages_of_a_text(vector):
    text = plain.normalized(whole(TEXTS[vector["text"]]))
    hashes = plain.passage_hashes(text, vector["passages"], vector["passage_gram"])
    _, [mask] = plain.masked(vector["collection"], 0, [0])
    kept = sorted(value ^ mask << 32 for value in hashes)
    packed = "".join(f"{value:016x}" for value in kept)

    assert vector["hashes"] == [f"{value:016x}" for value in kept]
    assert vector["rows"] == [row.hex() for row in plain.passage_rows(kept, int(vector["fingerprint"], 16))]
    assert (vector["fields"], vector["last"]) == (9, packed)


@each("cells", "row")
def test_the_cells_of_every_state(vector):
    fields, value = vector["fields"], bytes.fromhex(vector["value"])
    is_member = vector["kind"] == "Member"
    wanted = member_fields(fields) if is_member else document_fields(fields)
    assert plain.msgpack(wanted) == value
    assert msgspec.msgpack.decode(value) == wanted
    missing = [] if len(wanted) in (8, 15) else [b""] if is_member else [None]
    assert plain.with_checksum([*wanted, *missing]).hex() == vector["with_checksum"]
    assert vector["row"] == (plain.member_row(0) if is_member else plain.document_row(fields["id"])).hex()


@each("copies", "ids")
def test_the_entry_of_a_copy(vector):
    original, name = vector["ids"]
    known = TEXTS[name]
    digest, source = bytes.fromhex(known["digest"]), {"source": name}
    fields = [name, ADDED, known["length"], known["feature_count"], digest, b"", source, b""]
    assert vector["row"] == plain.copies_row(original).hex()
    assert vector["qualifier"] == plain.id_digest(name).hex()
    assert vector["value"] == plain.with_checksum(fields).hex()


@pytest.mark.parametrize("vector", VECTORS["copied"])
def test_the_rule_of_rare_passages(vector):
    query, *documents = (
        {
            **side,
            "fingerprint": int(side["fingerprint"], 16),
            "passages": [int(value, 16) for value in side["passages"]],
        }
        for side in (vector["query"], *vector["documents"])
    )
    assert min(len(side["passages"]) for side in (query, *documents)) >= 2
    assert sorted(plain.copied(query, documents, vector["share"])) == vector["matches"]


def test_the_hashes_of_features():
    for vector in VECTORS["hashes"]:
        for name, seed, value in vector["hashes"]:
            assert f"{plain.feature_hash(vector['feature'], name, seed):016x}" == value, (vector["feature"], name)


@pytest.mark.parametrize("vector", VECTORS["weighted"])
def test_the_fingerprint_of_ready_features(vector):
    ready = vector["hash"] == "none"
    units = [(int(name, 16) if ready else name, plain.in_units(weight)) for name, weight in vector["features"]]
    sums = {name: sum(weight for other, weight in units if other == name) for name, _ in units}
    found = plain.fingerprint(units, hash=vector["hash"], seed=vector["seed"])
    assert vector["fingerprint"] == (None if found is None else f"{found:016x}")
    assert vector["count"] == sum(weight != 0 for weight in sums.values())


def test_the_fingerprint_of_learned_words():
    vector = WORDS["learned"]
    table = bytes.fromhex(vector["idf_table"])
    version, documents, words, counts = msgspec.msgpack.decode(table)
    weights = plain.learned_features(vector["tokens"], documents, dict(zip(words, counts, strict=True)))
    units = plain.heaviest(weights, vector["top"])

    assert (version, blake2b(table, digest_size=16).hexdigest()) == (1, vector["idf"])
    assert plain.msgpack([1, documents, words, counts]) == table
    assert words == sorted(words)
    assert [list(pair) for pair in units] == vector["features"]
    assert f"{plain.fingerprint(units):016x}" == vector["fingerprint"]


def test_the_fingerprint_of_jiebas_words():
    vector = WORDS["jieba"]
    names = [name for name, _ in vector["features"]]
    words = set(plain.jieba_words(vector["tokens"], vector["stop_words"]))
    assert len(names) == vector["top"] < len(words)
    assert set(names) < words
    assert f"{plain.fingerprint(map(tuple, vector['features'])):016x}" == vector["fingerprint"]


def test_the_block_rows_of_schemes_and_the_rows_of_the_index():
    for vector in VECTORS["schemes"]:
        rows = plain.block_rows(vector["scheme"], int(vector["fingerprint"], 16))
        assert [row.hex() for row in rows] == vector["rows"], vector["scheme"]
    assert {name: plain.index_row(name).hex() for name in VECTORS["index_rows"]} == VECTORS["index_rows"]


@each("pairs", "ids")
def test_the_rule_of_a_query(vector):
    sides, numbers = [], []
    for name in vector["ids"]:
        known = TEXTS[name]
        found = stored_segments(plain.normalized(whole(known)))
        sketch = bytes.fromhex(known["sketch"])
        sides.append({"fingerprint": int(known["fingerprint"], 16), "sketch": sketch, "segments": found})
        numbers.append(known["shingles"])

    shares = [plain.containment(vector["similarity"], *each) for each in (numbers, reversed(numbers))]
    assert vector["containment"] == shares
    assert plain.judged(PROFILE, *sides) == (vector["distance"], vector["similarity"], vector["matches"])
