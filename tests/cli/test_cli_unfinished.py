"""A command that fails has printed what it had finished."""

import pytest
from support.corpus import text


@pytest.mark.parametrize("format_", ["json", "table"])
def test_answers_before_an_unknown_id_are_printed(cli, filled, format_):
    failed = cli("query", filled, "--id", "group 0 copy 0", "--id", "nobody", "--format", format_)

    assert failed.code == 1
    assert b"group 0 copy 1" in failed.out
    assert "nobody" in failed.sentence


def test_removals_before_a_bad_line_are_printed(cli, filled, tmp_path):
    gone = tmp_path / "gone"
    gone.write_bytes(b"group 0 copy 0\n" + b"".join(b"nobody %d\n" % i for i in range(2_499)) + b"\xff\n")

    failed = cli("remove", filled, "--from", gone)

    assert failed.code == 1
    assert f"{gone}:2501" in failed.sentence
    assert failed.records[0] == {"id": "group 0 copy 0", "removed": True}
    assert len(failed.records) == 2_000


def test_fingerprints_before_an_empty_text_are_printed(cli):
    failed = cli("fingerprint", "--analyzer", "shingle", "--text", text(1), "--text", "…")

    assert failed.code == 1
    assert len(failed.records) == 1
