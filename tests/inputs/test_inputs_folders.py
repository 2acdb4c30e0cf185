"""Folders: files that cannot be read are refused, and all others are read."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
import zstandard
from support.imported import IMPORT_ALL

from simhash_hbase.errors import InvalidInput
from simhash_hbase.files.remote import RemoteFile
from simhash_hbase.inputs import Document, InputOptions, Sources, read, sources as sources_module, total_bytes

pytestmark = pytest.mark.slow
READ = f"""{IMPORT_ALL}
import json, os, sys
os.setgroups([]), os.setgid(65534), os.setuid(65534)
from simhash_hbase.inputs import read, total_bytes
total_bytes(sys.argv[1:])
print(json.dumps([[r.place.file, getattr(r, "reason", None)] for r in read(sys.argv[1:])]))
"""


def write_texts(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the text of {name}")


@pytest.fixture
def corpus(tmp_path):
    write_texts(tmp_path / "corpus", "a.txt", "b/c.txt", "z.txt")
    return tmp_path / "corpus"


def shown(folder, records):
    return [(os.path.relpath(r.place.file, folder), "" if isinstance(r, Document) else r.reason) for r in records]


@pytest.mark.parametrize(
    ("target", "reason"), [("loop.txt", "too many levels of symbolic links"), ("nowhere", "no such file or directory")]
)
@pytest.mark.parametrize("pattern", [False, True])
def test_a_link_that_leads_nowhere_is_refused(corpus, target, reason, pattern):
    (corpus / "loop.txt").symlink_to(target)
    named = [str(corpus / "*.txt")] if pattern else [str(corpus)]
    got = shown(corpus, read(named))

    inner = [] if pattern else [("b/c.txt", "")]
    fault = f"the symbolic link leads nowhere: {reason}"
    assert got == [("a.txt", ""), *inner, ("loop.txt", fault), ("z.txt", "")]
    assert total_bytes(named) == sum(source.size for source in Sources(named).files())


def test_only_links_to_files_are_followed(corpus):
    (corpus / "link.txt").symlink_to("a.txt")
    (corpus / "folder").symlink_to("b")
    assert [name for name, _ in shown(corpus, read([str(corpus)]))] == ["a.txt", "b/c.txt", "link.txt", "z.txt"]


def test_folders_are_read_however_deep_they_are(corpus):
    deep = corpus / "/".join("d" * 1_500)
    subprocess.run(["mkdir", "-p", deep], check=True)
    try:
        (deep / "deep.txt").write_text("a text far below")

        assert "a text far below" in {record.text for record in read([str(corpus)])}
    finally:
        # By a program that does not call itself for each folder.
        subprocess.run(["rm", "-rf", corpus / "d"], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="reads as another user, which only root may")
def test_a_folder_that_may_not_be_read_is_refused():
    # Not below tmp_path, which nobody else may enter.
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_texts(folder, "a.txt", "b/c.txt", "closed/d.txt", "listed/e.txt", "f.txt", "z.txt")
        for name, mode in ((".", 0o755), ("closed", 0o000), ("listed", 0o744), ("f.txt", 0o000)):
            (folder / name).chmod(mode)
        done = subprocess.run([sys.executable, "-c", READ, folder], capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert [[os.path.relpath(name, folder), reason] for name, reason in json.loads(done.stdout)] == [
        ["a.txt", None],
        ["b/c.txt", None],
        ["closed", "the folder cannot be read: permission denied"],
        ["f.txt", "reading stopped: Permission denied"],
        ["listed/e.txt", "reading stopped: Permission denied"],
        ["z.txt", None],
    ]


LINES = "".join(f'{{"id": "{name}", "text": "the text of {name}"}}\n' for name in "abc")
PACKERS = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "json", "jl", "jsonlines"])
@pytest.mark.parametrize("packer", PACKERS)
def test_shards_of_json_lines_in_a_folder_are_records_whatever_their_suffix(tmp_path, suffix, packer):
    (tmp_path / f"part-0.{suffix}{packer}").write_bytes(PACKERS[packer](LINES.encode()))
    assert [record.id for record in read([str(tmp_path)])] == ["a", "b", "c"]


@pytest.mark.parametrize("content", ['{\n  "id": "a",\n  "text": "x"\n}', '[{"id": "a", "text": "x"}]', "[\n1]"])
def test_a_json_value_in_a_folder_is_refused_with_the_command_that_makes_lines(tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    (refused,) = read([str(tmp_path)])
    assert "one object a line is read, which jq -c" in refused.reason


@pytest.mark.parametrize("name", ["part-00000", "part-00001.gz", "a.txt"])
def test_a_file_of_a_folder_that_holds_json_lines_is_not_one_text(tmp_path, name):
    (tmp_path / name).write_bytes(PACKERS[".gz" if name.endswith(".gz") else ""](LINES.encode()))
    (refused,) = read([str(tmp_path)])
    (named,) = read([str(tmp_path)], InputOptions(format="folder"))

    assert refused.reason == "the file holds JSON lines: name it .jsonl, or give `format=jsonl`"
    assert len(list(read([str(tmp_path)], InputOptions(format="jsonl")))) == 3
    assert named.text == LINES


@pytest.mark.parametrize("name", ["index.php", "page.shtml", "about", "index.html@p=1", "a.txt.gz"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_a_web_page_of_a_folder_under_another_name_is_not_one_text(tmp_path, name, codec):
    content = f"<!-- x -->\n<!DOCTYPE html>\n<html><head><title>页</title></head><p>{'渡轮又开了。' * 9}</p></html>"
    (tmp_path / name).write_bytes(PACKERS[".gz" if name.endswith(".gz") else ""](content.encode(codec)))
    (refused,) = read([str(tmp_path)])
    (page,) = read([str(tmp_path)], InputOptions(format="html"))
    (text,) = read([str(tmp_path)], InputOptions(format="folder", encoding=codec))

    assert refused.reason == "the file holds a web page: name it .html, or give `format=html`"
    assert page.text == "渡轮又开了。" * 9
    assert text.text == content


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (r"{\rtf1\ansi\ansicpg936 \'b6\'c9\'c2\'d6}", "the file is RTF"),
        ("%PDF-1.4\n1 0 obj", "the file is PDF"),
        ("%!PS-Adobe-3.0\n/Times-Roman findfont", "the file is PostScript"),
        ("From: <Saved by Blink>\nMIME-Version: 1.0\n\n=E6=B8=A1", "the file is a web page with its pictures (MHTML)"),
        ("WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n", "the file holds a crawl"),
    ],
)
def test_a_file_whose_words_are_commands_is_no_text(tmp_path, content, form):
    (tmp_path / "a").write_bytes(content.encode())
    (refused,) = read([str(tmp_path)])
    (text,) = read([str(tmp_path)], InputOptions(format="folder"))

    assert refused.reason.startswith(form)
    assert text.text == content


@pytest.mark.parametrize(
    "content", ["<p>A text with <html> in it.", "<svg></svg>", "<htmlx>", "<!-- a -->" * 9, "<?php echo 1"]
)
def test_a_text_that_does_not_begin_as_a_page_is_a_text(tmp_path, content):
    (tmp_path / "a.txt").write_text(content)
    (record,) = read([str(tmp_path)])
    assert record.text == content


@pytest.mark.parametrize("name", ["part-00000", "a.txt", "part-0.json"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_one_line_of_json_is_no_text(tmp_path, name, end):
    (tmp_path / name).write_text(LINES.split("\n")[0] + end)
    (record,) = read([str(tmp_path)])

    if name.endswith(".json"):
        assert (record.id, record.text) == ("a", "the text of a")
    else:
        assert record.reason == "the file holds JSON lines: name it .jsonl, or give `format=jsonl`"


CSV = "id,text\na,the text of a\nb,the text of b\n"


@pytest.mark.parametrize(
    ("folder", "content", "ids"),
    [("x.csv", CSV, ["a", "b"]), ("x.tsv", CSV.replace(",", "\t"), ["a", "b"]), ("x.jsonl", LINES, ["a", "b", "c"])],
)
@pytest.mark.parametrize("name", ["part-00000", "day=1/part-m-00001.gz", "000000_0", "part-00002-1f0a-4c0b-c000"])
def test_a_part_without_suffix_is_in_the_format_that_the_name_of_its_folder_says(tmp_path, folder, content, ids, name):
    path = tmp_path / folder / name
    path.parent.mkdir(parents=True)
    path.write_bytes(PACKERS[".gz" if name.endswith(".gz") else ""](content.encode()))
    write_texts(tmp_path / folder, "README", "_SUCCESS")

    assert [record.id for record in read([str(tmp_path / folder)])] == ids
    assert [record.id for record in read([str(tmp_path)])] == ids
    assert [record.id for record in read([str(path)])] == ids


def test_a_part_without_suffix_in_a_folder_that_says_nothing_is_refused(tmp_path):
    (tmp_path / "part-00000").write_text(CSV)
    (refused,) = read([str(tmp_path)])
    (named,) = read([str(tmp_path)], InputOptions(format="folder"))

    assert refused.reason.startswith(
        "the name is that of a part of a data set and does not tell its format; give `format="
    )
    assert named.text == CSV
    assert [record.id for record in read([str(tmp_path)], InputOptions(format="csv"))] == ["a", "b"]


@pytest.mark.parametrize("name", ["a.arc.gz", "a.arc"])
def test_a_crawl_from_before_warc_is_refused_with_the_command_that_converts_it(tmp_path, name):
    content = b"filedesc://a.arc 0.0.0.0 20260304050607 text/plain 5\n1 0 x\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    write_texts(tmp_path, "b.txt")
    refused, text = read([str(tmp_path)])

    assert (refused.place.file, refused.reason) == (
        str(tmp_path / name),
        "ARC is not read: make a WARC of it with `warcio recompress`",
    )
    assert text.id == "b.txt"


@pytest.mark.parametrize("data", ["part-0.jsonl", "part-0.csv", "data/train.json.gz"])
def test_what_marks_or_describes_data_is_no_document(tmp_path, data):
    (tmp_path / data).parent.mkdir(exist_ok=True)
    content = LINES.encode() if "json" in data else b"id,text\na,x\nb,x\nc,x\n"
    (tmp_path / data).write_bytes(PACKERS[".gz" if data.endswith(".gz") else ""](content))
    marks = ["_SUCCESS", "_committed_1", "README.md", "LICENSE", "dataset_info.json", "Thumbs.db", "desktop.ini"]
    write_texts(tmp_path, *marks, "_x/y.txt")
    sources = Sources([str(tmp_path)])

    assert [record.id for record in read(sources)] == ["a", "b", "c"]
    assert sources.left_out == Counter([*marks, "_x"])


@pytest.mark.parametrize(
    "name",
    ["MANIFEST", "manifest.txt", "checksums.sha256", "part-0.jsonl.md5", "sha256sum.txt", "CHECKSUMS", "AUTHORS"],
)
def test_lists_of_files_checksums_and_authors_beside_records_are_no_documents(tmp_path, name):
    (tmp_path / "part-0.jsonl").write_text(LINES)
    write_texts(tmp_path, name)
    sources = Sources([str(tmp_path)])

    assert [record.id for record in read(sources)] == ["a", "b", "c"]
    assert sources.left_out == Counter([name])


@pytest.mark.parametrize("name", ["authors", "manifest", "checksums", "notice", "2024.md5"])
def test_a_folder_beside_records_is_read_whatever_it_is_called(tmp_path, name):
    (tmp_path / "part-0.jsonl").write_text(LINES)
    (tmp_path / name).mkdir()
    (tmp_path / name / "z.jsonl").write_text(LINES.replace("a", "z", 1))
    sources = Sources([str(tmp_path)])

    assert {source.id for source in sources.files()} == {"part-0.jsonl", f"{name}/z.jsonl"}
    assert not sources.left_out


def test_texts_of_a_folder_without_records_are_all_documents_but_markers(tmp_path):
    names = ["MANIFEST", "README.md", "_index.md", "_posts/a.md", "b/LICENSE", "c.sha256"]
    write_texts(tmp_path, *names, "_SUCCESS")
    assert [record.id for record in read([str(tmp_path)])] == names


@pytest.mark.parametrize("records", ["package.json", "data/a.csv"])
def test_pages_in_folders_with_an_underscore_are_documents_beside_records(tmp_path, records):
    write_texts(tmp_path, "_posts/2026/a.md", "_posts/b.txt", "content/_index.md", "_config.yml", "_data/README.md")
    (tmp_path / records).parent.mkdir(exist_ok=True)
    (tmp_path / records).write_text(CSV if records.endswith(".csv") else '{\n"name": "site"\n}\n')
    sources = Sources([str(tmp_path)])

    assert [source.id for source in sources.files() if source.id != records] == [
        "_posts/2026/a.md", "_posts/b.txt", "content/_index.md",
    ]  # fmt: skip
    assert sources.left_out == Counter(["_config.yml", "_data"])


MARKERS = ["_SUCCESS", "_committed_1", ".part-0.jsonl.crc", "_delta_log/0.json"]


@pytest.mark.parametrize("pattern", ["*", "**/*.*", None])
def test_markers_that_a_pattern_names_are_left_out(tmp_path, pattern):
    write_texts(tmp_path, *MARKERS)
    (tmp_path / "part-0.jsonl").write_text(LINES)
    names = [str(tmp_path / name) for name in ("part-0.jsonl", *MARKERS)]
    sources = Sources(names if pattern is None else [str(tmp_path / pattern)])

    assert [record.id for record in read(sources)] == ["a", "b", "c"]
    assert sources.left_out == Counter(
        {"*": ["_SUCCESS", "_committed_1", "_delta_log"], "**/*.*": ["_delta_log"]}.get(
            pattern or "", ["_SUCCESS", "_committed_1", ".part-0.jsonl.crc", "_delta_log"]
        )
    )


@pytest.mark.parametrize("names", [["_SUCCESS"], [".part-0.jsonl.crc"], ["_SUCCESS", "_committed_1"]])
def test_a_marker_that_is_named_without_data_is_refused(tmp_path, names):
    write_texts(tmp_path, *names)
    with pytest.raises(InvalidInput, match=f"{names[0]} marks data and is no document: "):
        read([str(tmp_path / name) for name in names])


@pytest.mark.parametrize(
    ("url", "ids", "left_out"),
    [
        ("s3://b/x/", ["_posts/a.md", "part-0.jsonl"], ["_SUCCESS", "_config.yml", "_temporary"]),
        ("s3://b/x/**", ["_config.yml", "_posts/a.md", "part-0.jsonl"], ["_SUCCESS", "_temporary"]),
    ],
)
def test_an_object_store_leaves_out_the_same(monkeypatch, url, ids, left_out):
    names = ["_SUCCESS", "_config.yml", "_posts/a.md", "_temporary/0/a.jsonl", "part-0.jsonl"]
    listed = [RemoteFile(f"s3://b/x/{name}", name, 1, 0) for name in names]
    monkeypatch.setattr(sources_module, "remote_files", lambda _: iter(listed))
    sources = Sources([url])

    assert [source.id for source in sources.files()] == ids
    assert sources.left_out == Counter(left_out)


@pytest.mark.parametrize("names", [["_metadata"], ["_temporary/a.jsonl", "_temporary/b.jsonl"]])
def test_objects_that_are_named_without_others_are_read_whatever_they_are_called(monkeypatch, names):
    listed = [RemoteFile(f"s3://b/{name}", f"s3://b/{name}", 1, 0) for name in names]
    monkeypatch.setattr(sources_module, "remote_files", lambda _: iter(listed))
    assert [source.path for source in Sources(["s3://b/x*"]).files()] == [file.url for file in listed]
