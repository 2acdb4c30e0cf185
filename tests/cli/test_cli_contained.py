"""``dedup --contained`` where the texts of originals are not at hand."""

from support.corpus import text, write_jsonl


def test_what_an_index_holds_has_to_hold_enough_of_a_near_copy(cli, tmp_path):
    url = f"file:{tmp_path / 'held.index'}"
    held = write_jsonl(tmp_path / "held.jsonl", [{"id": "a", "text": text(1)}])
    rows = [{"id": "b", "text": text(1) + text(7)[: len(text(1)) // 3]}, {"id": "c", "text": text(1).upper()}]
    file = write_jsonl(tmp_path / "a.jsonl", rows)
    cli("create", url, "--analyzer", "shingle", "--similarity", "0.4")
    cli("add", url, held)

    alike = cli("dedup", url, file, "--dry-run", "--keep", "longest")
    more = cli("dedup", url, file, "--contained", "0.95")

    assert {r["id"]: r["of"] for r in alike.records} == {"b": "a", "c": "a"}
    assert {r["id"]: r["of"] for r in more.records} == {"b": None, "c": "a"}
    assert [record["containment"] for record in more.records] == [None, 1]
    assert more.records[0]["near"] == {"id": "a", **{n: alike.records[0][n] for n in ("similarity", "containment")}}
    assert alike.records[0]["similarity"] <= alike.records[0]["containment"] < 0.95
    assert "1 kept for too little in a near copy" in more.err
